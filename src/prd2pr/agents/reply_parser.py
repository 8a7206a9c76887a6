"""Parse a model's reply: submitted work, tool calls to run, or an unusable answer that is requested again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import ValidationError

from prd2pr.agents.models.base import SUBMIT, Reply, Text, ToolResult, ToolUse
from prd2pr.agents.outputs.story_roles import WorkReport
from prd2pr.agents.roles import ROLES, Output, Role
from prd2pr.agents.tools import ToolAnswer, Toolbox, call_tool, format_validation_error

ANSWER_TRUNCATED = "your answer was cut off at the length limit and not used. Answer in smaller parts."
MAX_ANSWER_CHARACTERS = 400_000  # more than any model can write
ANSWER_TOO_LONG = "your answer is too long and was not used. Answer with the JSON object alone, and briefly."
NO_TOOL_CALLED = "you called no tool. Do the work with the tools, then submit it with `submit`."
NOTHING_WRITTEN = (
    "not accepted: you submitted `done`, but no file was written. Write the files first, "
    "submit `nothing_to_do` or `contradiction` if that is the case, or submit again if you are sure."
)
EARLIER_CALL_FAILED = "not accepted: an earlier call in this answer failed. Fix that, then submit again."
CONTRADICTION_NOT_ALLOWED = "this role cannot report a contradiction: submit `nothing_to_do` and explain why."
ANSWER_REQUIRED = "this step always has an answer: submit `done` with all fields filled in."


@dataclass(frozen=True)
class ParsedReply(Generic[Output]):
    submitted: Output | None = None
    answers: tuple[Text | ToolResult, ...] = ()  # sent to the model next
    is_unusable: bool = False

    @property
    def feedback(self) -> str:
        return next((answer.text if isinstance(answer, Text) else answer.content for answer in self.answers), "")


@dataclass
class ReplyParser(Generic[Output]):
    """Parses the replies of one attempt and runs their tool calls."""

    role: Role[Output]
    toolbox: Toolbox | None
    edits_itself: bool = False  # a person or program that edits the files without our tools
    tool_calls: int = 0
    was_questioned: bool = False  # whether `done` without a written file was already questioned

    def parse(self, reply: Reply) -> ParsedReply[Output]:
        if reply.stop == "max_tokens":
            return _request_again(reply, ANSWER_TRUNCATED)
        if len(reply.text) > MAX_ANSWER_CHARACTERS:
            return _request_again(reply, ANSWER_TOO_LONG)
        if not self.role.tools or not reply.tool_uses:
            return self._read_text(reply)
        return self._run_calls(reply)

    def _run_calls(self, reply: Reply) -> ParsedReply[Output]:
        """Run all tool calls in order, then `submit`."""
        calls = {use.id: self._call(use) for use in reply.tool_uses if use.name != SUBMIT}
        submits = [use for use in reply.tool_uses if use.name == SUBMIT]
        failed = any(answer.failed for answer in calls.values())
        submitted = None
        for use in submits:
            submitted, calls[use.id] = self._submit(use, after_failure=failed)
        if submitted is not None:
            return ParsedReply(submitted)
        results = [ToolResult(use.id, calls[use.id].text, calls[use.id].failed) for use in reply.tool_uses]
        return ParsedReply(None, tuple(results), any(answer.is_unusable for answer in calls.values()))

    def _call(self, use: ToolUse) -> ToolAnswer:
        self.tool_calls += 1
        if self.toolbox is None:
            return ToolAnswer("this step has no tools.", failed=True, is_unusable=True)
        return call_tool(self.toolbox, use, self.role.tools)

    def _submit(self, use: ToolUse, *, after_failure: bool) -> tuple[Output | None, ToolAnswer]:
        try:
            output = self.role.output.model_validate(self._select_own_fields(use.input))
        except ValidationError as problem:
            feedback = f"not accepted: {format_validation_error(problem)}"
            return None, ToolAnswer(feedback, failed=True, is_unusable=True)
        if objection := self._find_objection(output, after_failure=after_failure):
            return None, ToolAnswer(objection, failed=True)
        return output, ToolAnswer("accepted")

    def _select_own_fields(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Remove the fields of `submit` that belong to other roles.

        If the role reports a contradiction, the required fields are filled with blanks.
        """
        own = self.role.output.model_fields
        foreign = {
            name for role in ROLES.values() if role.is_phase_role for name in role.output.model_fields
        } - own.keys()
        stopped = answer.get("status") == "contradiction"
        blanks = {name: "" if field.annotation is str else () for name, field in own.items()} if stopped else {}
        return {**blanks, **{name: value for name, value in answer.items() if name not in foreign}}

    def _find_objection(self, output: Output, *, after_failure: bool) -> str:
        status = output.status if isinstance(output, WorkReport) else "done"
        if status == "contradiction":
            return "" if self.role.may_block else CONTRADICTION_NOT_ALLOWED
        if status == "nothing_to_do" and not self.role.may_pass:
            return ANSWER_REQUIRED
        if after_failure:
            return EARLIER_CALL_FAILED
        idle = self.role.can_write and self.toolbox is not None and not self.toolbox.workspace.written
        if status == "done" and idle and not self.edits_itself and not self.was_questioned:
            self.was_questioned = True
            return NOTHING_WRITTEN
        return ""

    def _read_text(self, reply: Reply) -> ParsedReply[Output]:
        try:
            output = self.role.output.model_validate_json(_extract_json(reply.text))
        except ValidationError as problem:
            if self.edits_itself and self.role.output is WorkReport:
                return ParsedReply(self.role.output.model_validate(_report_from_text(reply.text)))
            feedback = (
                f"your answer does not fit the JSON schema: {format_validation_error(problem)}"
                if self.role.answers_in_text
                else NO_TOOL_CALLED
            )
            return _request_again(reply, feedback)
        objection = self._find_objection(output, after_failure=False)
        return _request_again(reply, objection) if objection else ParsedReply(output)


def _request_again(reply: Reply, feedback: str) -> ParsedReply[Any]:
    """Request the answer again.

    Every tool call gets a result, also those that were not run, because providers require it.
    """
    if reply.tool_uses:
        return ParsedReply(
            None, tuple(ToolResult(use.id, feedback, is_error=True) for use in reply.tool_uses), is_unusable=True
        )
    return ParsedReply(None, (Text(feedback),), is_unusable=True)


def _extract_json(text: str) -> str:
    """Return the outermost JSON object, since some models wrap it in a code block or add a sentence before it."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


_STATUS_PREFIX = re.compile(r"\s*(contradiction|nothing[ _]to[ _]do|nothing)\b\s*[:.–-]*\s*", re.IGNORECASE)


def _report_from_text(text: str) -> dict[str, str]:
    """Interpret the plain text of a worker without our tools as `done`, unless it starts with another status."""
    lead = _STATUS_PREFIX.match(text)
    if lead is None:
        return {"status": "done", "explanation": text.strip()[:4000]}
    status = "contradiction" if lead[1].lower() == "contradiction" else "nothing_to_do"
    return {"status": status, "explanation": text[lead.end() :].strip()[:4000]}
