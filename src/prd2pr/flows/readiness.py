"""Whether work may go on: a sprint begins where that needs nobody's word, and approval is asked for where it is due."""

from __future__ import annotations

from prd2pr.core.ahead import NO_SPRINT, SUGGEST, approval_is_due, asking, waits_for_a_person
from prd2pr.core.approval import approved_stories
from prd2pr.core.cursors import is_settled
from prd2pr.core.decide import Rest
from prd2pr.core.decision import BOT, Decision
from prd2pr.core.effects.records import Objection
from prd2pr.core.records import SETTLED, ProjectState
from prd2pr.flows.decisions import Decided, decide
from prd2pr.flows.outlook import outlook
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState

WAITS = "stories wait for approval"


def ready_head(session: Session, head: str) -> str | Rest:
    """The head to work from, with a sprint begun where that needs nobody's word; else what it waits for."""
    state = session.store.load(head)
    if state.status.halted or all(story.status in SETTLED for story in state.backlog.stories):
        return head
    if state.status.state in NO_SPRINT:
        return begun(session, state)
    if state.status.state is ProjectState.SPRINT_ACTIVE and approval_is_due(outlook(session, state)):
        after = decided(session, head, WAITS, BOT)
        return after if isinstance(after, Rest) else asking(outlook(session, session.store.load(after)))
    return head


def begun(session: Session, state: BranchState) -> str | Rest:
    """Who calls the program starts the sprint by that; `approval: none` says that nobody wants to be asked."""
    now = state.status.state
    if waits_for_a_person(view := outlook(session, state)):
        return asking(view)
    if now is ProjectState.IDLE:
        return state.commit
    if session.approval == "none" and now is ProjectState.BACKLOG_READY:
        return decided(session, state.commit, "approve", BOT, "approval: none")
    by = session.git.user_name()
    planned = decided(session, state.commit, "sprint plan", by) if now is ProjectState.BACKLOG_READY else state.commit
    return planned if isinstance(planned, Rest) else decided(session, planned, "sprint start", by)


def decided(session: Session, head: str, command: str, by: str, text: str = "") -> str | Rest:
    made = decide(session, head, Decision(command=command, by=by, at=session.clock.now(), text=text, head=head))
    if isinstance(made, Objection):
        return Rest("waiting", made.reason, made.next)
    assert isinstance(made, Decided), f"the machine was asked before about {command}"
    return made.head


def approved_in(session: Session, state: BranchState) -> frozenset[str] | None:
    assert state.prd is not None, "only a plan can be approved"
    return approved_stories(session.approval, state.status, state.prd, state.backlog)


def carried_out_elsewhere(session: Session, head: str) -> bool:
    """Another run has meanwhile carried the same comment or order out: doing it again would double it."""
    wanted = session.log.pending
    return wanted is not None and is_settled(session.store.load(head).status, wanted)


def block_for_ci(session: Session, reason: str) -> str | Rest:
    """CI has failed three times (`core/ci.ci_failed`): a person decides. Of a sprint that is not active, nothing."""
    head = session.git.branch_head(session.branch)
    state = session.store.load(head) if head else None
    if state is None or not state.planned or state.status.state is not ProjectState.SPRINT_ACTIVE:
        return Rest("nothing", "no sprint is active that could be blocked")
    after = decided(session, state.commit, "CI failed three times", BOT, reason)
    return after if isinstance(after, Rest) else Rest("blocked", reason, SUGGEST)
