"""Read an answer that may deliver several stories: run its tool calls, and record the files at each `submit`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from pydantic import ValidationError

from prd2pr.agents.models.base import SUBMIT, Block, Reply, Text, ToolResult, ToolUse
from prd2pr.agents.outputs.story_roles import StoryReport
from prd2pr.agents.reply_parser import EARLIER_CALL_FAILED, NO_TOOL_CALLED
from prd2pr.agents.roles import PROGRAMMER, WRITE_TOOLS
from prd2pr.agents.tools import ToolAnswer, Toolbox, call_tool, format_validation_error
from prd2pr.domain.records import Spend

DONE = "ok"  # of a write or a submit, since all of an answer's results are read again in each later request
NOT_EXECUTED = "your answer was cut off at the length limit before it called a tool. Answer in smaller parts."


@dataclass(frozen=True)
class SubmittedStory:
    """A story delivered by an answer: the files before its first write and at its `submit`."""

    report: StoryReport
    base: str
    tree: str
    problem: str = ""  # why it cannot be judged


@dataclass(frozen=True)
class DeliveredAnswer:
    """The result of an answer: its stories in order, and the tree with the files written after the last `submit`."""

    base: str
    tree: str
    stories: tuple[SubmittedStory, ...] = ()
    answers: tuple[Text | ToolResult, ...] = ()  # sent to the model next
    is_unusable: bool = False


def complete_blocks(reply: Reply) -> tuple[Block, ...]:
    """Return the blocks of a reply, without a last tool call whose arguments were cut off."""
    is_cut = reply.stop == "max_tokens" and reply.blocks and isinstance(reply.blocks[-1], ToolUse)
    return reply.blocks[:-1] if is_cut else reply.blocks


@dataclass
class AnswerReader:
    """Runs the calls of one answer. `snapshot` returns the workspace as a tree; `base` is the tree before it."""

    toolbox: Toolbox
    snapshot: Callable[[], str]
    base: str
    wanted: Collection[str]  # stories that may be submitted
    failed: bool = False  # whether a call since the last `submit` failed
    stories: list[SubmittedStory] = field(default_factory=list)

    def read(self, reply: Reply) -> DeliveredAnswer:
        """Run the calls of a reply whose blocks are complete."""
        uses = [block for block in reply.blocks if isinstance(block, ToolUse)]
        results = [(use, self._submit(use) if use.name == SUBMIT else self._call(use)) for use in uses]
        answers: tuple[Text | ToolResult, ...] = tuple(
            ToolResult(use.id, answer.text, answer.failed) for use, answer in results
        )
        if not uses:
            answers = (Text(NOT_EXECUTED if reply.stop == "max_tokens" else NO_TOOL_CALLED),)
        is_unusable = not uses or (not self.stories and any(answer.is_unusable for _, answer in results))
        return DeliveredAnswer(self.base, self.snapshot(), tuple(self.stories), answers, is_unusable)

    def _call(self, use: ToolUse) -> ToolAnswer:
        answer = call_tool(self.toolbox, use, PROGRAMMER.tools)
        self.failed = self.failed or answer.failed
        return ToolAnswer(DONE) if use.name in WRITE_TOOLS and not answer.failed else answer

    def _submit(self, use: ToolUse) -> ToolAnswer:
        try:
            report = StoryReport.model_validate(dict(use.input))
        except ValidationError as problem:
            return self._refuse(f"not accepted: {format_validation_error(problem)}")
        if report.story not in self.wanted:
            names = ", ".join(self.wanted)
            return self._refuse(f"not accepted: {report.story!r} is not open now; you can submit {names}.")
        tree, failed = self.snapshot(), self.failed and report.status != "contradiction"
        self.stories.append(SubmittedStory(report, self.base, tree, EARLIER_CALL_FAILED if failed else ""))
        self.base, self.failed = tree, False
        return ToolAnswer(EARLIER_CALL_FAILED if failed else DONE, failed=failed)

    def _refuse(self, feedback: str) -> ToolAnswer:
        self.failed = True
        return ToolAnswer(feedback, failed=True, is_unusable=True)


def split_spend(reply: Reply, wanted: Collection[str], last: str) -> dict[str, Spend]:
    """Divide an answer's cost among its stories, in proportion to the length of the text written for each.

    Text after the last `submit` is charged to `last`.
    """
    written, since = dict[str, int](), 0
    for block in reply.blocks:
        since += len(block.text) if isinstance(block, Text) else len(str(getattr(block, "input", "")))
        if isinstance(block, ToolUse) and block.name == SUBMIT and (name := str(block.input.get("story"))) in wanted:
            written[name] = written.get(name, 0) + since
            since = 0
    if since or not written:
        written[last] = written.get(last, 0) + since
    return _divide(reply.spend, written)


def _divide(spend: Spend, weights: dict[str, int]) -> dict[str, Spend]:
    shares, rest, left = dict[str, Spend](), spend, sum(weights.values()) or 1
    for name, weight in weights.items():
        is_last = len(shares) == len(weights) - 1
        part = 1.0 if is_last else weight / left
        share = Spend(
            calls=rest.calls if not shares else 0,
            input_tokens=int(rest.input_tokens * part),
            cached_tokens=int(rest.cached_tokens * part),
            output_tokens=int(rest.output_tokens * part),
            usd=None if rest.usd is None else round(rest.usd * part, 6),
        )
        shares[name] = share
        left = max(1, left - weight)
        rest = _subtract(rest, share)
    return shares


def _subtract(spend: Spend, share: Spend) -> Spend:
    usd = None if spend.usd is None or share.usd is None else max(0.0, round(spend.usd - share.usd, 6))
    return Spend(
        calls=spend.calls - share.calls,
        input_tokens=spend.input_tokens - share.input_tokens,
        cached_tokens=spend.cached_tokens - share.cached_tokens,
        output_tokens=spend.output_tokens - share.output_tokens,
        usd=usd,
    )
