"""A plan that failed is paid for once: the same text is planned again when a person says so, and never by a schedule.

That it failed is told by a mark where people look: below the pull request, or the issue that asked. A PRD file that has
neither yet is told of by a check on the commit that brought its text.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.decide import Rest
from prd2pr.core.hub import Check, Pull
from prd2pr.core.records import Phase, Prd
from prd2pr.core.said.answers import Failed
from prd2pr.core.said.checks import check_name
from prd2pr.core.said.markers import waiting_marker
from prd2pr.core.wording import clip, plain, stopped
from prd2pr.errors import BranchMoved, HubProblem, HubUnreachable, Prd2prError, RateLimited, Stopped
from prd2pr.flows.host import Host
from prd2pr.flows.session import Outdated, Session
from prd2pr.flows.telling import tell_once
from prd2pr.forges.said import render_answer

CUT_OFF = (Stopped, BranchMoved, RateLimited, HubUnreachable)  # the plan did not fail: the run met something else
PLAN = "the plan"
NOT_BY_ITSELF = "It is not planned again by itself, so that it costs nothing more"


def is_failed_plan(session: Session, problem: Prd2prError) -> bool:
    """Whether the planner was asked for what the PRD says now, and no plan came of it."""
    if isinstance(problem, CUT_OFF) or is_planned(session):
        return False
    mine = (each.facts for each in session.journal.entries() if each.kind == "call")
    keys = (call["key"] for call in mine if call.get("run") == session.log.id)
    return any(key.startswith(f"{session.prd.id}/plan") for key in keys)


def is_planned(session: Session) -> bool:
    head = session.git.branch_head(session.branch)
    planned = session.store.load(head).prd if head else None
    return planned is not None and planned.blob == session.prd.blob


def failed_before(host: Host, session: Session, pull: Pull | None) -> bool:
    number = place(session, pull)
    if number is not None:
        return host.hub.comment_marked(number, mark(session.prd)) is not None
    name = check_name(session.prd.id, Phase.PLAN.value)
    return any(each.name == name for each in host.hub.check_results(brought_by(session)))


def tell_failed(host: Host, session: Session, pull: Pull | None, problem: Prd2prError) -> bool:
    """Whether it was told. The job says it as well, so what keeps us from telling must not hide what happened."""
    told = Failed.of(PLAN, problem)
    remedy = " ".join((*([stopped(told.remedy)] if told.remedy else []), f"{NOT_BY_ITSELF}: {ways_on(session, pull)}."))
    told = replace(told, where=told.where or session.prd.path, remedy=remedy)
    number = place(session, pull)
    try:
        if number is not None:
            tell_once(host.hub, number, told, mark(session.prd))
        else:
            host.hub.check(check_of(session, told))
    except HubProblem as another:
        host.progress.say("note", text=f"that the plan failed could not be told there: {another.what}")
        return False
    return True


def check_of(session: Session, told: Failed) -> Check:
    """Neutral: the job is red, and a mark on the base branch that nobody takes away again need not be."""
    prd = session.prd
    return Check(
        key=f"{prd.id}/plan/{prd.blob}",
        name=check_name(prd.id, Phase.PLAN.value),
        sha=brought_by(session),
        conclusion="neutral",
        title=clip(plain(f"{prd.path}: {told.what}"), 200),
        summary=render_answer(told),
    )


def place(session: Session, pull: Pull | None) -> int | None:
    return pull.number if pull is not None else session.issue


def mark(prd: Prd) -> str:
    return waiting_marker(prd.id, f"plan/{prd.blob}")


def brought_by(session: Session) -> str:
    return session.git.last_change(session.base_commit, session.prd.path)


def ways_on(session: Session, pull: Pull | None) -> str:
    workflow = f"start the workflow by hand with `prd` set to `{session.prd.id}`"
    if pull is not None:
        return f"change its text, comment `/tdd next`, or {workflow}"
    if session.issue is not None:
        return f"take the label away and give it again, or {workflow}"
    return f"change `{session.prd.path}` and push it, or {workflow}"


def not_again(session: Session, pull: Pull | None) -> Rest:
    return Rest(
        "waiting",
        f"no plan came of what `{session.prd.path}` says now, and nothing is built for what it said before",
        ways_on(session, pull),
    )


def held_back(session: Session, rest: Rest) -> Session:
    """Until the PRD is planned as it is now."""
    head = session.git.branch_head(session.branch)
    planned = session.store.load(head).prd if head else None
    return replace(session, outdated=Outdated(planned.blob, rest)) if planned is not None else session
