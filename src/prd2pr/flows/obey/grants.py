"""`/tdd next` and `/tdd run`: whether the next phases may be worked on. The work itself is the loop's."""

from __future__ import annotations

from prd2pr.core.ahead import ahead
from prd2pr.core.cycle_machine import check_cycle
from prd2pr.core.decide import Rest
from prd2pr.core.decision import Decision
from prd2pr.core.effects.stories import cycle_of
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.refusal import Refusal
from prd2pr.core.said.answers import Answer, Illegal, NotNow
from prd2pr.flows.decisions import Decided, decide, found_in
from prd2pr.flows.obey.approving import approve_by_working, awaited
from prd2pr.flows.obey.meant import stories_meant
from prd2pr.flows.obey.order import Obeyed, Ordered
from prd2pr.flows.obey.spent import used_up
from prd2pr.flows.outlook import outlook, step_ahead
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState


def grant(session: Session, state: BranchState, ordered: Ordered) -> Obeyed:
    """One phase: its own commit moves the cursor. A run: the order is a commit, and outlives this run."""
    name = ordered.command.name
    story = "".join(stories_meant(state, name, ordered.command.stories)[:1])
    if awaited(session, state):
        approved = approve_by_working(session, state, ordered, story)
        if not isinstance(approved, BranchState):
            return Obeyed(state.commit, approved)
        state = approved
    objection = not_granted(session, state, ordered, story)
    if objection is not None:
        return Obeyed(state.commit, objection)
    if name == "tdd next":
        session.log.pending = ordered.comment
        return Obeyed(state.commit, steps_wanted=1, story=story)
    return order_to_run(session, state, ordered, story)


def order_to_run(session: Session, state: BranchState, ordered: Ordered, story: str) -> Obeyed:
    head = state.commit
    if (state.status.order, state.status.order_story) == ("run", story):
        session.log.pending = ordered.comment  # it stands already: the next phase's commit answers this one too
        return Obeyed(head, steps_wanted=None, run=True, story=story)
    session.log.pending = ordered.comment
    decision = Decision(
        command="tdd run", by=ordered.by, at=session.clock.now(), text=ordered.why, stories=(story,) if story else ()
    )
    decided = decide(session, head, decision)
    assert isinstance(decided, Decided), "it was granted"
    return Obeyed(decided.head, steps_wanted=None, run=True, story=story)


def not_granted(session: Session, state: BranchState, ordered: Ordered, story: str) -> Answer | None:
    shown = ordered.command.shown
    following = ahead(outlook(session, state, story))
    if isinstance(following, Rest):
        return NotNow.of(shown, following)
    meant = following.story.id
    refusal = illegal(session, state, ordered.command.name, meant)
    if refusal is not None:
        return Illegal(refusal, step_ahead(session, state))
    stop = used_up(session, state, meant)
    return NotNow(shown, stop.what, NextStep(stop.remedy)) if stop else None


def illegal(session: Session, state: BranchState, name: str, story: str) -> Refusal | None:
    """Where a sprint begins without being asked for, every story's cycle begins with it."""
    cycle = cycle_of(found_in(state), story)
    if cycle is None and session.approval in ("given", "none"):
        return None
    answer = check_cycle(cycle.state if cycle else None, name)
    return answer if isinstance(answer, Refusal) else None
