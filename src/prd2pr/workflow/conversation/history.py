"""The conversation on disk: every reply and every delivered story, written before any story is judged.

It has a separate journal under `.git/prd2pr/conversation/`. After the entry `begin`, an `exchange` contains a message
and its reply, `delivered` the result of the reply's calls, and `judged` the outcome for a delivered story. If a run is
killed after an `exchange`, the next run repeats the calls, but pays for no reply twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from prd2pr.agents.conversation import DeliveredAnswer
from prd2pr.agents.models.base import Block, Message, Reply, Text, ToolResult
from prd2pr.agents.models.message_blocks import block_to_json, content_from_json
from prd2pr.agents.outputs.story_roles import StoryReport
from prd2pr.domain.records import Phase, Spend
from prd2pr.state.journal import Journal, JournalEntry
from prd2pr.workflow.session import Session

# What is accepted is committed next; until the branch has moved, a run that was killed uses it again.
DeliveryOutcome = Literal["", "proved", "accepted", "used", "refused", "returned"]
OPEN_OUTCOMES: tuple[DeliveryOutcome, ...] = ("", "proved")
MAX_CONVERSATION_CHARACTERS = 480_000


@dataclass(frozen=True)
class Delivery:
    """A story as the programmer submitted it. Its change is the difference between two trees."""

    number: int
    story: str
    phase: Phase  # RED for tests and code, REFACTOR for a refactoring
    base: str
    tree: str
    report: StoryReport
    problem: str = ""  # why it cannot be judged
    head: str = ""  # the branch's head at its submission
    outcome: DeliveryOutcome = ""
    judged_head: str = ""  # the branch's head when it was judged
    reason: str = ""  # why it was refused or returned, for the programmer

    def is_open(self, head: str) -> bool:
        return self.outcome in OPEN_OUTCOMES or (self.outcome == "accepted" and self.judged_head == head)


@dataclass(frozen=True)
class DeliveryRequest:
    """A request for stories or for a refactoring, with the trees on which the programmer's work is based."""

    story: str  # the first story
    wanted: tuple[str, ...]  # the stories that may be submitted
    phase: Phase
    base: str  # the code tree that the next delivery is compared with
    start: str  # the tree in the workspace
    text: str = ""
    number: int = 1  # of the attempt at the first story
    strong: bool = False

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "text": ""}  # the text is in the message

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> DeliveryRequest:
        return cls(**{**facts, "wanted": tuple(facts["wanted"]), "phase": Phase(facts["phase"])})


@dataclass(frozen=True)
class Exchange:
    """A reply with calls that have not all been run yet."""

    request: DeliveryRequest
    reply: Reply
    turn: int


@dataclass(frozen=True)
class ConversationHistory:
    """The state of the conversation, computed from the entries of its journal."""

    prd: str = ""  # the blob of the PRD that it is about
    system: tuple[Text, ...] = ()
    messages: tuple[Message, ...] = ()
    answers: tuple[Text | ToolResult, ...] = ()  # to the last reply's calls, for the next message
    deliveries: tuple[Delivery, ...] = ()
    news: tuple[Delivery, ...] = ()  # judged since the last message
    pending: Exchange | None = None
    rest: tuple[str, str] = ("", "")  # base and tree of the writes that no submit covers
    is_cut: bool = False  # the last reply ended at its length limit
    kept: str = ""  # a commit that protects the trees from `git gc`

    def find_open(self, story: str, head: str, phase: Phase = Phase.RED) -> Delivery | None:
        """Return the last delivery of a story if it may still be used on this head."""
        found = [each for each in self.deliveries if (each.story, each.phase) == (story, phase)]
        return found[-1] if found and found[-1].is_open(head) else None

    def count_returned(self, story: str, head: str) -> int:
        """Return how many deliveries of a story could not be judged at this head."""
        return sum(each.story == story and each.head == head and each.outcome == "returned" for each in self.deliveries)

    def count_attempts(self, story: str, phase: Phase) -> int:
        return sum((each.story, each.phase) == (story, phase) for each in self.deliveries)

    @property
    def is_long(self) -> bool:
        return (
            sum(len(str(block)) for message in self.messages for block in message.blocks) > MAX_CONVERSATION_CHARACTERS
        )


def open_history_journal(session: Session) -> Journal:
    journal = session.services.journal
    return Journal(journal.directory / "conversation", journal.prd_id)


def load_history(session: Session) -> ConversationHistory:
    history = ConversationHistory()
    for entry in open_history_journal(session).entries():
        history = _ENTRY_READERS[entry.kind](history, entry)
    return history


def forget_conversation(session: Session) -> None:
    """Delete the conversation of a PRD that is finished."""
    journal = open_history_journal(session)
    if journal.path.exists():
        journal.settle()
        session.git.forget_aside(_keep_name(session))


# --- writing ----------------------------------------------------------------------------------------------------------


def begin_conversation(session: Session, head: str, system: Iterable[Text], kept: Sequence[Delivery]) -> None:
    """Start a new conversation. Deliveries of the old one that are still open are kept."""
    journal = open_history_journal(session)
    old = load_history(session)
    journal.restart(
        "begin",
        head=head,
        prd=session.prd.blob,
        system=[_to_json(block) for block in system],
        kept=old.kept,
        deliveries=[_delivery_to_json(each) for each in kept],
    )


def record_exchange(
    session: Session, head: str, order: DeliveryRequest, *, asked: Iterable[Block], reply: Reply, turn: int
) -> None:
    open_history_journal(session).append(
        "exchange",
        head=head,
        order=order.to_json(),
        turn=turn,
        asked=[_to_json(block) for block in asked],
        reply=[_to_json(block) for block in reply.blocks],
        stop=reply.stop,
        model=reply.model,
        spend=reply.spend.model_dump(),
    )


def record_delivered(session: Session, head: str, delivered: DeliveredAnswer) -> None:
    """Record an answer's stories. A ref keeps their trees, since no commit refers to them yet."""
    history = load_history(session)
    kept = _keep_trees(session, history.kept, delivered)
    phase = history.pending.request.phase if history.pending else Phase.RED
    deliveries = [
        Delivery(
            number=len(history.deliveries) + at,
            story=each.report.story,
            phase=phase,
            base=each.base,
            tree=each.tree,
            report=each.report,
            problem=each.problem,
            head=head,
        )
        for at, each in enumerate(delivered.stories)
    ]
    open_history_journal(session).append(
        "delivered",
        head=head,
        kept=kept,
        rest=[delivered.base, delivered.tree],
        answers=[_to_json(block) for block in delivered.answers],
        deliveries=[_delivery_to_json(each) for each in deliveries],
    )


def record_judged(session: Session, delivery: Delivery, head: str, outcome: DeliveryOutcome, reason: str = "") -> None:
    if delivery.outcome != outcome:
        open_history_journal(session).append(
            "judged", head=head, number=delivery.number, outcome=outcome, reason=reason
        )


def _keep_trees(session: Session, kept: str, delivered: DeliveredAnswer) -> str:
    git = session.git
    trees = dict.fromkeys((*(each.tree for each in delivered.stories), delivered.base, delivered.tree))
    for tree in trees:
        kept = git.commit(tree, [kept] if kept else [], "Files of stories that are not judged yet")
    git.set_aside(_keep_name(session), kept)
    return kept


def _keep_name(session: Session) -> str:
    return f"{session.prd.id}/conversation/{session.services.journal.prd_id}"


# --- reading ----------------------------------------------------------------------------------------------------------


def _read_begin(_: ConversationHistory, entry: JournalEntry) -> ConversationHistory:
    facts = entry.facts
    return ConversationHistory(
        prd=facts["prd"],
        system=tuple(block for block in _blocks(facts["system"]) if isinstance(block, Text)),
        deliveries=tuple(map(_delivery_from_json, facts["deliveries"])),
        kept=facts["kept"],
    )


def _read_exchange(history: ConversationHistory, entry: JournalEntry) -> ConversationHistory:
    facts = entry.facts
    reply = Reply(
        _blocks(facts["reply"]), Spend.model_validate(facts["spend"]), stop=facts["stop"], model=facts["model"]
    )
    return replace(
        history,
        messages=(*history.messages, Message("user", _blocks(facts["asked"])), Message("assistant", reply.blocks)),
        answers=(),
        news=(),
        pending=Exchange(DeliveryRequest.from_json(facts["order"]), reply, facts["turn"]),
        is_cut=reply.stop == "max_tokens",
    )


def _read_delivered(history: ConversationHistory, entry: JournalEntry) -> ConversationHistory:
    facts = entry.facts
    base, tree = facts["rest"]
    answers = tuple(block for block in _blocks(facts["answers"]) if isinstance(block, Text | ToolResult))
    more = tuple(map(_delivery_from_json, facts["deliveries"]))
    return replace(
        history,
        answers=answers,
        deliveries=(*history.deliveries, *more),
        pending=None,
        rest=(base, tree),
        kept=facts["kept"],
    )


def _read_judged(history: ConversationHistory, entry: JournalEntry) -> ConversationHistory:
    facts = entry.facts
    outcome = {"outcome": facts["outcome"], "reason": facts["reason"], "judged_head": entry.head}
    deliveries = tuple(
        replace(each, **outcome) if each.number == facts["number"] else each for each in history.deliveries
    )
    judged = next(each for each in deliveries if each.number == facts["number"])
    return replace(history, deliveries=deliveries, news=(*history.news, judged))


_ENTRY_READERS = {
    "begin": _read_begin,
    "exchange": _read_exchange,
    "delivered": _read_delivered,
    "judged": _read_judged,
}


def _delivery_to_json(delivery: Delivery) -> dict[str, Any]:
    return {**vars(delivery), "phase": delivery.phase.value, "report": delivery.report.model_dump(mode="json")}


def _delivery_from_json(facts: Mapping[str, Any]) -> Delivery:
    rest = dict(facts)
    # Older versions recorded the report's status and explanation next to the other facts.
    report = rest.pop("report", None) or {
        "story": rest["story"],
        **{name: rest.pop(name) for name in ("status", "explanation")},
    }
    return Delivery(**{**rest, "phase": Phase(rest["phase"]), "report": StoryReport.model_validate(report)})


def _to_json(block: Block) -> dict[str, Any]:
    return block_to_json(block) | ({"cache": True} if isinstance(block, Text) and block.cache else {})


def _blocks(items: Iterable[Mapping[str, Any]]) -> tuple[Block, ...]:
    return tuple(_block(item) for item in items)


def _block(item: Mapping[str, Any]) -> Block:
    match item:
        case {"type": "text", "text": str(text)}:
            return Text(text, cache=bool(item.get("cache")))
        case {"type": "tool_result", "tool_use_id": str(ident), "content": str(content)}:
            return ToolResult(ident, content, is_error=bool(item.get("is_error")))
    return content_from_json([dict(item)])[0]
