"""The records after a decision, as pure data, and helpers that all decisions share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import wraps

from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.project_machine import (
    KEPT_TRANSITIONS,
    apply_project_command,
    apply_project_event,
    record_transition,
)
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.memory_records import Memory
from prd2pr.domain.records import Backlog, Cycle, Sprint, Status, StoryStatus, Transition


@dataclass(frozen=True)
class DecisionOutcome:
    """The records after a decision. Empty fields mean that nothing changes."""

    status: Status
    backlog: Backlog
    cycles: dict[str, Cycle] = field(default_factory=dict)  # the changed cycles
    sprint: Sprint | None = None  # the sprint, if it changed
    about: str = ""  # the story whose cycle records this step; empty for the plan
    removed: tuple[str, ...] = ()  # files to delete
    dropped_cycles: tuple[str, ...] = ()  # stories whose cycle is deleted
    note: str = ""  # prefix of the step's note, by which other code finds it
    circuits: Circuits | None = None  # the circuit breakers, if they changed
    lessons: tuple[Memory, ...] = ()  # new memory records


@dataclass(frozen=True)
class Objection:
    """A reason why a decision that the state machine allows makes no sense, with a better command."""

    reason: str
    next: str = ""


DecisionEffect = DecisionOutcome | CommandRefusal | Objection


def apply_decision_to_records(found: BranchRecords, left: DecisionOutcome) -> BranchRecords:
    """Return the records as the next decision will see them, before anything is written."""

    def cycle(story: str) -> Cycle | None:
        return None if story in left.dropped_cycles else left.cycles.get(story) or found.cycle(story)

    return replace(
        found,
        status=left.status,
        backlog=left.backlog,
        cycle=cycle,
        sprint=left.sprint or found.sprint,
        circuits=left.circuits or found.circuits,
    )


def record_project_command(status: Status, decision: Decision, command: str = "") -> Status | CommandRefusal:
    """Apply a command to the project's state machine and record the transition."""
    name = command or decision.command
    after = apply_project_command(status.state, name)
    if isinstance(after, CommandRefusal):
        return after
    return record_transition(
        status,
        after,
        command=format_decision_command(decision, name),
        by=decision.by,
        at=decision.at,
        why=format_decision_reason(decision),
    )


def with_project_transition(
    effect: Callable[[BranchRecords, Decision, Status], DecisionEffect],
) -> Callable[[BranchRecords, Decision], DecisionEffect]:
    """Decorate an effect so that it gets the project's status after the command's transition.

    If the state machine refuses the command, the effect is not called.
    """

    @wraps(effect)
    def decided(found: BranchRecords, decision: Decision) -> DecisionEffect:
        status = record_project_command(found.status, decision)
        return status if isinstance(status, CommandRefusal) else effect(found, decision, status)

    return decided


def record_project_event(status: Status, decision: Decision) -> Status | CommandRefusal:
    after = apply_project_event(status.state, decision.command)
    if isinstance(after, CommandRefusal):
        return after
    return record_transition(status, after, command=decision.command, by=decision.by, at=decision.at, why=decision.text)


def record_decision(status: Status, decision: Decision, before: str, after: str) -> Status:
    """Record a decision that does not change the project state."""
    made = Transition(
        at=decision.at,
        by=decision.by,
        command=format_decision_command(decision),
        before=before,
        after=after,
        why=format_decision_reason(decision),
    )
    return status.model_copy(update={"transitions": (*status.transitions, made)[-KEPT_TRANSITIONS:]})


def format_decision_command(decision: Decision, command: str = "") -> str:
    number = () if decision.number is None else (str(decision.number),)
    circuit = (decision.circuit,) if decision.circuit else ()
    return " ".join((f"/{command or decision.command}", *decision.stories, *number, *circuit))


def format_decision_reason(decision: Decision) -> str:
    return " ".join(decision.text.split())[:500]


def object_to_unknown_stories(found: BranchRecords, names: Iterable[str]) -> Objection | None:
    known = {story.id for story in found.backlog.stories}
    missing = [name for name in names if name not in known]
    if not missing:
        return None
    return Objection(f"there is no story {', '.join(missing)}", "/tdd overview")


def set_story_statuses(backlog: Backlog, changes: dict[str, StoryStatus]) -> Backlog:
    stories = tuple(
        story.model_copy(update={"status": changes[story.id]}) if story.id in changes else story
        for story in backlog.stories
    )
    return backlog.model_copy(update={"stories": stories})
