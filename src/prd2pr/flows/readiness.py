"""Whether work may go on: a sprint that is active, stories that are approved, and which of them is next."""

from __future__ import annotations

from prd2pr.core.approval import approved_stories, approving_command, pending
from prd2pr.core.cursors import cursor_at, is_forward
from prd2pr.core.decide import Leave, Rest, next_story, waits_for_approval
from prd2pr.core.decision import BOT, Decision
from prd2pr.core.effects.records import Objection
from prd2pr.core.records import SETTLED, ProjectState, Story
from prd2pr.flows.decisions import Decided, decide
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState

NO_SPRINT = (ProjectState.IDLE, ProjectState.BACKLOG_READY, ProjectState.SPRINT_PLANNED)
WAITS = "stories wait for approval"


def ready_head(session: Session, head: str) -> str | Rest:
    """The head to work from, with a sprint begun where that needs nobody's word; else what it waits for."""
    state = session.store.load(head)
    if state.status.halted or all(story.status in SETTLED for story in state.backlog.stories):
        return head
    if state.status.state in NO_SPRINT:
        return begun(session, state)
    if state.status.state is ProjectState.SPRINT_ACTIVE and nothing_approved(session, state):
        after = decided(session, head, WAITS, BOT)
        return after if isinstance(after, Rest) else asking(session, session.store.load(after))
    return head


def begun(session: Session, state: BranchState) -> str | Rest:
    """Who calls the program starts the sprint by that; `approval: none` says that nobody wants to be asked."""
    now = state.status.state
    if session.approval == "none" and now is ProjectState.BACKLOG_READY and nothing_approved(session, state):
        return asking(session, state)  # what is left is for what is gone from the PRD
    if session.approval == "none" and now is ProjectState.BACKLOG_READY:
        return decided(session, state.commit, "approve", BOT, "approval: none")
    if session.approval in ("given", "none") and now is not ProjectState.IDLE:
        by = session.git.user_name()
        planned = (
            decided(session, state.commit, "sprint plan", by) if now is ProjectState.BACKLOG_READY else state.commit
        )
        return planned if isinstance(planned, Rest) else decided(session, planned, "sprint start", by)
    return asking(session, state) if session.approval != "given" else state.commit


def asking(session: Session, state: BranchState) -> Rest:
    waiting = [story for story in state.backlog.stories if story.status not in SETTLED]
    match state.status.state:
        case ProjectState.IDLE:
            return Rest(
                "waiting", "the last sprint is closed, and the backlog has stories left", '/epic "what is next"'
            )
        case ProjectState.SPRINT_PLANNED:
            return Rest("waiting", "the sprint is planned, and nobody has started it", "/sprint start")
        case _:
            approved = approved_in(session, state)
            command = approving_command(session.approval, state.backlog, approved)
            return Rest("waiting", waits_for_approval(state.status, waiting), command)


def decided(session: Session, head: str, command: str, by: str, text: str = "") -> str | Rest:
    made = decide(session, head, Decision(command=command, by=by, at=session.clock.now(), text=text, head=head))
    if isinstance(made, Objection):
        return Rest("waiting", made.reason, made.next)
    assert isinstance(made, Decided), f"the machine was asked before about {command}"
    return made.head


def approved_in(session: Session, state: BranchState) -> frozenset[str] | None:
    assert state.prd is not None, "only a plan can be approved"
    return approved_stories(session.approval, state.status, state.prd, state.backlog)


def nothing_approved(session: Session, state: BranchState) -> bool:
    """Of what is left. Where some of it is approved, that comes first."""
    left = [story for story in state.backlog.stories if story.status not in SETTLED]
    return bool(left) and len(pending(state.backlog, approved_in(session, state))) == len(left)


def chosen_story(session: Session, state: BranchState) -> Story | Rest:
    """Cycles are read one by one: there may be thousands, and mostly the first one is not paused."""
    approved, paused = approved_in(session, state), frozenset[str]()
    while True:
        leave = Leave(approved, paused)
        story = next_story(state.status, state.backlog, session.prd.path, session.only_story, leave)
        if isinstance(story, Rest) or session.only_story:
            return story
        cycle = state.cycle(story.id)
        if cycle is None or not cycle.paused:
            return story
        paused |= {story.id}


def carried_out_elsewhere(session: Session, head: str) -> bool:
    """Another run has meanwhile carried the same comment out: doing it again would double it."""
    wanted = session.log.pending
    if wanted is None:
        return False
    return not is_forward(cursor_at(session.store.load(head).status, wanted.number), wanted)


def block_for_ci(session: Session, reason: str) -> str | Rest:
    """CI has failed three times (`core/ci.ci_failed`): a person decides. Of a sprint that is not active, nothing."""
    head = session.git.branch_head(session.branch)
    state = session.store.load(head) if head else None
    if state is None or not state.planned or state.status.state is not ProjectState.SPRINT_ACTIVE:
        return Rest("nothing", "no sprint is active that could be blocked")
    after = decided(session, state.commit, "CI failed three times", BOT, reason)
    return after if isinstance(after, Rest) else Rest("blocked", reason, '/suggest_fix "what to try"')
