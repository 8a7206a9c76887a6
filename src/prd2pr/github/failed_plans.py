"""Remember failed plans, so that the same text is planned again only on request and never by a schedule.

A comment below the pull request or the issue marks the failure. If a PRD file has neither yet, the commit that added
its text gets a check.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.forge import CheckRun, Pull
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Phase, Prd
from prd2pr.domain.wording import clean_line, clip, end_sentence
from prd2pr.errors import BranchMoved, HubProblem, HubUnreachable, Prd2prError, RateLimited, Stopped
from prd2pr.github.comment_once import post_once
from prd2pr.github.context import GitHubContext
from prd2pr.github.messages.checks import check_name
from prd2pr.github.messages.markers import make_marker
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import ProblemReply
from prd2pr.workflow.session import OutdatedPlan, Session

INTERRUPTIONS = (Stopped, BranchMoved, RateLimited, HubUnreachable)  # the run was interrupted, so the plan did not fail
PLAN_PART = "the plan"
NO_AUTOMATIC_RETRY = "There is no automatic retry, so it costs nothing more"


def is_failed_plan(session: Session, problem: Prd2prError) -> bool:
    """Return whether the planner was called for the current text of the PRD and produced no plan."""
    if isinstance(problem, INTERRUPTIONS) or is_plan_current(session):
        return False
    mine = (each.facts for each in session.services.journal.entries() if each.kind == "call")
    keys = (call["key"] for call in mine if call.get("run") == session.log.id)
    return any(key.startswith(f"{session.prd.id}/plan") for key in keys)


def is_plan_current(session: Session) -> bool:
    head = session.git.branch_head(session.target.branch)
    planned = session.store.load(head).prd if head else None
    return planned is not None and planned.blob == session.prd.blob


def has_failed_before(context: GitHubContext, session: Session, pull: Pull | None) -> bool:
    number = find_report_number(session, pull)
    if number is not None:
        return context.hub.find_comment(number, make_failed_plan_marker(session.prd)) is not None
    name = check_name(session.prd.id, Phase.PLAN.value)
    return any(each.name == name for each in context.hub.check_results(commit_of_prd_text(session)))


def report_failed_plan(context: GitHubContext, session: Session, pull: Pull | None, problem: Prd2prError) -> bool:
    """Report the failure and return whether this succeeded. Otherwise, only the job reports it."""
    reply = ProblemReply.of(PLAN_PART, problem)
    remedy = " ".join(
        (
            *([end_sentence(reply.remedy)] if reply.remedy else []),
            f"{NO_AUTOMATIC_RETRY}: {retry_options(session, pull)}.",
        )
    )
    reply = replace(reply, where=reply.where or session.prd.path, remedy=remedy)
    number = find_report_number(session, pull)
    try:
        if number is not None:
            post_once(context.hub, number, reply, make_failed_plan_marker(session.prd))
        else:
            context.hub.check(build_failed_check(session, reply))
    except HubProblem as another:
        context.progress.say("note", text=f"the failed plan could not be reported: {another.what}")
        return False
    return True


def build_failed_check(session: Session, reply: ProblemReply) -> CheckRun:
    """Build a neutral check. The job is already red, and a red mark on the base branch would stay forever."""
    prd = session.prd
    return CheckRun(
        key=f"{prd.id}/plan/{prd.blob}",
        name=check_name(prd.id, Phase.PLAN.value),
        sha=commit_of_prd_text(session),
        conclusion="neutral",
        title=clip(clean_line(f"{prd.path}: {reply.what}"), 200),
        summary=render_reply(reply),
    )


def find_report_number(session: Session, pull: Pull | None) -> int | None:
    return pull.number if pull is not None else session.target.issue


def make_failed_plan_marker(prd: Prd) -> str:
    return make_marker("waiting", prd.id, f"plan/{prd.blob}")


def commit_of_prd_text(session: Session) -> str:
    return session.git.last_change(session.target.base_commit, session.prd.path)


def retry_options(session: Session, pull: Pull | None) -> str:
    workflow = f"start the workflow by hand with `prd` set to `{session.prd.id}`"
    if pull is not None:
        return f"change its text, comment `/tdd next`, or {workflow}"
    if session.target.issue is not None:
        return f"remove the label and add it again, or {workflow}"
    return f"change `{session.prd.path}` and push it, or {workflow}"


def stop_after_failed_plan(session: Session, pull: Pull | None) -> NoAction:
    return NoAction(
        "waiting",
        f"planning the current version of `{session.prd.path}` failed; the previous version will not be built",
        retry_options(session, pull),
    )


def hold_until_replanned(session: Session, stop: NoAction) -> Session:
    """Stop work until the current text of the PRD is planned."""
    head = session.git.branch_head(session.target.branch)
    planned = session.store.load(head).prd if head else None
    return (
        replace(session, host=replace(session.host, outdated_plan=OutdatedPlan(planned.blob, stop)))
        if planned is not None
        else session
    )
