"""The one loop: ask, do what is asked for, answer, until the work is handed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, Literal

from prd2pr.agents.answers import WorkReport, common_schema, plain_schema
from prd2pr.agents.prompts import opening
from prd2pr.agents.reading import Ear
from prd2pr.agents.roles import ROLES, Output, Role
from prd2pr.agents.task import Task
from prd2pr.agents.tools import TOOLS, Desk, tools_for
from prd2pr.agents.workspace import RefusedWrite
from prd2pr.core.context import trim
from prd2pr.core.records import Spend
from prd2pr.core.said.leaks import Secrets
from prd2pr.errors import ModelRefused
from prd2pr.ports import Block, Message, Model, Purpose, Reply, Request, Text, Tool, ToolResult

PATIENCE = 2  # unusable answers in a row that are only told so; the next one ends the attempt
SENT_BACK = 150_000  # characters of an answer that is asked for again: more than a model can say, so none is cut
LAST_TURN = Text("This is your last answer in this attempt: finish the files and call `submit` in it.")

BeforeCall = Callable[[Request], str | None]  # why no further call may be made; None or empty: go on
AfterCall = Callable[[Request, Reply], None]  # each reply with its spend, usable or not


@dataclass(frozen=True)
class RoleResult(Generic[Output]):
    stop: Literal["done", "nothing_to_do", "contradiction", "budget"]
    output: Output | None  # None: stopped by the budget
    explanation: str
    refused_writes: tuple[RefusedWrite, ...]
    written: tuple[str, ...]
    spend: Spend
    turns: int
    tool_calls: int
    test_runs: int


def run_role(
    role: Role[Output],
    task: Task,
    model: Model,
    *,
    desk: Desk | None,
    before_call: BeforeCall,
    after_call: AfterCall,
    edits_itself: bool = False,
    secrets: Secrets | None = None,
) -> RoleResult[Output]:
    """Ends with what was submitted or with the budget's stop; ModelRefused when no usable answer is to be had."""
    first = first_request(role, task, desk, edits_itself=edits_itself)
    talk = list(first.messages)
    ear = Ear(role, desk, edits_itself)
    spend, misunderstood = Spend(), 0
    for turn in range(1, role.turns + 1):
        request = replace(first, purpose=replace(first.purpose, turn=turn), messages=_sent(talk))
        if why := before_call(request):
            return _result(ear, spend, turn - 1, stop="budget", explanation=why)
        reply = model.reply(_discreet(request, secrets))
        spend += reply.spend
        after_call(request, reply)
        if reply.stop == "refusal":
            raise _refused(role, task, model, "declined to answer")
        reading = ear.read(reply)
        if reading.submitted is not None:
            return _result(ear, spend, turn, submitted=reading.submitted)
        misunderstood = misunderstood + 1 if reading.misunderstood else 0
        if misunderstood > PATIENCE:
            raise _refused(role, task, model, f"gave no usable answer: {reading.told}")
        hint = (LAST_TURN,) if role.tools and turn == role.turns - 1 else ()
        talk += [Message("assistant", _kept(reply)), Message("user", (*reading.answers, *hint))]
    raise _refused(role, task, model, f"did not hand anything in within {role.turns} turns")


def first_request(role: Role[Any], task: Task, desk: Desk | None, *, edits_itself: bool = False) -> Request:
    system, message = opening(role, task)
    return Request(
        purpose=Purpose(role.name, task.subject, task.phase_name(role.phase.value), task.attempt),
        model=task.model,
        system=system,
        messages=(message,),
        tools=_tools(role, alone=edits_itself),
        output_schema=None if role.tools else plain_schema(role.output),
        max_tokens=role.max_tokens,
        workspace=desk.workspace.root if desk else None,
        writable=desk.workspace.globs() if desk and role.writes else (),
    )


def _tools(role: Role[Any], *, alone: bool) -> tuple[Tool, ...]:
    """The same for all roles of a cycle, so that a provider's cache serves one with what another one read.

    Whoever works without our tools (`alone`) pays no tokens, and is told exactly what is to be handed in.
    """
    if not role.tools:
        return ()
    if alone or not role.in_cycle:
        return tools_for(role.tools, plain_schema(role.output))
    return _shared_tools()


@cache
def _shared_tools() -> tuple[Tool, ...]:
    return tools_for(TOOLS, common_schema(role.output for role in ROLES.values() if role.in_cycle))


def _sent(talk: list[Message]) -> tuple[Message, ...]:
    """In a longer talk all that was said is worth caching: the next turn sends it again."""
    *before, message = talk
    match message.blocks:
        case (*others, Text() | ToolResult() as last) if before:
            first, *rest = before
            return (_thinned(first), *rest, Message(message.role, (*others, replace(last, cache=True))))
    return tuple(talk)


def _thinned(message: Message) -> Message:
    """Only its first and its last mark: providers take four, and what lies between is read by the last one."""
    marked = [at for at, block in enumerate(message.blocks) if isinstance(block, Text) and block.cache]
    return Message(message.role, tuple(_unmarked(block, at in marked[1:-1]) for at, block in enumerate(message.blocks)))


def _unmarked(block: Block, needless: bool) -> Block:
    return replace(block, cache=False) if needless and isinstance(block, Text) else block


def _discreet(request: Request, secrets: Secrets | None) -> Request:
    """Files and test output may hold a key that a test has read. What the model itself wrote goes back as it was."""
    if secrets is None or not secrets.values:
        return request
    system = tuple(replace(each, text=secrets.scrub(each.text).text) for each in request.system)
    messages = tuple(
        replace(each, blocks=tuple(_discreet_block(block, secrets) for block in each.blocks))
        if each.role == "user"
        else each
        for each in request.messages
    )
    return replace(request, system=system, messages=messages)


def _discreet_block(block: Block, secrets: Secrets) -> Block:
    match block:
        case Text():
            return replace(block, text=secrets.scrub(block.text).text)
        case ToolResult():
            return replace(block, content=secrets.scrub(block.content).text)
        case _:
            return block


def _kept(reply: Reply) -> tuple[Block, ...]:
    """Providers take no empty texts and no empty messages back."""
    said = (replace(each, text=trim(each.text, SENT_BACK)) if isinstance(each, Text) else each for each in reply.blocks)
    blocks = tuple(block for block in said if not isinstance(block, Text) or block.text.strip())
    return blocks or (Text("(no answer)"),)


def _result(
    ear: Ear[Output],
    spend: Spend,
    turns: int,
    *,
    submitted: Output | None = None,
    stop: Literal["done", "budget"] = "done",
    explanation: str = "",
) -> RoleResult[Output]:
    report = submitted if isinstance(submitted, WorkReport) else None
    workspace = ear.desk.workspace if ear.desk else None
    return RoleResult(
        stop=report.status if report else stop,
        output=submitted,
        explanation=report.explanation if report else explanation,
        refused_writes=tuple(workspace.refused) if workspace else (),
        written=tuple(workspace.written) if workspace else (),
        spend=spend,
        turns=turns,
        tool_calls=ear.tool_calls,
        test_runs=ear.desk.runs_done if ear.desk else 0,
    )


def _refused(role: Role[Any], task: Task, model: Model, what: str) -> ModelRefused:
    return ModelRefused(
        f"{model.name}, as {role.name}, {what}",
        where=f"{task.subject}, {role.phase.value}, attempt {task.attempt}",
        remedy=f"try again, or choose another model for this role in .prd2pr.yml: models.roles.{role.name}",
    )
