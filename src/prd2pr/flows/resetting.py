"""A person closes what trouble has opened: on record, and before that what the journal still holds of it."""

from __future__ import annotations

from prd2pr.core.decision import Decision
from prd2pr.core.effects import Objection
from prd2pr.core.refusal import Refusal
from prd2pr.flows.containment import circuits_now
from prd2pr.flows.decisions import Decided, decide
from prd2pr.flows.ledger import troubles
from prd2pr.flows.session import Session
from prd2pr.flows.settling import put_on_record
from prd2pr.repo.store import BranchState

RESET = "tdd reset"


def recorded(session: Session, state: BranchState) -> BranchState:
    """The branch with all trouble on it. What is reset is then seen by everybody who reads the branch."""
    if troubles(session.journal.since(state.commit)):
        put_on_record(session, state)
    return session.store.load(session.git.branch_head(session.branch) or state.commit)


def reset_here(session: Session, circuit: str) -> Decided | Refusal | Objection | None:
    """Of a PRD on one's own machine; None: nothing was planned yet, so there was nothing but the journal to clear."""
    with session.git.lock(f"branch-{session.prd.id}"):
        head = session.git.branch_head(session.branch) or session.base_commit
        state = session.store.load(head)
        if not state.planned:
            opened = circuits_now(state, session.journal.since(head)).circuits
            session.journal.forget("trouble")
            return None if opened else Objection("no circuit is open")
        by, at = session.git.user_name(), session.clock.now()
        return decide(session, recorded(session, state).commit, Decision(command=RESET, by=by, at=at, circuit=circuit))
