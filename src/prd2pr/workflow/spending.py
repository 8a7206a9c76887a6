"""Spending and attempts since the last commit, read from the journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from prd2pr.domain.breakers.records import OperationFailure
from prd2pr.domain.costs.budget import Budget, BudgetStop, CallEstimate, check_budget
from prd2pr.domain.costs.role_costs import add_spends, get_role
from prd2pr.domain.records import Phase, Spend
from prd2pr.state.journal import JournalEntry
from prd2pr.state.store import BranchState
from prd2pr.workflow.session import Session

__all__ = [
    "JournalEntry",
    "compute_inherited_spend",
    "get_entry_subject",
    "has_refusal",
    "list_carried_entries",
    "list_failures",
    "list_refused_entries",
    "list_unrecorded",
    "sum_spend",
]  # fmt: skip

ABOUT_A_STORY = ("refused", "trouble")


@dataclass(frozen=True)
class BranchSpend:
    """Spending and time of the steps on the branch. Later spending is in the journal."""

    story: Spend = field(default_factory=Spend)
    prd: Spend = field(default_factory=Spend)
    story_seconds: float = 0
    prd_seconds: float = 0


def compute_current_budget(session: Session, state: BranchState, story: str = "") -> Budget:
    cycles = [cycle for name in state.cycle_ids if (cycle := state.cycle(name)) is not None]
    runs = [run for run_id in state.run_ids() if (run := state.run(run_id)) is not None]
    mine = [step for cycle in cycles if cycle.story == story for step in cycle.steps]
    return Budget(
        limits=session.constraints.limits,
        spent_run=session.log.spend,
        spent_story=sum((step.spend for step in mine), Spend()),
        spent_prd=sum((run.spend for run in runs), Spend()),
        started=session.log.started,
        seconds_story=sum(step.seconds for step in mine),
        seconds_prd=sum(step.seconds for cycle in cycles for step in cycle.steps),
    )


def find_reached_limit(session: Session, state: BranchState, story: str) -> BudgetStop | None:
    """Return the limit that is already reached, if any."""
    return check_budget(
        compute_current_budget(session, state, story), session.clock.monotonic(), CallEstimate(model="")
    )


def sum_spend(entries: Iterable[JournalEntry], subject: str = "") -> Spend:
    """Sum the spending on one story, or on everything if `subject` is empty."""
    prefix = f"{subject}/" if subject else ""
    calls = (entry.facts for entry in entries if entry.kind == "call")
    spends = (Spend.model_validate(call["spend"]) for call in calls if call["key"].startswith(prefix))
    return sum(spends, Spend())


def get_entry_subject(entry: JournalEntry) -> str:
    """Return the story to which an entry belongs, or the PRD for the planner's calls."""
    return str(entry.facts["story"] if entry.kind in ABOUT_A_STORY else entry.facts["key"].partition("/")[0])


def list_unrecorded(entries: Iterable[JournalEntry]) -> tuple[JournalEntry, ...]:
    """Return the entries that no run record on the branch includes yet."""
    return tuple(entry for entry in entries if not entry.facts.get("recorded"))


def compute_inherited_spend(entries: Iterable[JournalEntry], run: str) -> dict[str, Spend]:
    """Return the spending of killed runs by role, which the current run must record."""
    return spend_by_role(entry for entry in list_unrecorded(entries) if entry.facts.get("run") != run)


def spend_by_role(entries: Iterable[JournalEntry]) -> dict[str, Spend]:
    found: dict[str, Spend] = {}
    for entry in entries:
        if entry.kind == "call":
            found = add_spends(found, {get_role(entry.facts["key"]): Spend.model_validate(entry.facts["spend"])})
    return found


def list_carried_entries(
    entries: Iterable[JournalEntry], story: str, stories: Iterable[str]
) -> tuple[JournalEntry, ...]:
    """Return the entries of other stories, which a commit about `story` must carry over.

    The run's record includes their cost, but the other stories' records do not yet. Failures are not carried over,
    since any commit records them.
    """
    candidates = [entry for entry in entries if entry.kind != "trouble" and get_entry_subject(entry) != story]
    if not candidates:
        return ()  # the usual case, without listing what may be thousands of stories
    others = {*stories}
    return tuple(
        JournalEntry(entry.kind, entry.head, {**entry.facts, "recorded": True})
        for entry in candidates
        if get_entry_subject(entry) in others
    )


def list_failures(entries: Iterable[JournalEntry]) -> tuple[OperationFailure, ...]:
    return tuple(OperationFailure.model_validate(entry.facts["event"]) for entry in entries if entry.kind == "trouble")


def has_refusal(entries: Iterable[JournalEntry], story: str) -> bool:
    return any(entry.kind == "refused" and entry.facts["story"] == story for entry in entries)


def list_refused_entries(entries: Iterable[JournalEntry], story: str, phase: Phase) -> list[JournalEntry]:
    return [
        entry
        for entry in entries
        if entry.kind == "refused" and entry.facts["story"] == story and entry.facts["phase"] == phase.value
    ]
