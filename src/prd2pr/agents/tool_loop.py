"""The tool loop of a role: call the model, run its tool calls and answer them, until the work is submitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, Literal

from prd2pr.agents.context import trim
from prd2pr.agents.models.base import Block, Message, Model, Purpose, Reply, Request, Text, Tool, ToolResult
from prd2pr.agents.outputs.story_roles import StoryReport, WorkReport, inline_schema, merge_schemas
from prd2pr.agents.prompts import build_prompt
from prd2pr.agents.reply_parser import ReplyParser
from prd2pr.agents.roles import ROLES, WORK_TOOLS, Output, Role
from prd2pr.agents.task import RoleTask
from prd2pr.agents.tools import TOOLS, Toolbox, build_tools
from prd2pr.agents.workspace import RefusedWrite
from prd2pr.domain.records import Spend
from prd2pr.domain.secrets import Secrets
from prd2pr.errors import ModelRefused

MAX_UNUSABLE_ANSWERS = 2  # unusable answers in a row that are requested again; one more ends the attempt
# Limit for an answer that is sent back. It is more than a model can write, so no answer is cut in practice.
MAX_ECHOED_CHARACTERS = 150_000
LAST_TURN = Text("This is your last answer in this attempt: finish the files and call `submit` in it.")

BeforeCall = Callable[[Request], str | None]  # returns the reason to stop, or None or "" to continue
AfterCall = Callable[[Request, Reply], None]  # called with each reply and its spend, even if unusable


@dataclass(frozen=True)
class RoleResult(Generic[Output]):
    stop: Literal["done", "nothing_to_do", "contradiction", "budget"]
    output: Output | None  # None if stopped by the budget
    explanation: str
    refused_writes: tuple[RefusedWrite, ...]
    written: tuple[str, ...]
    spend: Spend
    turns: int
    tool_calls: int
    test_runs: int


def run_role(
    role: Role[Output],
    task: RoleTask,
    model: Model,
    *,
    toolbox: Toolbox | None,
    before_call: BeforeCall,
    after_call: AfterCall,
    edits_itself: bool = False,
    secrets: Secrets | None = None,
) -> RoleResult[Output]:
    """Run a role until it submits or the budget stops it.

    Raises ModelRefused if the model gives no usable answer.
    """
    first = build_first_request(role, task, toolbox, edits_itself=edits_itself)
    conversation = list(first.messages)
    parser = ReplyParser(role, toolbox, edits_itself)
    spend, unusable = Spend(), 0
    for turn in range(1, role.turns + 1):
        request = replace(first, purpose=replace(first.purpose, turn=turn), messages=mark_for_cache(conversation))
        if why := before_call(request):
            return _build_result(parser, spend, turn - 1, stop="budget", explanation=why)
        reply = model.reply(redact_request(request, secrets))
        spend += reply.spend
        after_call(request, reply)
        if reply.stop == "refusal":
            raise _refusal_error(role, task, model, "declined to answer")
        parsed = parser.parse(reply)
        if parsed.submitted is not None:
            return _build_result(parser, spend, turn, submitted=parsed.submitted)
        unusable = unusable + 1 if parsed.is_unusable else 0
        if unusable > MAX_UNUSABLE_ANSWERS:
            raise _refusal_error(role, task, model, f"gave no usable answer: {parsed.feedback}")
        hint = (LAST_TURN,) if role.tools and turn == role.turns - 1 else ()
        conversation += [Message("assistant", echo_blocks(reply)), Message("user", (*parsed.answers, *hint))]
    raise _refusal_error(role, task, model, f"submitted nothing within {role.turns} turns")


def build_first_request(
    role: Role[Any], task: RoleTask, toolbox: Toolbox | None, *, edits_itself: bool = False
) -> Request:
    system, message = build_prompt(role, task)
    return Request(
        purpose=Purpose(role.name, task.subject, task.phase_name(role.phase.value), task.attempt.number),
        model=task.model,
        system=system,
        messages=(message,),
        tools=_select_tools(role, alone=edits_itself),
        output_schema=inline_schema(role.output) if role.answers_in_text else None,
        schema_in_prompt=role.shared_start,
        max_tokens=role.max_tokens,
        workspace=toolbox.workspace.root if toolbox else None,
        writable=toolbox.workspace.globs() if toolbox and role.can_write else (),
    )


def _select_tools(role: Role[Any], *, alone: bool) -> tuple[Tool, ...]:
    """Return the same tools for all roles that share a cached prompt, because the prompt begins with the tools.

    A worker without our tools (`alone`) shares no prompt, so its `submit` has only the fields of its role.
    """
    if role.shared_start and not alone:
        return build_conversation_tools()
    if not role.tools or role.answers_in_text:
        return ()
    if alone or not role.is_phase_role:
        return build_tools(role.tools, inline_schema(role.output))
    return _shared_tools()


@cache
def build_conversation_tools() -> tuple[Tool, ...]:
    """Return the tools of the programmer's conversation.

    The planner and the author of hidden examples get the same tools.
    """
    return build_tools(WORK_TOOLS, inline_schema(StoryReport))


@cache
def _shared_tools() -> tuple[Tool, ...]:
    return build_tools(TOOLS, merge_schemas(role.output for role in ROLES.values() if role.is_phase_role))


def mark_for_cache(conversation: list[Message]) -> tuple[Message, ...]:
    """Mark the end of a longer conversation for caching, because the next turn sends the whole conversation again."""
    *before, message = conversation
    match message.blocks:
        case (*others, Text() | ToolResult() as last) if before:
            first, *rest = before
            return (_keep_outer_marks(first), *rest, Message(message.role, (*others, replace(last, cache=True))))
    return tuple(conversation)


def _keep_outer_marks(message: Message) -> Message:
    """Keep only the first and the last cache mark.

    Providers accept at most four, and the last one covers those in between.
    """
    marked = [at for at, block in enumerate(message.blocks) if isinstance(block, Text) and block.cache]
    return Message(
        message.role, tuple(_clear_mark(block, at in marked[1:-1]) for at, block in enumerate(message.blocks))
    )


def _clear_mark(block: Block, needless: bool) -> Block:
    return replace(block, cache=False) if needless and isinstance(block, Text) else block


def redact_request(request: Request, secrets: Secrets | None) -> Request:
    """Remove secrets that files or test output may contain. The model's own messages are sent back unchanged."""
    if secrets is None or not secrets.values:
        return request
    system = tuple(replace(each, text=secrets.scrub(each.text)) for each in request.system)
    messages = tuple(
        replace(each, blocks=tuple(_redact_block(block, secrets) for block in each.blocks))
        if each.role == "user"
        else each
        for each in request.messages
    )
    return replace(request, system=system, messages=messages)


def _redact_block(block: Block, secrets: Secrets) -> Block:
    match block:
        case Text():
            return replace(block, text=secrets.scrub(block.text))
        case ToolResult():
            return replace(block, content=secrets.scrub(block.content))
        case _:
            return block


def echo_blocks(reply: Reply) -> tuple[Block, ...]:
    """Return the reply's blocks to send back, without empty ones, which providers reject."""
    shortened = (
        replace(each, text=trim(each.text, MAX_ECHOED_CHARACTERS)) if isinstance(each, Text) else each
        for each in reply.blocks
    )
    blocks = tuple(block for block in shortened if not isinstance(block, Text) or block.text.strip())
    return blocks or (Text("(no answer)"),)


def _build_result(
    parser: ReplyParser[Output],
    spend: Spend,
    turns: int,
    *,
    submitted: Output | None = None,
    stop: Literal["done", "budget"] = "done",
    explanation: str = "",
) -> RoleResult[Output]:
    report = submitted if isinstance(submitted, WorkReport) else None
    workspace = parser.toolbox.workspace if parser.toolbox else None
    return RoleResult(
        stop=report.status if report else stop,
        output=submitted,
        explanation=report.explanation if report else explanation,
        refused_writes=tuple(workspace.refused) if workspace else (),
        written=tuple(workspace.written) if workspace else (),
        spend=spend,
        turns=turns,
        tool_calls=parser.tool_calls,
        test_runs=parser.toolbox.runs_done if parser.toolbox else 0,
    )


def _refusal_error(role: Role[Any], task: RoleTask, model: Model, what: str) -> ModelRefused:
    return ModelRefused(
        f"{model.name}, as {role.name}, {what}",
        where=f"{task.subject}, {role.phase.value}, attempt {task.attempt.number}",
        remedy=f"Try again, or set another model for this role in .prd2pr.yml: models.roles.{role.name}",
    )
