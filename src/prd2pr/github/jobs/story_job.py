"""The job of one story. It works on the story's own branch and pushes each phase there.

The integrating job publishes the results. The PRD's branch is fetched again between phases, so that a pause or a
changed plan takes effect. The planning job selects the story; the branches show whether anything is left to do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.domain.machines.next_action import find_next_story
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import SETTLED
from prd2pr.errors import Prd2prError, SpendLimit, Stopped
from prd2pr.github.branch_writer import sync_branch, sync_prd_branch
from prd2pr.github.context import GitHubContext
from prd2pr.github.outcome import PrdOutcome, RunStatus, map_stop_to_status
from prd2pr.github.wave import StoryJobInput, apply_share, make_run_record_id
from prd2pr.prd.issue_ids import parse_issue_number
from prd2pr.state.commit_message import read_step
from prd2pr.state.store import StateStore
from prd2pr.workflow.next_action import load_action_context
from prd2pr.workflow.parallel.story_branches import StoryAttempt, make_story_session, work_on_story
from prd2pr.workflow.run import get_current_head
from prd2pr.workflow.run_end import has_started, record_spending
from prd2pr.workflow.session import Session


@dataclass
class StoryRun:
    context: GitHubContext
    session: Session  # for the PRD's branch
    own: Session  # for the story's branch
    story: str
    steps: int = 0


def run_story_job(context: GitHubContext, story_input: StoryJobInput) -> PrdOutcome:
    run = open_story_run(context, story_input)
    if isinstance(run, PrdOutcome):
        return run
    try:
        stop = run_story_until_idle(run)
    except SpendLimit as limit:
        stop = NoAction("budget", limit.what, limit.remedy)
    except Stopped:
        record_story_spend(run)
        raise
    except Prd2prError as problem:
        record_story_spend(run)
        context.progress.say("note", text=" ".join(problem.lines()))
        return build_story_outcome(run, "error", problem.what, problem.remedy)
    record_story_spend(run, out_of_budget=stop.outcome == "budget")
    return build_story_outcome(run, map_stop_to_status(stop), stop.reason, stop.next)


def open_story_run(context: GitHubContext, story_input: StoryJobInput) -> StoryRun | PrdOutcome:
    """Load both branches from GitHub, or return an outcome if nothing is left to do."""
    branch = context.branch_of(story_input.prd)
    head = sync_prd_branch(context.git, context.remote, branch, story_input.prd).head
    state = StateStore(context.git, story_input.prd).load(head) if head else None
    if state is None or state.prd is None:
        return PrdOutcome("nothing-to-do", f"{branch} contains no plan", prd=story_input.prd, branch=branch)
    session = context.open_session(state.prd, parse_issue_number(story_input.prd))
    session = replace(
        session,
        constraints=replace(session.constraints, limits=apply_share(session.constraints.limits, story_input.share)),
    )
    own = make_story_session(session, story_input.story)
    own.log.id = make_run_record_id(own.log.id, context.job.run_number)
    there = sync_branch(context.git, context.remote, own.target.branch)
    run = StoryRun(context, session, own, story_input.story)
    story = next((each for each in state.backlog.stories if each.id == story_input.story), None)
    if story is None or story.status in SETTLED:
        status = story.status if story else "no longer in the plan"
        return build_story_outcome(run, "nothing-to-do", f"{story_input.story} is {status}")
    waits = find_next_story(load_action_context(session, state, story_input.story)) if there is None else None
    return build_story_outcome(run, "nothing-to-do", waits.reason, waits.next) if isinstance(waits, NoAction) else run


def run_story_until_idle(run: StoryRun) -> NoAction:
    """Run phases until the story has to stop. Each phase is pushed, so nothing is lost if the job ends."""
    context = run.context
    while True:
        late = context.deadline.stop_if_passed()
        if late is not None:
            return late
        if sync_prd_branch(context.git, context.remote, run.session.target.branch, run.session.prd.id).head is None:
            return NoAction("stopped", f"{run.session.target.branch} was deleted in the meantime")
        started = context.clock.monotonic()
        worked = work_on_story(run.own, run.story, max_steps=1)
        context.deadline.record_phase(context.clock.monotonic() - started)
        run.steps += worked.steps
        if not worked.steps:
            return stop_after_work(worked)


def stop_after_work(worked: StoryAttempt) -> NoAction:
    return NoAction("done", f"{worked.story} is ready to be integrated") if worked.ready else worked.stop


def record_story_spend(run: StoryRun, *, out_of_budget: bool = False) -> None:
    """Record spending that is not committed yet on the story's branch or, before the first step, on the PRD's branch.

    The machine is discarded after the job, and a story's branch may contain only steps of that story.
    """
    own = run.own
    if has_started(own.store.load(get_current_head(own)), run.story):
        record_spending(own, out_of_budget=out_of_budget)
        return
    there = sync_prd_branch(run.context.git, run.context.remote, run.session.target.branch, run.session.prd.id).head
    if there is not None:
        own.services.journal.move_entries(get_current_head(own), there)
        record_spending(
            replace(run.session, services=replace(run.session.services, journal=own.services.journal), log=own.log),
            out_of_budget=out_of_budget,
        )


def build_story_outcome(run: StoryRun, how: RunStatus, reason: str, following: str = "") -> PrdOutcome:
    own, git = run.own, run.own.git
    head = git.branch_head(own.target.branch)
    step = read_step(git.commit_info(head).trailers) if head and run.steps else None
    return PrdOutcome(
        how,
        reason,
        following,
        prd=own.prd.id,
        branch=own.target.branch,
        story=run.story,
        phase=step.phase.value if step else "",
        steps=run.steps,
        usd=own.log.spend.usd,
        tokens=own.log.spend.tokens,
    )
