"""What a model's reply means: work handed in, tool calls to do, or something that has to be said again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import ValidationError

from prd2pr.agents.answers import WorkReport
from prd2pr.agents.roles import ROLES, Output, Role
from prd2pr.agents.tools import Answer, Desk, call_tool, what_is_wrong
from prd2pr.ports import SUBMIT, Reply, Text, ToolResult, ToolUse

CUT_SHORT = "your answer was cut off at the length limit, so nothing of it was used. Answer in smaller parts."
LONGEST_ANSWER = 400_000  # characters; whatever sends more than any model can say is not read
TOO_LONG = "your answer is far too long, so nothing of it was used. Answer with the JSON object alone, and briefly."
NO_SUBMIT = "you called no tool. Do the work with the tools, then hand it in with `submit`."
NOTHING_WRITTEN = (
    "not taken: you submitted `done`, but no file was written. Write the files first; "
    "or submit `nothing_to_do` or `contradiction` if that is the truth; or submit again if you are sure."
)
FAILED_BEFORE = "not taken: a call before it failed. Mend that, then submit again."
NOT_YOURS = "this role does not decide about contradictions: submit `nothing_to_do`, and say why in the explanation."
NOT_NOTHING = "this step always has an answer: submit `done` with all fields filled in."


@dataclass(frozen=True)
class Reading(Generic[Output]):
    submitted: Output | None = None
    answers: tuple[Text | ToolResult, ...] = ()  # what the model is told next
    misunderstood: bool = False

    @property
    def told(self) -> str:
        return next((answer.text if isinstance(answer, Text) else answer.content for answer in self.answers), "")


@dataclass
class Ear(Generic[Output]):
    """Reads the replies of one attempt."""

    role: Role[Output]
    desk: Desk | None
    edits_itself: bool = False  # a person or a program that changes the files without our tools
    tool_calls: int = 0
    doubted: bool = False  # has been asked once whether it is really done

    def read(self, reply: Reply) -> Reading[Output]:
        if reply.stop == "max_tokens":
            return _say_again(reply, CUT_SHORT)
        if len(reply.text) > LONGEST_ANSWER:
            return _say_again(reply, TOO_LONG)
        if not self.role.tools or not reply.tool_uses:
            return self._read_text(reply)
        return self._do(reply)

    def _do(self, reply: Reply) -> Reading[Output]:
        """All calls in their order, `submit` after them."""
        calls = {use.id: self._call(use) for use in reply.tool_uses if use.name != SUBMIT}
        submits = [use for use in reply.tool_uses if use.name == SUBMIT]
        failed = any(answer.failed for answer in calls.values())
        submitted = None
        for use in submits:
            submitted, calls[use.id] = self._submit(use, after_failure=failed)
        if submitted is not None:
            return Reading(submitted)
        results = [ToolResult(use.id, calls[use.id].text, calls[use.id].failed) for use in reply.tool_uses]
        return Reading(None, tuple(results), any(answer.misunderstood for answer in calls.values()))

    def _call(self, use: ToolUse) -> Answer:
        self.tool_calls += 1
        if self.desk is None:
            return Answer("there are no tools in this step.", failed=True, misunderstood=True)
        return call_tool(self.desk, use, self.role.tools)

    def _submit(self, use: ToolUse, *, after_failure: bool) -> tuple[Output | None, Answer]:
        try:
            output = self.role.output.model_validate(self._of_role(use.input))
        except ValidationError as problem:
            told = f"not taken: {what_is_wrong(problem)}"
            return None, Answer(told, failed=True, misunderstood=True)
        if doubt := self._doubt(output, after_failure=after_failure):
            return None, Answer(doubt, failed=True)
        return output, Answer("taken")

    def _of_role(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Without fields that `submit` has for other roles; a contradiction needs none but its explanation."""
        own = self.role.output.model_fields
        foreign = {name for role in ROLES.values() if role.in_cycle for name in role.output.model_fields} - own.keys()
        stopped = answer.get("status") == "contradiction"
        blanks = {name: "" if field.annotation is str else () for name, field in own.items()} if stopped else {}
        return {**blanks, **{name: value for name, value in answer.items() if name not in foreign}}

    def _doubt(self, output: Output, *, after_failure: bool) -> str:
        status = output.status if isinstance(output, WorkReport) else "done"
        if status == "contradiction":
            return "" if self.role.may_block else NOT_YOURS
        if status == "nothing_to_do" and not self.role.may_pass:
            return NOT_NOTHING
        if after_failure:
            return FAILED_BEFORE
        idle = self.role.writes and self.desk is not None and not self.desk.workspace.written
        if status == "done" and idle and not self.edits_itself and not self.doubted:
            self.doubted = True
            return NOTHING_WRITTEN
        return ""

    def _read_text(self, reply: Reply) -> Reading[Output]:
        try:
            output = self.role.output.model_validate_json(_json_in(reply.text))
        except ValidationError as problem:
            if self.edits_itself and self.role.output is WorkReport:
                return Reading(self.role.output.model_validate(_report(reply.text)))
            asked_json = not self.role.tools
            told = (
                f"your answer is not usable JSON of the schema: {what_is_wrong(problem)}" if asked_json else NO_SUBMIT
            )
            return _say_again(reply, told)
        doubt = self._doubt(output, after_failure=False)
        return _say_again(reply, doubt) if doubt else Reading(output)


def _say_again(reply: Reply, told: str) -> Reading[Any]:
    """Every tool call must be answered, also those that were not done."""
    if reply.tool_uses:
        return Reading(
            None, tuple(ToolResult(use.id, told, is_error=True) for use in reply.tool_uses), misunderstood=True
        )
    return Reading(None, (Text(told),), misunderstood=True)


def _json_in(text: str) -> str:
    """The outermost object: some models put it into a code block or say a word before it."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


_LEAD = re.compile(r"\s*(contradiction|nothing[ _]to[ _]do|nothing)\b\s*[:.–-]*\s*", re.IGNORECASE)


def _report(text: str) -> dict[str, str]:
    """A plain text of a worker that edits by itself: done, unless it begins with one of the other answers."""
    lead = _LEAD.match(text)
    if lead is None:
        return {"status": "done", "explanation": text.strip()[:4000]}
    status = "contradiction" if lead[1].lower() == "contradiction" else "nothing_to_do"
    return {"status": status, "explanation": text[lead.end() :].strip()[:4000]}
