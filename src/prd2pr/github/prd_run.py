"""One PRD in one run on GitHub: load it, work on it, and publish the result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import SETTLED
from prd2pr.errors import BranchMoved, HubProblem, Prd2prError, StateByHand, StepsLost, Stopped
from prd2pr.github.branch_writer import delete_remote_branch, sync_branch
from prd2pr.github.command_queue import CommandQueue
from prd2pr.github.commands.request import CommandRequest
from prd2pr.github.comment_once import post_problem
from prd2pr.github.context import GitHubContext
from prd2pr.github.event_prds import Subject
from prd2pr.github.messages.replies import CommandReply, NotNow, ProblemReply
from prd2pr.github.orders import Trigger
from prd2pr.github.outcome import PrdOutcome
from prd2pr.github.prd_loop import has_run_command, is_waiting_for_budget, read_run_status, run_until_idle
from prd2pr.github.prd_run_context import PrdRun, RunActivity
from prd2pr.github.prd_run_report import (
    build_run_outcome,
    is_proved_already,
    publish_cancelled_run,
    publish_run,
    write_run_summary,
)
from prd2pr.github.prd_source import open_current_session
from prd2pr.github.preconditions import (
    RemotePrd,
    check_preconditions,
    check_still_wanted,
    load_remote_prd,
    stop_without_work,
)
from prd2pr.github.publish.proof import RESTORE_STEP
from prd2pr.github.unhandled_commands import answer_query, reply_to_trigger
from prd2pr.github.wave import make_run_record_id
from prd2pr.proof.rewritten_steps import find_rewritten_steps
from prd2pr.state.archive import Archive
from prd2pr.state.work_ref import read_published_head
from prd2pr.verification.commit_check import BranchRefutation
from prd2pr.workflow.run import get_current_head
from prd2pr.workflow.run_end import record_spending


def run_prd_on_github(context: GitHubContext, subject: Subject, trigger: Trigger, *, requested: bool) -> PrdOutcome:
    """Work on one PRD and publish the result, even if it is an error."""
    found = load_remote_prd(context, subject)
    ended = check_preconditions(found)
    if ended is not None:
        return stop_without_work(found, ended, trigger, requested=requested)
    run = open_prd_run(found, CommandQueue(context.hub, context.clock, trigger), requested=requested)
    session = run.session
    try:
        stop = work_and_publish(run, found, requested=requested)
    except (StateByHand, StepsLost) as problem:
        return stop_for_person(run, subject, problem)
    except Stopped as problem:
        publish_cancelled_run(run, problem)
        record_spending(session)
        release_held_commits(run)
        raise
    except Prd2prError as problem:
        record_spending(session)
        release_held_commits(run)
        answered = reply_to_failed_commands(run, problem)
        report_run_problem(run, problem, answered=answered)
        raise
    if isinstance(stop, PrdOutcome):
        return stop
    write_run_summary(run, stop)
    return build_run_outcome(run, stop)


def open_prd_run(found: RemotePrd, queue: CommandQueue, *, requested: bool) -> PrdRun:
    context, head, pull = found.context, found.head, found.pull
    session = open_current_session(found)
    # Only a head that was never published has to be checked.
    refuted = find_rewritten_steps(context.git, head) if head and not found.last_shown_head else None
    session = replace(
        session,
        host=replace(
            session.host, on_command_done=queue.acknowledge, published_head=found.last_shown_head, refuted=refuted
        ),
    )
    session.log.branch_writes.pending = found.subject.started_by
    if context.job.handoff:
        # the jobs of one workflow run share one budget
        session.log.id = make_run_record_id(session.log.id, context.job.run_number)
    activity = RunActivity(requested=requested)
    run = PrdRun(context, session, queue, None if pull and pull.merged else pull, activity)
    run.session = replace(
        session,
        host=replace(
            session.host,
            waits_for_budget=lambda: not run.activity.requested and is_waiting_for_budget(run),
            fetch_branch=partial(sync_branch, context.git, context.remote),
            on_branch_deleted=partial(delete_remote_branch, context.remote),
        ),
    )
    run.activity.blocked_before = pull is not None and context.config.labels.blocked in pull.labels
    run.activity.not_wanted = check_still_wanted(found) if head is not None else None
    return run


def work_and_publish(run: PrdRun, found: RemotePrd, *, requested: bool) -> NoAction | PrdOutcome:
    """Work on the PRD and publish the result. Returns an outcome if there is nothing new to publish."""
    session = run.session
    if session.host.refuted is not None:
        return refuse_rewritten_branch(run, session.host.refuted)
    stop = run_until_idle(run)
    record_spending(session)
    release_held_commits(run)
    if run.activity.not_wanted is not None and has_run_command(run):
        return stop_without_work(found, run.activity.not_wanted, Trigger(), requested=requested)
    elsewhere = run.activity.deferred and not run.activity.requested and ensure_another_run(run)
    if elsewhere or is_proved_already(run):
        return build_run_outcome(run, stop)
    archive_finished_branch(run, stop)
    publish_run(run, stop)
    reply_to_repeated_command(run, stop)
    report_unpublished_parts(run)
    if stop.outcome == "deadline":
        dispatch_next_run(run, "the previous run reached its time limit")
    if stop.outcome == "handed-on" and run.context.job.handoff == "to a run":
        dispatch_next_run(run, "the next stories can be worked on in parallel")
    return stop


def release_held_commits(run: PrdRun) -> None:
    """Push the commits of an unfinished story at the end of the run, unless the tests fail there.

    A run without commits of its own does not push them, because another run may be working on them.
    """
    session, head = run.session, get_current_head(run.session)
    idle = not (run.steps or run.activity.changed)
    if idle and head != read_published_head(session.git, session.target.branch) and run.context.has_other_active_runs():
        return
    try:
        now = session.services.writer.release(session.target.branch)
    except Prd2prError as problem:  # they stay on the work ref for the next run
        run.context.progress.say("note", text=f"the last commits are not on the branch yet: {problem.what}")
        return
    if now is not None and now != head:
        session.services.journal.move_entries(head, now)


def archive_finished_branch(run: PrdRun, stop: NoAction) -> None:
    """Keep the head of a finished branch under an archive ref.

    A squash or rebase, or deleting the branch, would lose it.
    """
    head = get_current_head(run.session)
    is_finished = all(story.status in SETTLED for story in run.session.store.load(head).backlog.stories)
    if stop.outcome == "done" and is_finished and run.pull is not None:
        archive = Archive(run.session.prd.id, str(run.pull.number), head)
        if run.context.remote.push_ref(archive.ref, archive.head).status:
            text = (
                f"{archive.ref} could not be pushed; after a squash, the proof is only at the pull request's own head"
            )
            run.context.progress.say("note", text=text)


def stop_for_person(run: PrdRun, subject: Subject, problem: Prd2prError) -> PrdOutcome:
    """Stop because the branch was force-pushed or deleted, or its state edited, during the run."""
    found = load_remote_prd(run.context, subject)
    ended = check_preconditions(found) or PrdOutcome("waiting", problem.what, "/tdd run")
    trigger = run.queue.trigger
    if not isinstance(problem, StepsLost):
        trigger = replace(trigger, comment=None)  # the command is executed after the revert
    return stop_without_work(found, ended, trigger, requested=True)


def refuse_rewritten_branch(run: PrdRun, refuted: BranchRefutation) -> PrdOutcome:
    """Report rewritten steps before anything is spent. Queries are still answered."""
    session, stop = run.session, NoAction("blocked", refuted.sentence(), RESTORE_STEP.command)

    def build_reply(request: CommandRequest) -> CommandReply:
        if request.command.reads:
            return answer_query(run.context, session, request)
        return NotNow(request.command.shown, refuted.sentence(), RESTORE_STEP)

    if run.queue.trigger:
        reply_to_trigger(run.context, run.queue.trigger, read_run_status(run), build_reply, pull=run.pull)
    run.proofs.refutations[get_current_head(session)] = refuted
    publish_run(run, stop)
    write_run_summary(run, stop)
    return build_run_outcome(run, stop)


def reply_to_repeated_command(run: PrdRun, stop: NoAction) -> None:
    """Explain why a repeated run command did not start a phase. Such a command makes no commit."""
    trigger_comment = run.queue.trigger_comment
    if trigger_comment is not None and stop.outcome != "deadline":
        reply_to_trigger(
            run.context, Trigger(trigger_comment), read_run_status(run), lambda it: NotNow.of(it.command.shown, stop)
        )


def reply_to_failed_commands(run: PrdRun, problem: Prd2prError) -> bool:
    """Reply to the commands that started the run, and return whether there were any.

    Problems with GitHub and lost races lead to a retry instead.
    """
    trigger = run.queue.trigger
    if not trigger or isinstance(problem, Stopped | HubProblem | BranchMoved):
        return False

    def build_reply(request: CommandRequest) -> CommandReply:
        if request.command.reads:
            return answer_query(run.context, run.session, request)
        return ProblemReply.of(request.command.shown, problem)

    try:
        return bool(reply_to_trigger(run.context, trigger, read_run_status(run), build_reply, pull=run.pull))
    except Prd2prError as another:
        run.context.progress.say("note", text=f"no reply could be posted: {another.what}")
        return False


def report_unpublished_parts(run: PrdRun) -> None:
    """If there is no pull request, report below the issue which parts could not be published."""
    if run.links.pull is None and run.links.notes and run.session.target.issue is not None:
        post_problem(run.context.hub, run.session.target.issue, run.session.prd.id, run.links.notes[0])


def report_run_problem(run: PrdRun, problem: Prd2prError, *, answered: bool) -> None:
    """Publish the problem. If publishing fails, the run still reports the original problem."""
    try:
        publish_run_problem(run, problem, answered=answered)
    except Prd2prError as another:
        run.context.progress.say("note", text=f"the problem could not be published: {another.what}")


def publish_run_problem(run: PrdRun, problem: Prd2prError, *, answered: bool) -> None:
    """Publish the problem on the pull request, or below the issue if there is none and its command got no reply."""
    if run.context.git.branch_head(run.session.target.branch) is not None:
        publish_run(run, NoAction("stopped", problem.what, problem.remedy), problem)
        return
    number = run.session.target.issue or (run.queue.trigger_comment.number if run.queue.trigger_comment else None)
    if number is not None and not (answered or run.activity.problem_reported):
        post_problem(run.context.hub, number, run.session.prd.id, ProblemReply.of("this run", problem))


def ensure_another_run(run: PrdRun) -> bool:
    """Return whether another run is active; if not, start one. A run that only answers queries does no work."""
    if run.context.has_other_active_runs():
        return True
    try:
        dispatch_next_run(run, "a run command is in force and no run is active")
    except HubProblem as problem:  # the next scheduled run continues
        run.context.progress.say("note", text=f"no other run could be started: {problem.what}")
    return False


def dispatch_next_run(run: PrdRun, reason: str) -> None:
    context = run.context
    if context.job.workflow:
        context.hub.dispatch(
            context.job.workflow, context.hub.default_branch(), {"prd": run.session.prd.id, "reason": reason}
        )
