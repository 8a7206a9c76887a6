"""One run on GitHub, from an event to its published result. Every run does all pending work.

event → permission → PRDs → branch → pending commands, in order → phases, each committed and pushed → pull request,
status comment, checks → outcome
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.forge import Actor
from prd2pr.domain.machines.command_aliases import to_slash_commands
from prd2pr.domain.records import Status
from prd2pr.errors import Prd2prError, SpendLimit, Stopped
from prd2pr.github.comment_once import post_problem
from prd2pr.github.comments_without_prd import handle_without_prd
from prd2pr.github.context import GitHubContext
from prd2pr.github.event_prds import (
    EventSubject,
    IssueWithoutPrd,
    NoPrd,
    StoryIssue,
    Subject,
    UnreadablePrd,
    find_active_subject,
    find_subjects,
    find_subjects_of_server_dispatch,
)
from prd2pr.github.events.events import (
    BranchPushed,
    CommentCreated,
    Event,
    EventIgnored,
    LabelAdded,
    ReviewSubmitted,
    ScheduleTriggered,
    ServerDispatched,
    WorkflowDispatched,
)
from prd2pr.github.messages.replies import NotNow, ProblemReply
from prd2pr.github.orders import Trigger
from prd2pr.github.outcome import PrdOutcome, RunStatus
from prd2pr.github.permissions import Denied, check_event_permission
from prd2pr.github.prd_run import run_prd_on_github
from prd2pr.github.unhandled_commands import reply_to_trigger
from prd2pr.github.wave import Wave
from prd2pr.prd.issue_ids import make_issue_prd_id
from prd2pr.views.models import NextStep


def handle_event(context: GitHubContext, event: Event) -> tuple[PrdOutcome, ...]:
    """Handle an event and return one outcome per PRD, but at least one."""
    refusal = refuse_event(context, event)
    if refusal is not None:
        return (refusal,)
    if isinstance(event, ScheduleTriggered) and context.has_other_active_runs():
        # A scheduled run must not pay for work in progress, and GitHub does not say which PRD the other run is for.
        return (PrdOutcome("nothing-to-do", "another run is active; the next scheduled run checks again"),)
    subjects = (
        tuple(find_subjects_of_server_dispatch(context, event))
        if isinstance(event, ServerDispatched)
        else find_subjects(context, event)
    )
    if len(subjects) > 1 and context.job.handoff == "to jobs":
        context = replace(context, job=replace(context.job, handoff="to a run"))  # the jobs of a run share one PRD
    return collect_outcomes([try_subject(context, event, subject) for subject in subjects])


def continue_wave(context: GitHubContext, wave: Wave) -> tuple[PrdOutcome, ...]:
    """Integrate the stories of a wave and continue its PRD. Permission was checked when the wave started."""
    context = replace(context, job=replace(context.job, previous_wave=wave))
    return collect_outcomes(
        [try_subject(context, WorkflowDispatched({"prd": wave.prd}), find_active_subject(wave.prd))]
    )


def collect_outcomes(found: list[PrdOutcome | Exception]) -> tuple[PrdOutcome, ...]:
    for each in found:
        if isinstance(each, Exception):
            raise each  # a bug in prd2pr, raised after the other PRDs were handled
    outcomes = [each for each in found if isinstance(each, PrdOutcome)]
    nothing = PrdOutcome("nothing-to-do", "the event concerns no PRD")
    return tuple(replace(each, next=to_slash_commands(each.next)) for each in outcomes or (nothing,))


def try_subject(context: GitHubContext, event: Event, subject: EventSubject) -> PrdOutcome | Exception:
    """Handle one PRD. A failure is returned, so that the other PRDs are handled too."""
    try:
        return handle_subject(context, event, subject)
    except Stopped:
        raise
    except Prd2prError as problem:
        context.progress.say("note", text=" ".join(problem.lines()))
        prd = subject.id if isinstance(subject, Subject) else ""
        status: RunStatus = "budget" if isinstance(problem, SpendLimit) else "error"
        branch = context.branch_of(prd) if prd else ""
        pull = find_pull_url(context, branch) if prd else ""
        return PrdOutcome(status, problem.what, problem.remedy, prd=prd, branch=branch, pull=pull, where=problem.where)
    except Exception as bug:  # noqa: BLE001 raised again after the other PRDs
        return bug


def find_pull_url(context: GitHubContext, branch: str) -> str:
    """Return the URL of the pull request. Errors are ignored, because they must not hide the original problem."""
    try:
        pull = context.hub.pull_for_branch(branch, context.base_branch)
    except Prd2prError:
        return ""
    return pull.url if pull else ""


def refuse_event(context: GitHubContext, event: Event) -> PrdOutcome | None:
    if isinstance(event, EventIgnored):
        return PrdOutcome("nothing-to-do", event.reason)
    actor = getattr(event, "actor", None)
    level = context.hub.permission(actor.login) if isinstance(actor, Actor) and not actor.bot else "none"
    decision = check_event_permission(event, level, context.hub.me())
    if not isinstance(decision, Denied):
        return None
    # Commands of a member are answered one by one later. A comment by an outsider must not fail the job.
    if isinstance(event, CommentCreated) and not decision.silent:
        return None
    quiet = isinstance(event, CommentCreated | ReviewSubmitted)
    return PrdOutcome("nothing-to-do" if quiet else "refused", decision.reason)


def handle_subject(context: GitHubContext, event: Event, subject: EventSubject) -> PrdOutcome:
    trigger = describe_trigger(event, subject)
    if isinstance(subject, NoPrd):
        return PrdOutcome("nothing-to-do", f"{subject.path} is not a PRD: {subject.reason}")
    if isinstance(subject, UnreadablePrd):
        return report_unreadable_prd(context, subject)
    if isinstance(subject, StoryIssue):
        return reply_under_story_issue(context, subject, trigger)
    if isinstance(subject, IssueWithoutPrd):
        wanted = handle_without_prd(
            context, subject.number, event if isinstance(event, CommentCreated) else None, subject.unchanged_for
        )
        if isinstance(wanted, PrdOutcome):
            return wanted
        subject = wanted
    return run_prd_on_github(
        context, subject, trigger, requested=isinstance(event, BranchPushed | LabelAdded | WorkflowDispatched)
    )


def describe_trigger(event: Event, subject: EventSubject) -> Trigger:
    """Return the comment or the orders for this PRD that started the run."""
    if isinstance(event, ServerDispatched) and isinstance(subject, Subject):
        orders = tuple(each for each in event.orders if each.prd == subject.id)
        return Trigger(orders=orders, sender=event.actor.login if event.actor else "")
    return Trigger(event.comment if isinstance(event, CommentCreated) else None)


def reply_under_story_issue(context: GitHubContext, subject: StoryIssue, trigger: Trigger) -> PrdOutcome:
    """Reply that commands are only read below the pull request."""
    pull = context.hub.pull_for_branch(context.branch_of(subject.prd), context.base_branch)
    place = f"#{pull.number}" if pull else "the pull request"
    reason = f"commands below #{subject.number}, the issue of one story, are not read"
    answers = (
        reply_to_trigger(
            context,
            trigger,
            Status(),
            lambda it: NotNow(it.command.shown, reason, NextStep(f"Comment below {place}.")),
        )
        if trigger
        else ()
    )
    status: RunStatus = "refused" if answers else "nothing-to-do"
    return PrdOutcome(status, reason, f"comment below {place}", prd=subject.prd, replied=True)


def report_unreadable_prd(context: GitHubContext, subject: UnreadablePrd) -> PrdOutcome:
    """Report an unreadable PRD: in a comment if it is an issue, in an annotation of the job if it is a file."""
    if subject.issue is not None:
        failed = ProblemReply.of("this run", subject.problem)
        post_problem(context.hub, subject.issue, make_issue_prd_id(subject.issue), failed, f"/{failed.digest}")
    return PrdOutcome(
        "refused", f"{subject.path}: {subject.problem.what}", subject.problem.remedy, where=subject.problem.where
    )
