"""The main loop of one PRD in one run: execute its commands in order, then the phases that a run command requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from prd2pr.domain.ci import (
    FAILED_COMMITS_TO_STOP,
    OUR_CHECKS,
    CommitCi,
    describe_ci_failure,
    has_settled_checks,
    list_failing_checks,
)
from prd2pr.domain.machines.next_action import get_run_story
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import ExecutedOrder, Phase, ProjectState, Status
from prd2pr.errors import BranchMoved, HubProblem, Prd2prError, SpendLimit, StateProblem, StepsLost, Stopped
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.command_queue import QueuedCommand
from prd2pr.github.commands.dispatch import execute_on_github
from prd2pr.github.commands.parser import ParsedCommand
from prd2pr.github.failed_plans import (
    has_failed_before,
    hold_until_replanned,
    is_failed_plan,
    report_failed_plan,
    stop_after_failed_plan,
)
from prd2pr.github.jobs.wave_scheduler import advance_parallel_stories, find_active_stories
from prd2pr.github.messages.markers import make_marker
from prd2pr.github.messages.replies import CommandDone, NotNow, ProblemReply, format_refusal_reason
from prd2pr.github.permissions import read_commands
from prd2pr.github.prd_run_context import PrdRun
from prd2pr.github.prd_run_report import RUN_COMMAND, publish_run, stop_for_spend_limit, watch_comments
from prd2pr.state.commit_message import StepRef
from prd2pr.state.work_ref import read_published_head
from prd2pr.views.models import NextStep
from prd2pr.workflow.commits.hand_edits import refuse_hand_edits
from prd2pr.workflow.human_commits import read_commit_step, walk_first_parents
from prd2pr.workflow.planning.replan import is_prd_changed, reload_changed_prd
from prd2pr.workflow.run import complete_idle_prd, describe_stop, get_current_head, refuse_lost_steps, run_prd
from prd2pr.workflow.session import Session
from prd2pr.workflow.sprint_start import block_sprint_for_ci, prepare_sprint

# RED is missing, because its tests must fail, and CI with them.
MAX_COMMITS_ASKED = 4 * FAILED_COMMITS_TO_STOP  # four phases of a story
PHASES_WITH_PASSING_CI = frozenset({Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED})
STATES_WITH_CI = frozenset({ProjectState.SPRINT_ACTIVE, ProjectState.SPRINT_PAUSED, ProjectState.SPRINT_REVIEW})


def watch_ci(run: PrdRun) -> NoAction | None:
    """Read the results of the repository's own CI, which the next commit stores.

    Block the sprint if CI fails on several commits where it should pass.
    """
    session = run.session
    head = read_published_head(session.git, session.target.branch)
    status = session.store.load(head).status if head else None
    if head is None or status is None or status.state not in STATES_WITH_CI:
        return None
    found = read_ci_results(run.context.hub, session, head, status)
    session = run.session = replace(session, host=replace(session.host, ci=tuple(found)))
    reason = describe_ci_failure([each.checks for each in found], me=OUR_CHECKS)
    if not reason or status.state is not ProjectState.SPRINT_ACTIVE:
        return None
    blocked: str | NoAction = ""
    with session.git.lock(f"branch-{session.prd.id}"), suppress(BranchMoved):  # the faster run continues
        blocked = block_sprint_for_ci(session, reason)
    return blocked if isinstance(blocked, NoAction) and blocked.outcome == "blocked" else None


def read_ci_results(hub: GitHubHub, session: Session, head: str, status: Status) -> list[CommitCi]:
    """Return the results of the newest commits on which CI ran, but none from before a person unblocked the project.

    CI runs only on commits that were the head of a push, usually one per story. The results before the newest passing
    commit are irrelevant.
    """
    found: list[CommitCi] = []
    for sha, step in islice(_commits_since(session, head, find_last_unblock_time(status)), MAX_COMMITS_ASKED):
        results = tuple(hub.check_results(sha))
        if has_settled_checks(results, OUR_CHECKS):
            found.append(CommitCi(step.story, step.n, sha, results))
            if len(found) == FAILED_COMMITS_TO_STOP or not list_failing_checks(results, OUR_CHECKS):
                break
    return found


def _commits_since(session: Session, head: str, start: str) -> Iterator[tuple[str, StepRef]]:
    for commit in walk_first_parents(session.git, head):
        step = read_commit_step(commit)
        if commit.at <= start or (step and step.phase is Phase.PLAN):
            return
        if step and step.phase in PHASES_WITH_PASSING_CI:
            yield commit.sha, step


def find_last_unblock_time(status: Status) -> str:
    return max((each.at for each in status.transitions if each.before == ProjectState.BLOCKED), default="")


def run_until_idle(run: PrdRun) -> NoAction:
    """Work until nothing is left to do.

    Comments are read again between phases, so `/tdd pause` takes effect after the current phase.
    """
    stop = ensure_plan(run) or watch_ci(run)
    if stop is not None and run.context.git.branch_head(run.session.target.branch) is None:
        return stop
    watch_comments(run)
    while True:
        refuse_hand_edits(run.session)
        return_to_approval(run)
        late = run.context.deadline.stop_if_passed()
        queued = run.queue.take_next(read_run_status(run))
        if late is not None and (queued is not None or should_continue(run)):
            return late
        if queued is not None:
            stop = execute_queued_command(run, queued, stop)
            stop = replan_after_resume(run, stop)
        elif not should_continue(run):
            if run.activity.not_wanted is None and not is_query_only(run):
                run.activity.changed |= complete_idle_prd(run.session)
            return stop or describe_final_stop(run)
        elif not run.activity.requested and (run.activity.queried or is_query_only(run)):
            following = describe_stop(run.session)
            run.activity.deferred |= following.outcome == "stopped"
            return following
        else:
            before = run.steps
            stop = advance_parallel_stories(run) or run_phases(run, limit_to_run_story(run), 1)
            if run.steps == before:
                return stop


def ensure_plan(run: PrdRun) -> NoAction | None:
    """Plan a PRD that has no plan, or update the plan of a changed PRD."""
    state = run.session.store.load(get_current_head(run.session))
    session = run.session = reload_changed_prd(run.session, state)
    if state.planned and state.prd is not None and state.prd.blob == session.prd.blob:
        if starts_without_approval(run):
            publish_run(run, None)  # the planning run was cut off; publish the plan before anything is built
        return None
    if not run.activity.requested and has_failed_before(run.context, session, run.pull):
        stop = stop_after_failed_plan(session, run.pull)
        run.session = hold_until_replanned(session, stop)
        return stop
    if state.planned and is_query_only(run):
        run.activity.deferred = True
        return None
    late = run.context.deadline.stop_if_passed()
    if late is not None:
        return late
    run.activity.requested = True
    stop = run_phases(run, session, 1)
    return stop if run.steps == 0 else None


def is_query_only(run: PrdRun) -> bool:
    """Return whether the trigger contains only queries. In that case, another run may be planning the current text."""
    trigger_comment = run.queue.trigger_comment
    if trigger_comment is None or run.activity.requested:
        return False
    commands = read_commands(trigger_comment, run.context.hub.me())
    return bool(commands) and all(isinstance(each, ParsedCommand) and each.reads for each in commands)


def replan_after_resume(run: PrdRun, stop: NoAction | None) -> NoAction | None:
    """Replan a PRD that changed during a pause before any state is published."""
    session = run.session
    if not run.activity.changed or session.host.outdated_plan is not None:
        return stop
    state = session.store.load(get_current_head(session))
    session = run.session = reload_changed_prd(session, state)
    if not is_prd_changed(session, state):
        return stop
    before = run.steps
    stopped = run_phases(run, session, 1)
    return stopped if run.steps == before else None


def return_to_approval(run: PrdRun) -> None:
    """Let the project wait for approval again if no approved story is left, so that `/approve` is legal."""
    session = run.session
    if read_run_status(run).state is ProjectState.SPRINT_ACTIVE:
        before = get_current_head(session)
        published = read_published_head(session.git, session.target.branch) or before
        # the next iteration reloads the branch
        with session.git.lock(f"branch-{session.prd.id}"), suppress(BranchMoved):
            prepare_sprint(session, before)
        refuse_lost_steps(session, published)


def should_continue(run: PrdRun) -> bool:
    if run.session.host.outdated_plan is not None or run.activity.not_wanted is not None:
        return False
    return has_run_command(run) and (run.activity.requested or not is_waiting_for_budget(run))


def has_run_command(run: PrdRun) -> bool:
    return read_run_status(run).order == "run" or starts_without_approval(run)


def is_waiting_for_budget(run: PrdRun) -> bool:
    """Return whether the last run stopped because of its budget. A scheduled run must not use up the budget again."""
    if run.pull is None or run.steps:
        return False
    marker = make_marker("waiting", run.session.prd.id, f"budget/{get_current_head(run.session)}")
    return run.context.hub.find_comment(run.pull.number, marker) is not None


def starts_without_approval(run: PrdRun) -> bool:
    """Return whether the plan needs no approval, so that the first phase can start."""
    return run.session.constraints.approval == "none" and read_run_status(run).state is ProjectState.BACKLOG_READY


def limit_to_run_story(run: PrdRun) -> Session:
    """Restrict the session to the story of the run command. A blocked story is not tried again."""
    return replace(
        run.session,
        target=replace(run.session.target, story=get_run_story(read_run_status(run), run.session.constraints.approval)),
    )


def describe_final_stop(run: PrdRun) -> NoAction:
    following = describe_stop(run.session)
    if following.outcome == "stopped" and read_run_status(run).order == "run" and not run.activity.requested:
        return NoAction("budget", "the budget of the last run is used up", "/tdd run")
    return following


def read_run_status(run: PrdRun) -> Status:
    return run.session.store.load(get_current_head(run.session)).status


def execute_queued_command(run: PrdRun, queued: QueuedCommand, stop: NoAction | None) -> NoAction | None:
    """Execute one command. Changes are shown in the status comment; queries and refusals get a reply."""
    before = get_current_head(run.session)
    published = read_published_head(run.session.git, run.session.target.branch) or before
    try:
        if queued.request.command.reads:
            run.activity.queried = True
        else:
            run.activity.requested, run.activity.not_wanted = True, None
            retry_failed_plan(run)
        return apply_queued_command(run, queued, stop)
    except BranchMoved:
        refuse_lost_steps(run.session, published)
        run.session.services.journal.move_entries(before, get_current_head(run.session))
        if isinstance(queued.request.settles, ExecutedOrder):
            run.session.log.branch_writes.pending = None  # only the commit of the decision may record an order
        run.queue.requeue(queued)  # another run was faster: reload the branch and check the comment again
        refuse_hand_edits(run.session, moved=True)
        return stop
    except (Stopped, HubProblem, StateProblem, StepsLost):
        raise  # not caused by the command, so later commands would fail too
    except Prd2prError as problem:
        return reply_command_failed(run, queued, problem)


def retry_failed_plan(run: PrdRun) -> None:
    """Plan again after a failure, because a person gave a command."""
    held = run.session.host.outdated_plan
    if held is None or held.blob == run.session.prd.blob:  # the new text is unknown
        return
    run.session = replace(run.session, host=replace(run.session.host, outdated_plan=None))
    try:
        run_phases(run, run.session, 1)
    except Prd2prError:
        run.session = replace(run.session, host=replace(run.session.host, outdated_plan=held))
        raise


def reply_command_failed(run: PrdRun, queued: QueuedCommand, problem: Prd2prError) -> NoAction:
    """Reply with the error. The command is then done, so it neither blocks others nor is retried."""
    run.session.log.branch_writes.pending = None
    run.activity.error = problem
    run.context.progress.say("note", text=" ".join(problem.lines()))
    run.queue.reply(queued, ProblemReply.of(queued.request.command.shown, problem), commit_url=run.context.commit_url)
    return NoAction("stopped", problem.what, problem.remedy)


def apply_queued_command(run: PrdRun, queued: QueuedCommand, stop: NoAction | None) -> NoAction | None:
    before = get_current_head(run.session)
    resolved = find_active_stories(run).resolve(queued.request.command)
    if isinstance(resolved, NoAction):
        reply_not_executed(run, queued, resolved)
        return resolved
    result = execute_on_github(run.context, run.session, replace(queued.request, command=resolved))
    if result.answer is not None and not isinstance(result.answer, CommandDone):
        run.queue.reply(queued, result.answer, commit_url=run.context.commit_url)
        run.activity.refusal = format_refusal_reason(result.answer)
    if result.steps_wanted == 0 or result.run:
        if result.head == before:
            return stop
        run.activity.changed = True
        publish_run(run, None)
        return None
    stop = run_phases(
        run, replace(run.session, target=replace(run.session.target, story=result.story)), result.steps_wanted
    )
    if stop.outcome == "budget" or get_current_head(run.session) == result.head:
        reply_not_executed(run, queued, stop)
    return stop


def reply_not_executed(run: PrdRun, queued: QueuedCommand, stop: NoAction) -> None:
    """Reply to a permitted command that had no effect, so that no later run spends money on it."""
    run.session.log.branch_writes.pending = None
    shown = queued.request.command.shown
    reply = NotNow.of(shown, stop)
    if stop.outcome == "budget":
        remedy = stop.next.replace(f"`{RUN_COMMAND}`", f"`{shown}`")
        run.queue.reply(queued, replace(reply, next=NextStep(remedy)))
        return
    run.queue.reply(queued, reply)
    run.activity.refusal = reply.why


def run_phases(run: PrdRun, session: Session, steps: int | None) -> NoAction:
    started = session.clock.monotonic()
    try:
        driven = run_prd(session, steps)
    except SpendLimit as limit:
        report_if_plan_failed(run, limit)
        return stop_for_spend_limit(run, limit)
    except Prd2prError as problem:
        report_if_plan_failed(run, problem)
        raise
    run.context.deadline.record_phase(session.clock.monotonic() - started)
    run.steps += driven.steps
    run.session = replace(
        run.session,
        prd=driven.session.prd,
        target=replace(run.session.target, base_commit=driven.session.target.base_commit),
    )
    if driven.steps:
        publish_run(run, None if starts_without_approval(run) else driven.stop)
    return driven.stop


def report_if_plan_failed(run: PrdRun, problem: Prd2prError) -> None:
    if is_failed_plan(run.session, problem):
        run.activity.problem_reported = report_failed_plan(run.context, run.session, run.pull, problem)
