"""Reset tripped circuit breakers at a person's request, and record the reset."""

from __future__ import annotations

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.planning.decisions import Objection
from prd2pr.state.store import BranchState
from prd2pr.workflow.breakers import read_current_circuits
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from prd2pr.workflow.run_end import commit_spending_notes
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import list_failures

RESET = "tdd reset"


def flush_failures(session: Session, state: BranchState) -> BranchState:
    """Commit failures that are only in the journal, so that the reset includes them."""
    if list_failures(session.services.journal.entries_since(state.commit)):
        commit_spending_notes(session, state)
    return session.store.load(session.git.branch_head(session.target.branch) or state.commit)


def reset_breakers(session: Session, circuit: str) -> AppliedDecision | CommandRefusal | Objection | None:
    """Reset a PRD's circuit breakers. Return None if there is no plan yet and only the journal was cleared."""
    with session.git.lock(f"branch-{session.prd.id}"):
        head = session.git.branch_head(session.target.branch) or session.target.base_commit
        state = session.store.load(head)
        if not state.planned:
            tripped = read_current_circuits(state, session.services.journal.entries_since(head)).circuits
            session.services.journal.forget("trouble")
            return None if tripped else Objection("no circuit breaker is open")
        by, at = session.git.user_name(), session.clock.now()
        return apply_decision(
            session, flush_failures(session, state).commit, Decision(command=RESET, by=by, at=at, circuit=circuit)
        )
