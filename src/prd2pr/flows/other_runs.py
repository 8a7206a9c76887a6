"""What another run did to the branch while this one was at work on it, so that nothing is done or paid for twice."""

from __future__ import annotations

from prd2pr.core.records import Phase
from prd2pr.flows.peoples_work import step_of
from prd2pr.flows.replan import prd_changed
from prd2pr.flows.session import Session


def another_run_works(session: Session, before: str, now: str) -> bool:
    """It made a step meanwhile, and follows the order that stands: this one would only pay for the same phases again.

    A comment that is being carried out is not left to it: whose it is, the cursor says.
    """
    if session.log.pending is not None or session.store.load(now).status.order != "run":
        return False
    made = map(step_of, session.git.log(f"{before}..{now}"))
    return any(step is not None and step.prd == session.prd.id and step.phase is not Phase.NOTE for step in made)


def planned_elsewhere(session: Session, was: Session, before: str, now: str) -> bool:
    """Only the plan was to be changed, and another run has done it: no phase was ordered by that.

    `was`: the session with the text that this run had before it read the PRD again.
    """
    if session.log.pending is not None:
        return False
    then = session.store.load(before)
    return then.planned and prd_changed(was, then) and not prd_changed(session, session.store.load(now))
