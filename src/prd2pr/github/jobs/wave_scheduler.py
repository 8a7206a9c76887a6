"""Schedule parallel stories on GitHub, for the planning and the integrating job.

The story branches contain the work of other jobs. Finished stories are integrated into the PRD's branch one at a time.
Unfinished stories are assigned to new jobs, together with others that can start; these jobs form a wave. Any later run
can therefore replace a lost or cancelled job, and starting a wave twice does no work twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prd2pr.domain.costs.budget import Budget, CallEstimate, check_budget
from prd2pr.domain.machines.next_action import (
    ActionContext,
    PhaseAction,
    check_human_stop,
    find_next_story,
    find_story_action,
)
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import SETTLED, Phase, Spend, Story
from prd2pr.domain.scheduling import find_startable_stories
from prd2pr.errors import BranchMoved, SpendLimit, StepsRewritten
from prd2pr.github.branch_writer import delete_remote_branch, sync_branches
from prd2pr.github.prd_run_report import publish_run, stop_for_spend_limit
from prd2pr.github.wave import (
    Share,
    Wave,
    compute_total_spend,
    find_latest_spend_by_run,
    is_record_of_run,
    split_budget,
)
from prd2pr.planning.decisions.spending import is_stopped_for_budget
from prd2pr.proof.rewritten_steps import find_rewritten_since
from prd2pr.state.layout import ID
from prd2pr.state.store import BranchState
from prd2pr.state.work_ref import read_published_head
from prd2pr.workflow.next_action import load_action_context, load_run_action_context
from prd2pr.workflow.parallel.restart import count_restarts
from prd2pr.workflow.parallel.story_branches import IntegrationResult, find_trunk_stop, integrate_story, work_on_story
from prd2pr.workflow.parallel.story_session import (
    format_story_branch_prefix,
    make_story_branch_name,
    make_story_session,
)
from prd2pr.workflow.run import describe_stop, get_current_head, refuse_lost_steps
from prd2pr.workflow.session import Session
from prd2pr.workflow.sprint_start import prepare_sprint

if TYPE_CHECKING:
    from prd2pr.github.commands.parser import ParsedCommand
    from prd2pr.github.prd_run_context import PrdRun

NO_PROGRESS = "no story job of this run made progress"
CHECK_JOBS = "Check the jobs of the run; `/tdd run` tries again."


# While stories run in parallel, each has its own branch, which may contain only steps of that story. Commands about a
# single story are therefore refused. Commands about all stories take effect between two phases.

CYCLE_PREFIX = "tdd "
PROJECT_WIDE_COMMANDS = frozenset({"tdd run", "tdd halt_all", "tdd reset"})
PAUSE, RESUME, HALT_ALL = "tdd pause", "tdd resume", "tdd halt_all"


@dataclass(frozen=True)
class ActiveStories:
    """The stories that currently have their own branch."""

    stories: tuple[str, ...] = ()

    def resolve(self, command: ParsedCommand) -> ParsedCommand | NoAction:
        """Return the command to execute instead, or the reason why it is refused."""
        if not self.stories or command.reads or not command.name.startswith(CYCLE_PREFIX) or self._elsewhere(command):
            return command
        if command.name == PAUSE and not command.stories:
            return replace(command, name=HALT_ALL)
        if command.name in PROJECT_WIDE_COMMANDS or (command.name == RESUME and not command.stories):
            return command
        names = ", ".join(f"`{name}`" for name in self.stories)
        reason = f"{names} {'is' if len(self.stories) == 1 else 'are'} worked on in parallel, by separate jobs"
        return NoAction("waiting", f"{reason}. `/tdd pause` stops them after their current phase", "/tdd run")

    def _elsewhere(self, command: ParsedCommand) -> bool:
        return bool(command.stories) and not set(command.stories).intersection(self.stories)


@dataclass(frozen=True)
class StartedStory:
    """A story with its own branch, in its state on GitHub."""

    story: str
    head: str
    session: Session
    state: BranchState
    plan_row: Story | None  # the story in the plan on the PRD's branch

    @property
    def is_settled(self) -> bool:
        return self.plan_row is None or self.plan_row.status in SETTLED

    @property
    def was_restarted(self) -> bool:
        return count_restarts(self.state.cycle(self.story)) > 0

    @property
    def has_ended(self) -> bool:
        """Whether the story is ready to be integrated, blocked, or superseded by a decision."""
        found = self.action_context.records.find_story(self.story)
        if found is None or found.status == "blocked" or self.has_new_decision():
            return True
        action = find_story_action(self.action_context, found)
        return not isinstance(action, NoAction) and action.phase is Phase.INTEGRATED

    def has_new_decision(self) -> bool:
        """Return whether the PRD's branch has a decision about the story that was made after it started."""
        stopped = find_trunk_stop(self.session, self.story, self.head)
        return stopped is not None and stopped.outcome == "stopped"

    @property
    def action_context(self) -> ActionContext:
        return load_action_context(self.session, self.state, self.story)

    def find_stop(self) -> NoAction | None:
        """Return why the story does not continue: a tripped breaker, an alarm or a pause."""
        found = self.action_context.records.find_story(self.story)
        action = find_story_action(self.action_context, found) if found else None
        return action if isinstance(action, NoAction) else None


def list_started_stories(run: PrdRun) -> tuple[StartedStory, ...]:
    """List the stories with their own branch, in the order of the plan."""
    context, session = run.context, run.session
    prefix = format_story_branch_prefix(session)
    heads = sync_branches(context.git, context.remote, prefix)
    stories = session.store.load(get_current_head(session)).backlog.stories
    rows = {story.id: story for story in stories}
    names = {branch.removeprefix(prefix): head for branch, head in heads.items()}
    order = [name for name in (*rows, *sorted(set(names) - set(rows))) if name in names and ID.fullmatch(name)]
    return tuple(load_started_story(session, name, names[name], rows.get(name)) for name in order)


def load_started_story(session: Session, story: str, head: str, row: Story | None) -> StartedStory:
    own = replace(make_story_session(session, story), log=session.log)  # all work of this run goes into one record
    return StartedStory(story, head, own, own.store.load(head), row)


def find_active_stories(run: PrdRun) -> ActiveStories:
    """Find the stories that have a branch, which is sufficient to handle commands."""
    prefix = format_story_branch_prefix(run.session)
    names = run.context.remote.branches(prefix) if run.parallel.may_exist else ()
    run.parallel.may_exist = bool(names or run.context.job.handoff)
    return ActiveStories(tuple(sorted(name.removeprefix(prefix) for name in names)))


# --- integration ------------------------------------------------------------------------------------------------------


def integrate_one(run: PrdRun, stories: tuple[StartedStory, ...]) -> IntegrationResult | None:
    """Integrate the first finished story into the PRD's branch, or return None if there is none.

    Stories that the plan already counts as finished come first, then those that were restarted after a conflict.
    """
    for each in sorted(stories, key=lambda each: (not each.is_settled, not each.was_restarted)):
        if each.story in run.parallel.set_aside or not (each.is_settled or each.has_ended):
            continue
        result = integrate_story(run.session, each.story, each.session)
        clean_up_branch(run, each, result)
        if result.outcome != "waiting":
            return result
        run.parallel.set_aside.add(each.story)
        run.context.progress.say("note", text=f"{each.story} is not integrated yet: {result.reason}")
    return None


def clean_up_branch(run: PrdRun, each: StartedStory, result: IntegrationResult) -> None:
    """Delete the story's branch on GitHub if it was deleted locally. Unused work is kept under a ref."""
    context, branch = run.context, make_story_branch_name(run.session, each.story)
    if result.outcome == "again" or (result.outcome == "over" and result.reason):
        context.remote.push_ref(f"refs/prd2pr/aside/{run.session.prd.id}/{each.story}/{each.head[:12]}", each.head)
    if context.git.branch_head(branch) is None and not delete_remote_branch(context.remote, branch, each.head):
        context.progress.say("note", text=f"{branch} could not be deleted; it is no longer needed")


def refuse_rewritten_branches(run: PrdRun, stories: tuple[StartedStory, ...]) -> None:
    """Raise an error if a story branch contains rewritten steps, before anything is merged or built on them.

    Branches of finished stories are not checked, because they are discarded anyway.
    """
    git, trunk = run.context.git, get_current_head(run.session)
    for each in stories:
        left = git.merge_base(trunk, each.head)
        false = None if each.is_settled or left is None else find_rewritten_since(git, left, each.head)
        if false is not None:
            branch = make_story_branch_name(run.session, each.story)
            raise StepsRewritten(
                f"nothing is built on {branch}: {false.sentence()}",
                remedy=f"Push {branch} as it was before, or delete it: {each.story} then starts again.",
            )


# --- the next wave ----------------------------------------------------------------------------------------------------


def plan_next_wave(run: PrdRun, context: ActionContext, stories: tuple[StartedStory, ...]) -> Wave | NoAction | None:
    """Return the next wave of stories for other jobs, or None if nothing can run in parallel and this job continues."""
    session = run.session
    stopped = find_wave_stop(run, stories)
    if stopped is not None:
        return stopped
    head = get_current_head(session)
    going = {each.story: each.head for each in keep_one_restarted(stories)}
    most = session.config.story_jobs
    started = frozenset(each.story for each in stories)
    new = () if context.only_story else select_new_stories(context, started, most - len(going))
    wanted = dict([*going.items(), *((name, head) for name in new)][:most])
    if not going and len(wanted) < 2:
        return None
    at_work = run.context.active_stories()
    mine = {story: at for story, at in wanted.items() if story not in at_work}
    if not mine:
        return NoAction("nothing", f"another run is working on {', '.join(wanted)}")
    return Wave(session.prd.id, mine, compute_budget_share(run, session.store.load(head), stories, len(mine)))


def keep_one_restarted(stories: tuple[StartedStory, ...]) -> tuple[StartedStory, ...]:
    """Keep at most one restarted story per wave, because two could conflict again."""
    waiting = [each for each in stories if each.was_restarted][1:]
    return tuple(each for each in stories if each not in waiting)


def select_new_stories(context: ActionContext, going: frozenset[str], most: int) -> tuple[str, ...]:
    """Return stories that can start in parallel with those in progress."""
    ready = (
        each
        for each in find_startable_stories(context, going)
        if isinstance(find_story_action(context, each), PhaseAction)
    )
    return tuple(each.id for each in ready)[: max(0, most)]


def find_wave_stop(run: PrdRun, stories: tuple[StartedStory, ...]) -> NoAction | None:
    """Return why no new wave starts: a failure that would affect every job, an exhausted budget, or no progress."""
    for each in stories:
        cycle = each.state.cycle(each.story)
        if run.context.job.previous_wave is not None and cycle is not None and is_stopped_for_budget(cycle):
            return NoAction("budget", f"{each.story} used up its share of this run's budget")
        held = each.find_stop()
        if held is not None and held.outcome not in ("paused", "done"):
            return held
    before = run.context.job.previous_wave
    if before is None or run.steps or not before.stories:
        return None
    now = {each.story: each.head for each in stories}
    backlog = run.session.store.load(get_current_head(run.session)).backlog
    settled = {story.id for story in backlog.stories if story.status in SETTLED}  # finished by another run
    moved = any(story in settled or now.get(story, at) != at for story, at in before.stories.items())
    return None if moved else NoAction("stopped", NO_PROGRESS, CHECK_JOBS)


# --- money ------------------------------------------------------------------------------------------------------------


def compute_budget_share(run: PrdRun, state: BranchState, stories: tuple[StartedStory, ...], jobs: int) -> Share:
    """Return the budget of each job. Raise `SpendLimit` if nothing is left, before the jobs are started."""
    session, number = run.session, run.context.job.run_number
    records = find_latest_spend_by_run(list_spend_records(state, *(each.state for each in stories)))
    records[session.log.id] = session.log.spend  # the current value, not yet committed
    spent_run = compute_total_spend({name: spend for name, spend in records.items() if is_record_of_run(name, number)})
    spent_prd = compute_total_spend(records)
    budget = Budget(session.constraints.limits, spent_run=spent_run, spent_prd=spent_prd, started=session.log.started)
    reached = check_budget(budget, session.clock.monotonic(), CallEstimate(model=""))
    if reached is not None:
        raise SpendLimit(reached.what, where=reached.limit, remedy=reached.remedy)
    return split_budget(session.constraints.limits, spent_run, spent_prd, jobs)


def list_spend_records(*states: BranchState) -> Iterator[tuple[str, Spend]]:
    for state in states:
        for name in state.run_ids():
            found = state.run(name)
            if found is not None:
                yield name, found.spend


# --- one iteration ----------------------------------------------------------------------------------------------------


def advance_parallel_stories(run: PrdRun) -> NoAction | None:
    """Integrate a story, or start jobs for parallel stories.

    Return None if this job runs the next phase on the PRD's branch.
    """
    before, started = run.steps, run.session.clock.monotonic()
    try:
        stop = integrate_or_hand_off(run)
    except SpendLimit as limit:
        return stop_for_spend_limit(run, limit)
    if run.steps == before:
        return stop
    run.context.deadline.record_phase(run.session.clock.monotonic() - started)
    publish_run(run, None)
    return describe_stop(run.session)


def integrate_or_hand_off(run: PrdRun) -> NoAction | None:
    session = run.session
    hands_on = bool(run.context.job.handoff) and session.config.story_jobs > 1
    if not (hands_on or run.parallel.may_exist):
        return None
    stories = list_started_stories(run)
    run.parallel.may_exist = bool(stories or hands_on)
    if not (stories or hands_on):
        return None
    waits = start_due_sprint(session) or find_project_stop(session)
    if waits is not None:
        return waits
    refuse_rewritten_branches(run, stories)
    if integrate_one(run, stories) is not None:
        run.steps += 1
        return None
    return continue_stories(run, stories, hands_on=hands_on)


def continue_stories(run: PrdRun, stories: tuple[StartedStory, ...], *, hands_on: bool) -> NoAction | None:
    session = run.session
    context = load_run_action_context(session, session.store.load(get_current_head(session)))
    following = find_next_story(context)
    if isinstance(following, NoAction):
        return following
    stories = tuple(
        each for each in stories if each.story not in run.parallel.set_aside and context.only_story in ("", each.story)
    )
    if context.only_story and not stories:
        return None
    return hand_off(run, context, stories) if hands_on else work_here(run, stories)


def find_project_stop(session: Session) -> NoAction | None:
    """Return the reason if the project is paused or its PRD is missing. In that case, nothing is integrated either."""
    context = load_action_context(session, session.store.load(get_current_head(session)))
    return context.prd_stop or check_human_stop(context)


def hand_off(run: PrdRun, context: ActionContext, stories: tuple[StartedStory, ...]) -> NoAction | None:
    wave = plan_next_wave(run, context, stories)
    if not isinstance(wave, Wave):
        return wave
    run.parallel.wave = wave
    return NoAction("handed-on", f"other jobs work on {wave.sentence()}")


def work_here(run: PrdRun, stories: tuple[StartedStory, ...]) -> NoAction | None:
    """Continue started stories on their own branches in this job, if there are no parallel jobs."""
    for each in stories:
        worked = work_on_story(each.session, each.story, max_steps=1)
        run.steps += worked.steps
        if worked.steps or worked.stop.outcome not in ("paused", "done"):
            return worked.stop
    return None


def start_due_sprint(session: Session) -> NoAction | None:
    """Start the sprint on the PRD's branch, because story branches may contain only steps of their story."""
    before = get_current_head(session)
    published = read_published_head(session.git, session.target.branch) or before
    try:
        with session.git.lock(f"branch-{session.prd.id}"):
            ready = prepare_sprint(session, before)
    except BranchMoved:
        refuse_lost_steps(session, published)
        return None
    return ready if isinstance(ready, NoAction) else None
