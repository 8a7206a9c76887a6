"""The repository's own CI on the commits where it should pass: failing there three times, a person decides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from prd2pr.core.ci import OUR_CHECKS, PATIENCE, ci_failed
from prd2pr.core.decide import Rest
from prd2pr.core.records import Phase, ProjectState, Status
from prd2pr.errors import BranchMoved
from prd2pr.flows.peoples_work import first_parents, step_of
from prd2pr.flows.readiness import block_for_ci
from prd2pr.flows.session import Session
from prd2pr.ports import Hub

# Not RED: there the tests fail, and so does the CI that runs them.
SHOULD_PASS = frozenset({Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED})


def stopped_by_ci(hub: Hub, session: Session) -> Rest | None:
    head = session.git.branch_head(session.branch)
    status = session.store.load(head).status if head else None
    if head is None or status is None or status.state is not ProjectState.SPRINT_ACTIVE:
        return None
    reason = ci_failed([hub.check_results(sha) for sha in judged_commits(session, head, status)], me=OUR_CHECKS)
    if not reason:
        return None
    blocked: str | Rest = ""
    with session.git.lock(f"branch-{session.prd.id}"), suppress(BranchMoved):  # who was quicker goes on from there
        blocked = block_for_ci(session, reason)
    return blocked if isinstance(blocked, Rest) and blocked.outcome == "blocked" else None


def judged_commits(session: Session, head: str, status: Status) -> list[str]:
    """The last few, the newest first; none from before a person said that it should go on in spite of them."""
    return list(islice(_since(session, head, went_on_at(status)), PATIENCE))


def _since(session: Session, head: str, start: str) -> Iterator[str]:
    for commit in first_parents(session.git, head):
        step = step_of(commit)
        if commit.at <= start or (step and step.phase is Phase.PLAN):
            return
        if step and step.phase in SHOULD_PASS:
            yield commit.sha


def went_on_at(status: Status) -> str:
    return max((each.at for each in status.transitions if each.before == ProjectState.BLOCKED), default="")
