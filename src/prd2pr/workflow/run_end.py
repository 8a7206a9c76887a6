"""Record spending and refusals that have no commit yet, at the end of a run on an ephemeral machine.

They are otherwise only in the journal, which is lost with the disk, while budgets and attempts are counted from the
branch.
"""

from __future__ import annotations

from prd2pr.domain.costs.budget import OUT_OF_BUDGET_NOTE, SPENT_NOTE, format_amount
from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.records import Spend
from prd2pr.errors import BranchMoved, Prd2prError
from prd2pr.state.store import BranchState
from prd2pr.workflow.commits.decisions import apply_decision
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import (
    ABOUT_A_STORY,
    JournalEntry,
    get_entry_subject,
    list_failures,
    list_unrecorded,
    sum_spend,
)

MAX_RACES = 3


def record_spending(session: Session, *, out_of_budget: bool = False) -> None:
    """Commit the spending and refusals in the journal. Errors are only reported, since the run's results matter more.

    `out_of_budget` also records that the story stopped at its budget, for the person who decides about a higher one.
    """
    error = try_record_spending(session, out_of_budget)
    for _ in range(MAX_RACES):
        if not isinstance(error, BranchMoved):
            break
        error = try_record_spending(session, out_of_budget)
    if error is not None:
        session.progress.say("note", text=f"could not record the last spending: {error.what}")


def try_record_spending(session: Session, out_of_budget: bool) -> Prd2prError | None:
    head = session.git.branch_head(session.target.branch)
    if head is None:
        return None
    try:
        with session.git.lock(f"branch-{session.prd.id}"):
            commit_spending_notes(session, session.store.load(head), out_of_budget)
    except Prd2prError as error:
        session.services.journal.move_entries(head, session.git.branch_head(session.target.branch) or head)
        return error
    return None


def commit_spending_notes(session: Session, state: BranchState, out_of_budget: bool = False) -> None:
    """Commit one note for each story with spending. Other spending is recorded for the PRD."""
    entries = list_unrecorded(session.services.journal.entries_since(state.commit))
    has_entries = has_spend(sum_spend(entries)) or any(entry.kind in ABOUT_A_STORY for entry in entries)
    if not state.planned or not (has_entries or (out_of_budget and has_started(state, session.target.story))):
        return
    session.log.branch_writes.pending = None  # these notes answer no comment
    names = dict.fromkeys((*map(get_entry_subject, entries), session.target.story if out_of_budget else ""))
    started = [name for name in names if has_started(state, name)]
    for name in started or [""]:
        head = session.git.branch_head(session.target.branch)
        assert head is not None, "it exists: the last note is on it"
        apply_decision(session, head, make_spending_decision(session, entries, name, out_of_budget))


def has_spend(spend: Spend) -> bool:
    return bool(spend.tokens or spend.usd)


def has_started(state: BranchState, name: str) -> bool:
    cycle = state.cycle(name) if name in {story.id for story in state.backlog.stories} else None
    return cycle is not None and bool(cycle.steps)


def make_spending_decision(
    session: Session, entries: tuple[JournalEntry, ...], story: str, out_of_budget: bool
) -> Decision:
    spend = sum_spend(entries, story)
    money = f", {format_amount(spend.usd, 'usd')}" if spend.usd else ""
    failed = dict.fromkeys(f"; {each.stage}: {each.why}" for each in list_failures(entries))
    note = f"; {OUT_OF_BUDGET_NOTE}" if out_of_budget else ""
    text = f"{format_amount(spend.tokens, 'tokens')}{money}{''.join(failed)}{note}"
    return Decision(command=SPENT_NOTE, by=BOT, at=session.clock.now(), text=text, stories=(story,) if story else ())
