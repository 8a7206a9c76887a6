"""`/tdd next` and `/tdd run`: whether the next phases may be worked on. The work itself is the loop's."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.ahead import Outlook, ahead
from prd2pr.core.cycle_machine import check_cycle
from prd2pr.core.decide import Rest
from prd2pr.core.decision import Decision
from prd2pr.core.effects.stories import cycle_of
from prd2pr.core.found import Found
from prd2pr.core.picture_parts import NOTHING_NEXT, NextStep
from prd2pr.core.refusal import Refusal
from prd2pr.core.said.answers import Answer, Illegal, NotNow
from prd2pr.core.two_names import in_comments
from prd2pr.flows.decisions import Decided, decide
from prd2pr.flows.obey.approving import approval_by_working, approved, awaited, once_approved
from prd2pr.flows.obey.meant import stories_meant
from prd2pr.flows.obey.order import Obeyed, Ordered
from prd2pr.flows.outlook import outlook, step_ahead, what_is_ahead
from prd2pr.flows.session import Session
from prd2pr.flows.spent import used_up
from prd2pr.repo.store import BranchState


def grant(session: Session, state: BranchState, ordered: Ordered) -> Obeyed:
    """One phase: its own commit moves the cursor. A run: the order is a commit, and outlives this run."""
    name = ordered.command.name
    story = "".join(stories_meant(state, name, ordered.command.stories)[:1])
    granted = approved_and_granted(session, state, ordered, story)
    if not isinstance(granted, BranchState):
        return Obeyed(state.commit, granted)
    state = granted
    if name == "tdd next":
        session.log.pending = ordered.settles
        return Obeyed(state.commit, steps_wanted=1, story=story)
    return order_to_run(session, state, ordered, story)


def approved_and_granted(session: Session, state: BranchState, ordered: Ordered, story: str) -> BranchState | Answer:
    """The state to work from. Where the order approves the plan, it is judged as if that were done, and done last."""
    view = outlook(session, state, story)
    if not awaited(session, state):
        return not_granted(session, state, ordered, view) or state
    approval = approval_by_working(session, state, ordered, story)
    found = once_approved(session, state, ordered, story, approval)
    if not isinstance(found, Found):
        return found
    objection = not_granted(session, state, ordered, replace(view, found=found))
    return objection or approved(session, state, approval)


def order_to_run(session: Session, state: BranchState, ordered: Ordered, story: str) -> Obeyed:
    head = state.commit
    if (state.status.order, state.status.order_story) == ("run", story):
        session.log.pending = ordered.settles  # it stands already: the next phase's commit answers this one too
        return Obeyed(head, steps_wanted=None, run=True, story=story)
    session.log.pending = ordered.settles
    decision = Decision(
        command="tdd run", by=ordered.by, at=session.clock.now(), text=ordered.why, stories=(story,) if story else ()
    )
    decided = decide(session, head, decision)
    assert isinstance(decided, Decided), "it was granted"
    return Obeyed(decided.head, steps_wanted=None, run=True, story=story)


def not_granted(session: Session, state: BranchState, ordered: Ordered, view: Outlook) -> Answer | None:
    """Judged by `view`; what is next is said of the state that there is."""
    shown = ordered.command.shown
    following = ahead(view)
    if isinstance(following, Rest):
        really = what_is_ahead(session, state) if awaited(session, state) else following
        why = NotNow.of(shown, replace(following, next=really.next) if isinstance(really, Rest) else following)
        return why if why.next != NOTHING_NEXT else replace(why, next=step_ahead(session, state))
    meant = following.story.id
    refusal = illegal(session, view.found, ordered.command.name, meant)
    if refusal is not None:
        return Illegal(refusal, step_ahead(session, state))
    stop = used_up(session, state, meant)
    return NotNow(shown, stop.what, NextStep(in_comments(stop.remedy))) if stop else None


def illegal(session: Session, found: Found, name: str, story: str) -> Refusal | None:
    """Where a sprint begins without being asked for, every story's cycle begins with it."""
    cycle = cycle_of(found, story)
    if cycle is None and session.approval in ("given", "none"):
        return None
    answer = check_cycle(cycle.state if cycle else None, name)
    return answer if isinstance(answer, Refusal) else None
