"""What a decision finds, and what it leaves: plain records, nothing is read or written here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import wraps

from prd2pr.core.breakers.records import Circuits
from prd2pr.core.decision import Decision
from prd2pr.core.found import Found
from prd2pr.core.memory.records import Memory
from prd2pr.core.project_machine import KEPT_TRANSITIONS, apply_event, apply_project, record_transition
from prd2pr.core.records import Backlog, Cycle, Sprint, Status, StoryStatus, Transition
from prd2pr.core.refusal import Refusal


@dataclass(frozen=True)
class Left:
    """The records after it. What is not named stays as it is."""

    status: Status
    backlog: Backlog
    cycles: dict[str, Cycle] = field(default_factory=dict)  # those that changed
    sprint: Sprint | None = None  # where it changed
    about: str = ""  # the story whose cycle keeps this step; empty: the plan's
    removed: tuple[str, ...] = ()  # files that leave the code
    gone: tuple[str, ...] = ()  # stories whose cycle leaves the state
    note: str = ""  # how the step's note begins, where others look for it
    circuits: Circuits | None = None  # where it changes them
    learnt: tuple[Memory, ...] = ()  # records of memory that it adds


@dataclass(frozen=True)
class Objection:
    """The machine would allow it, and it still makes no sense: why, and what would."""

    reason: str
    next: str = ""


Effect = Left | Refusal | Objection


def found_after(found: Found, left: Left) -> Found:
    """What the next decision would find, though nothing is written yet."""

    def cycle(story: str) -> Cycle | None:
        return None if story in left.gone else left.cycles.get(story) or found.cycle(story)

    return replace(
        found,
        status=left.status,
        backlog=left.backlog,
        cycle=cycle,
        sprint=left.sprint or found.sprint,
        circuits=left.circuits or found.circuits,
    )


def moved(status: Status, decision: Decision, command: str = "") -> Status | Refusal:
    """The project machine takes the command, on record."""
    name = command or decision.command
    after = apply_project(status.state, name)
    if isinstance(after, Refusal):
        return after
    return record_transition(
        status, after, command=told(decision, name), by=decision.by, at=decision.at, why=why(decision)
    )


def through_the_machine(effect: Callable[[Found, Decision, Status], Effect]) -> Callable[[Found, Decision], Effect]:
    """The project machine is asked first; `effect` goes on from the status that it leads to."""

    @wraps(effect)
    def decided(found: Found, decision: Decision) -> Effect:
        status = moved(found.status, decision)
        return status if isinstance(status, Refusal) else effect(found, decision, status)

    return decided


def happened(status: Status, decision: Decision) -> Status | Refusal:
    after = apply_event(status.state, decision.command)
    if isinstance(after, Refusal):
        return after
    return record_transition(status, after, command=decision.command, by=decision.by, at=decision.at, why=decision.text)


def noted(status: Status, decision: Decision, before: str, after: str) -> Status:
    """A decision that leaves the project machine where it is, among the transitions that are kept."""
    made = Transition(
        at=decision.at, by=decision.by, command=told(decision), before=before, after=after, why=why(decision)
    )
    return status.model_copy(update={"transitions": (*status.transitions, made)[-KEPT_TRANSITIONS:]})


def told(decision: Decision, command: str = "") -> str:
    """As a person would write it."""
    number = () if decision.number is None else (str(decision.number),)
    circuit = (decision.circuit,) if decision.circuit else ()
    return " ".join((f"/{command or decision.command}", *decision.stories, *number, *circuit))


def why(decision: Decision) -> str:
    return " ".join(decision.text.split())[:500]


def unknown_stories(found: Found, names: Iterable[str]) -> Objection | None:
    known = {story.id for story in found.backlog.stories}
    missing = [name for name in names if name not in known]
    if not missing:
        return None
    return Objection(f"there is no story {', '.join(missing)}", "/tdd overview")


def with_statuses(backlog: Backlog, changes: dict[str, StoryStatus]) -> Backlog:
    stories = tuple(
        story.model_copy(update={"status": changes[story.id]}) if story.id in changes else story
        for story in backlog.stories
    )
    return backlog.model_copy(update={"stories": stories})
