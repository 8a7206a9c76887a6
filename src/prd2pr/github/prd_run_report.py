"""Publish the state of a PRD during and at the end of a run, and build the outcome of the run."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from prd2pr.domain.machines.command_aliases import to_slash_commands
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Phase
from prd2pr.errors import Prd2prError, SpendLimit, Stopped, TrackerMissing
from prd2pr.github.messages.markers import make_marker, read_sha_marker
from prd2pr.github.outcome import PrdOutcome, RunStatus, map_stop_to_status
from prd2pr.github.publish.context import PublishRequest
from prd2pr.github.publish.proof import REVIEW_STEP, find_refuted_claims
from prd2pr.github.publish.publisher import build_step_summary, publish, publish_cancellation
from prd2pr.state.commit_message import read_step
from prd2pr.state.work_ref import read_published_head
from prd2pr.verification.commit_check import BranchRefutation
from prd2pr.views.pull_request.next_step import format_limit_remedy
from prd2pr.workflow.commits.base_merges import list_passing_merges
from prd2pr.workflow.run import get_current_head

if TYPE_CHECKING:
    from prd2pr.github.prd_run_context import PrdRun

NO_ISSUE = 0


RUN_COMMAND = "/tdd run"


def stop_for_spend_limit(run: PrdRun, limit: SpendLimit) -> NoAction:
    """Return the stop for a spend limit, or raise an error if there is no pull request yet to report it on."""
    if run.context.git.branch_head(run.session.target.branch) is None:
        issue, prd = run.session.target.issue, run.session.prd
        label = run.context.config.labels.trigger
        relabel = f"remove the label `{label}` from #{issue} and add it again"
        retry = relabel if issue else f"run the workflow with `prd` set to `{prd.id}`"
        raise SpendLimit(
            limit.what, where=prd.path, remedy=f"{format_limit_remedy(limit.remedy)}, then {retry}."
        ) from limit
    return NoAction("budget", limit.what, to_slash_commands(limit.remedy) or RUN_COMMAND)


def publish_run(run: PrdRun, stop: NoAction | None, problem: Prd2prError | None = None) -> None:
    """Publish the state of the branch. Does nothing without a plan."""
    context, session = run.context, run.session
    head = context.git.branch_head(session.target.branch)
    if head is None:
        return
    run.links = publish(context.hub, build_publish_request(run, stop, problem))
    run.pull_opened = run.pull_opened or (run.pull is None and run.links.pull is not None)
    run.pull = run.links.pull or run.pull
    watch_comments(run)


def publish_cancelled_run(run: PrdRun, problem: Stopped) -> None:
    """Update only the status comment, because the job will be killed within seconds."""
    try:
        if run.context.git.branch_head(run.session.target.branch) is not None:
            publish_cancellation(run.context.hub, build_publish_request(run, None, problem), run.links.tracking)
    except Prd2prError as another:
        run.context.progress.say("note", text=f"the cancellation could not be published: {another.what}")


def build_publish_request(run: PrdRun, stop: NoAction | None, problem: Prd2prError | None = None) -> PublishRequest:
    return PublishRequest(
        run.session,
        stop,
        problem,
        run.context.commit_url,
        run.context.job.run_url,
        lambda head: prove_once(run, head),
        problem_reported=run.activity.problem_reported,
        unrequested=not (run.activity.requested or run.steps or run.activity.changed),
        passing_merges=lambda head: list_passing_base_merges(run, head),
    )


def prove_once(run: PrdRun, head: str) -> BranchRefutation | None:
    """Verify a head once per run, because this runs all tests of the branch."""
    if head not in run.proofs.refutations:
        run.proofs.refutations[head] = find_refuted_claims(run.session, head)
    return run.proofs.refutations[head]


def list_passing_base_merges(run: PrdRun, head: str) -> frozenset[str]:
    if head not in run.proofs.passing_merges:
        run.proofs.passing_merges[head] = list_passing_merges(run.session, head)
    return run.proofs.passing_merges[head]


def is_proved_already(run: PrdRun) -> bool:
    """Return whether an earlier run proved and published this head on this base, and nothing was requested since."""
    if run.pull is None or run.activity.requested or run.activity.queried or run.steps or run.activity.changed:
        return False
    found = run.context.hub.find_comment(run.pull.number, make_marker("status", run.session.prd.id))
    proved = make_marker("proved", get_current_head(run.session), run.session.target.base_commit)
    # A killed run may have published while its last commits were on the work ref, and they are on the branch now.
    published = read_published_head(run.session.git, run.session.target.branch)
    return found is not None and proved in found.body and read_sha_marker("head", found.body) == (published or "")


def write_run_summary(run: PrdRun, stop: NoAction) -> None:
    if run.context.git.branch_head(run.session.target.branch) is not None:
        run.context.job.write_summary(build_step_summary(build_publish_request(run, stop), run.links, run.context.hub))


def build_run_outcome(run: PrdRun, stop: NoAction) -> PrdOutcome:
    session = run.session
    status, reason, next_step = classify_run_end(run, stop)
    head = session.git.branch_head(session.target.branch)
    last = head and (f"{head}^" if session.store.load(head).is_complete else head)  # before the PRD was completed
    step = read_step(session.git.commit_info(last).trailers) if last else None
    if step is not None and (step.phase is Phase.NOTE or not run.steps):
        step = None  # a decision is not a phase, and the step of an earlier run does not count
    spend = session.log.spend
    return PrdOutcome(
        status,
        reason,
        next_step,
        prd=session.prd.id,
        branch=session.target.branch,
        pull=run.pull.url if run.pull else "",
        story=step.story if step and step.phase is not Phase.PLAN else "",
        phase=step.phase.value if step else "",
        steps=run.steps,
        usd=spend.usd,
        tokens=spend.tokens,
        wave=run.parallel.wave if run.context.job.handoff == "to jobs" else None,
        replied=status == "refused",
        is_news=run.activity.requested or status != "blocked" or not run.activity.blocked_before,
    )


def classify_run_end(run: PrdRun, stop: NoAction) -> tuple[RunStatus, str, str]:
    """Return status, reason and next step. A run that did none of the requested work is not a success."""
    status, refused = map_stop_to_status(stop), run.activity.refusal or run.queue.last_refusal
    head = run.session.git.branch_head(run.session.target.branch)
    refuted = run.proofs.refutations.get(head) if head else None
    unpublished = [note for note in run.links.notes if note.code != TrackerMissing.code]
    if unpublished:  # the work is pushed, but not all of it is visible to people
        note = unpublished[0]
        return "error", f"{note.command} could not be published: {note.what}", note.remedy
    if refuted is not None:
        return "blocked", refuted.sentence(), REVIEW_STEP.command
    if run.activity.error is not None:
        return "error", run.activity.error.what, run.activity.error.remedy
    if refused and not run.steps and not run.activity.changed:
        return "refused", refused, stop.next
    if not run.activity.requested and not run.steps and not run.pull_opened:
        known = status in ("waiting", "done", "budget") or (status == "blocked" and run.activity.blocked_before)
        status = "nothing-to-do" if known else status
    return status, stop.reason, stop.next


def watch_comments(run: PrdRun) -> None:
    """Watch all issues and pull requests of this PRD for commands."""
    if run.tracking is None and run.session.target.issue is None and run.session.config.tracker.kind != "none":
        run.tracking = NO_ISSUE
        with suppress(TrackerMissing):  # already reported by the attempt to publish it
            issue = run.links.tracking or run.context.hub.find_issue(make_marker("tracking", run.session.prd.id))
            run.tracking = issue.number if issue else NO_ISSUE
    elif run.links.tracking is not None:
        run.tracking = run.links.tracking.number
    trigger_comment = run.queue.trigger_comment
    run.queue.order_queue.pull = run.pull.number if run.pull else None
    run.queue.watch_reviews(run.pull.number if run.pull else None)
    run.queue.watch(
        run.pull.number if run.pull else None,
        run.session.target.issue,
        run.tracking or None,
        trigger_comment.number if trigger_comment else None,
    )
