"""Ask the programmer for stories, within the same conversation, until an answer delivers at least one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from prd2pr.agents.conversation import AnswerReader, DeliveredAnswer, complete_blocks, split_spend
from prd2pr.agents.models.base import Message, Purpose, Request, Text, ToolResult
from prd2pr.agents.outputs.story_roles import StoryReport
from prd2pr.agents.prompts import build_prompt, render_unseen_stories
from prd2pr.agents.roles import PROGRAMMER
from prd2pr.agents.task import RoleMaterial
from prd2pr.agents.tool_loop import (
    LAST_TURN,
    MAX_UNUSABLE_ANSWERS,
    build_conversation_tools,
    echo_blocks,
    redact_request,
)
from prd2pr.agents.tools import Toolbox
from prd2pr.agents.workspace import Workspace
from prd2pr.domain.costs.model_selection import get_public_model_name
from prd2pr.domain.costs.role_costs import add_spends
from prd2pr.domain.records import Phase, Story
from prd2pr.domain.stack import PYTHON
from prd2pr.domain.write_policy import OPEN_SCOPE, WritePolicy, build_write_policy
from prd2pr.errors import ModelRefused, SpendLimit
from prd2pr.verification.codebase import list_existing_tests
from prd2pr.workflow.conversation.history import (
    ConversationHistory,
    DeliveryRequest,
    begin_conversation,
    load_history,
    record_delivered,
    record_exchange,
)
from prd2pr.workflow.roles.recall import recall_memory
from prd2pr.workflow.roles.role_runner import (
    Assignment,
    TimedModel,
    check_call_budget,
    journal_call,
    make_task,
    make_work_directory,
    record_call,
    record_failed_call,
    release_reservations,
    report_start,
    run_requested_tests,
)
from prd2pr.workflow.session import RoleModel, Session


def converses(session: Session) -> bool:
    """Return whether the stories are built in one conversation.

    Workers that edit files themselves use their own conversations.
    """
    return (
        session.config.converses
        and not session.services.select_model(PROGRAMMER.name, PROGRAMMER.tier == "strong").edits_itself
    )


def request_delivery(
    session: Session, assignment: Assignment[StoryReport], order: DeliveryRequest, stories: tuple[Story, ...]
) -> None:
    """Ask until an answer delivers at least one story. `stories` are all stories that the conversation covers."""
    role_model = session.services.select_model(PROGRAMMER.name, order.strong)
    session.log.model = role_model.model.name
    session.log.worker = get_public_model_name(
        session.services.models.select_model(PROGRAMMER.name, strong=order.strong)
    )
    report_start(session, assignment, role_model)
    history = load_history(session)
    if not history.messages or history.prd != session.prd.blob or history.is_long:
        same_prd = history.prd == session.prd.blob
        history = _begin(session, assignment, role_model, stories, history if same_prd else ConversationHistory())
    wanted = (each for each in stories if each.id in order.wanted)
    news = "\n\n".join(filter(None, (render_unseen_stories(session.prd, wanted, read_texts(history)), order.text)))
    unusable = 0
    for turn in range(1, PROGRAMMER.tool_turns + 1):
        hint = (LAST_TURN,) if turn == PROGRAMMER.tool_turns - 1 else ()
        asked = (*history.answers, *([Text(news)] if turn == 1 else []), *hint)
        _exchange(session, assignment, role_model, order, history=history, asked=asked, turn=turn)
        delivered = finish_exchange(session, assignment)
        if delivered.stories:
            return
        unusable = unusable + 1 if delivered.is_unusable else 0
        if unusable > MAX_UNUSABLE_ANSWERS:
            raise _refusal_error(assignment, role_model, "gave no usable answer")
        order = replace(order, base=delivered.base, start=delivered.tree)
        history = load_history(session)
    raise _refusal_error(assignment, role_model, f"submitted nothing within {PROGRAMMER.tool_turns} turns")


def read_texts(history: ConversationHistory) -> str:
    """Return all texts that were sent to the programmer so far."""
    blocks = (*(block for message in history.messages for block in message.blocks), *history.answers)
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def finish_exchange(session: Session, assignment: Assignment[StoryReport]) -> DeliveredAnswer:
    """Run the calls of the last reply and record the stories that it delivered.

    An exchange of a killed run is finished likewise.
    """
    pending = load_history(session).pending
    assert pending is not None, "called after an exchange"
    order = pending.request
    with make_work_directory(session) as directory:
        session.git.export(order.start, directory)
        policy = _make_policy(session, assignment, order)
        toolbox = Toolbox(
            Workspace(directory, policy, session.constraints.paths),
            lambda paths, whole: run_requested_tests(session, assignment, directory, paths, whole=whole),
            PROGRAMMER.test_runs,
        )
        reader = AnswerReader(toolbox, lambda: session.git.snapshot(directory, order.start), order.base, order.wanted)
        delivered = reader.read(pending.reply)
        for refused in toolbox.workspace.refused:
            session.progress.say("refused_write", path=refused.path, code=refused.code)
    record_delivered(session, assignment.head, delivered)
    return delivered


def recover_exchange(session: Session, assignment: Assignment[StoryReport]) -> None:
    """Finish an exchange that a killed run has paid for: record its cost if that is missing, and run its calls."""
    pending = load_history(session).pending
    if pending is None:
        return
    order, turn = pending.request, pending.turn
    purpose = make_purpose(order, turn)
    shares = split_spend(pending.reply, order.wanted, order.story)
    keys = {entry.facts.get("key") for entry in session.services.journal.entries() if entry.kind == "call"}
    if not any(replace(purpose, subject=story).key() in keys for story in shares):
        journal_call(session, assignment.head, purpose, shares)
        session.log.inherited = add_spends(session.log.inherited, {PROGRAMMER.name: pending.reply.spend})
    finish_exchange(session, assignment)


def make_purpose(order: DeliveryRequest, turn: int) -> Purpose:
    return Purpose(PROGRAMMER.name, order.story, order.phase.value, order.number, turn)


def _begin(
    session: Session,
    assignment: Assignment[StoryReport],
    role_model: RoleModel,
    stories: tuple[Story, ...],
    old: ConversationHistory,
) -> ConversationHistory:
    """Begin a conversation with all stories, and return it with the first part of its first message."""
    task = make_task(session, replace(assignment, story=None, design=None), role_model.model)
    memory = recall_memory(session, assignment.head, session.prd.text).text
    task = replace(task, material=RoleMaterial(memory=memory, stories=stories))
    system, first = build_prompt(PROGRAMMER, task)
    open_deliveries = tuple(each for each in old.deliveries if each.is_open(assignment.head))
    begin_conversation(session, assignment.head, system, open_deliveries)
    texts = tuple(block for block in first.blocks if isinstance(block, Text))
    return replace(load_history(session), answers=texts)


def _exchange(
    session: Session,
    assignment: Assignment[StoryReport],
    role_model: RoleModel,
    order: DeliveryRequest,
    *,
    history: ConversationHistory,
    asked: tuple[Text | ToolResult, ...],
    turn: int,
) -> None:
    """Make one call, and store the reply at once."""
    model = role_model.model
    timed = TimedModel(model.name, model, session.clock, lambda *failed: record_failed_call(session, *failed))
    request = Request(
        purpose=make_purpose(order, turn),
        model=model.name,
        system=history.system,
        messages=_mark_ends((*history.messages, Message("user", asked))),
        tools=build_conversation_tools(),
        max_tokens=PROGRAMMER.max_tokens,
    )
    stop = check_call_budget(session, assignment, model, request)
    if stop is not None:
        raise SpendLimit(stop.what, remedy=stop.remedy)
    try:
        reply = timed.reply(redact_request(request, session.constraints.secrets))
    finally:
        release_reservations(session, [request.purpose.key()])
    if reply.stop == "refusal":
        record_call(session, assignment, request, reply, timed.milliseconds)
        raise _refusal_error(assignment, role_model, "declined to answer")
    kept = replace(reply, blocks=echo_blocks(replace(reply, blocks=complete_blocks(reply))))
    record_exchange(session, assignment.head, order, asked=asked, reply=kept, turn=turn)
    shares = split_spend(reply, order.wanted, order.story)
    record_call(session, assignment, request, reply, timed.milliseconds, shares=shares)


def _mark_ends(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Mark the ends of our last two messages for caching.

    A provider looks for a cached prefix only a few blocks back, and an answer may have dozens.
    """
    listed = list(messages)
    for at in {max(0, len(listed) - 3), len(listed) - 1} - {0}:
        *others, last = listed[at].blocks
        if isinstance(last, Text | ToolResult):
            listed[at] = Message(listed[at].role, (*others, replace(last, cache=True)))
    return tuple(listed)


def _make_policy(session: Session, assignment: Assignment[StoryReport], order: DeliveryRequest) -> WritePolicy:
    if order.phase is Phase.REFACTOR:
        return build_write_policy(Phase.REFACTOR, order.story)
    policy = build_write_policy(Phase.RED, order.story, fused=True)
    stories = {story.id: story for story in session.store.load(assignment.head).backlog.stories}
    opened = (OPEN_SCOPE.get(stories[each].kind, frozenset()) for each in order.wanted if each in stories)
    stacks = session.services.gathering.stacks or (PYTHON,)
    return replace(
        policy,
        writable=policy.writable.union(*opened),
        others=tuple(each for each in order.wanted if each != order.story),
        shared_helper=stacks[0].shared_helper if len(stacks) == 1 else "",
        existing=frozenset(list_existing_tests(session.git, order.base, session.constraints.paths)),
    )


def _refusal_error(assignment: Assignment[StoryReport], role_model: RoleModel, what: str) -> ModelRefused:
    return ModelRefused(
        f"{role_model.model.name}, as {PROGRAMMER.name}, {what}",
        where=assignment.subject,
        remedy=f"Try again, or set another model for this role in .prd2pr.yml: models.roles.{PROGRAMMER.name}",
    )
