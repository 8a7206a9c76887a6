"""Work on several stories of one PRD in parallel, with workers on one machine.

The scheduler decides which stories may start, assigns stories left over from earlier runs, and reports progress. A
worker is a process that works on one story after another and integrates each under the PRD's lock. The scheduler's own
process does the planning, like `run_prd`. It also works on stories with commits by people, and on a story that is the
only ready one.
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from prd2pr.domain.machines.next_action import ActionContext, find_next_story, find_story_action
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import SETTLED, Spend, Story
from prd2pr.domain.scheduling import find_first_in_plan, find_startable_stories
from prd2pr.errors import BranchMoved, Prd2prError
from prd2pr.state.store import BranchState, StateStore
from prd2pr.workflow.breakers import read_current_circuits
from prd2pr.workflow.human_commits import find_unproven_work
from prd2pr.workflow.ledger import LedgerStart, SharedLedger
from prd2pr.workflow.next_action import load_action_context
from prd2pr.workflow.parallel.restart import count_restarts
from prd2pr.workflow.parallel.story_branches import (
    finish_left_over_stories,
    integrate_story,
    list_story_branches,
    make_story_branch_name,
    make_story_session,
    work_on_story,
)
from prd2pr.workflow.planning.replan import reload_changed_prd
from prd2pr.workflow.regression_check import check_regressions
from prd2pr.workflow.roles.role_runner import clean_up_leftovers
from prd2pr.workflow.run import (
    RunOutcome,
    describe_stop,
    get_current_head,
    load_planned_state,
    load_position,
    make_outcome,
    move_journal_to_head,
    refuse_checked_out,
    report_resumed,
    run_prd,
    sum_prd_seconds,
)
from prd2pr.workflow.session import Session, get_stories_directory
from prd2pr.workflow.spending import JournalEntry, list_unrecorded, sum_spend

MAX_DEATHS = 2  # consecutive workers that may be killed on one story

StoryOutcome = Literal["integrated", "blocked", "again", "over", "waiting", "stopped", "trouble", "died"]


@dataclass(frozen=True)
class StoryResult:
    story: str
    outcome: StoryOutcome
    worker: int
    stop: NoAction | None = None
    steps: int = 0
    spend: Spend = field(default_factory=Spend)
    lines: tuple[dict[str, Any], ...] = ()
    problem: Prd2prError | None = None


class StoryWorkers(Protocol):
    """A pool with a limited number of workers."""

    @property
    def free(self) -> int: ...

    def start(self, story: str) -> None: ...

    def wait(self) -> StoryResult:
        """Wait until one worker has finished, and forward the workers' progress reports meanwhile."""
        ...


# --- in a worker ------------------------------------------------------------------------------------------------------


def run_story(session: Session, story: str, worker: int) -> StoryResult:
    """Work on one story and integrate it. The result `again` means that it could not be merged and restarts."""
    own, steps = replace(session, target=replace(session.target, integrates=True)), 0
    try:
        attempt = work_on_story(own, story)
        own, steps = attempt.session, attempt.steps
        if not attempt.ready:
            outcome: StoryOutcome = "blocked" if attempt.stop.outcome == "blocked" else "stopped"
            return _add_spend(own, StoryResult(story, outcome, worker, attempt.stop, steps))
        integration = integrate_story(session, story, own, attempt.note)
        stop = NoAction("blocked" if integration.outcome == "blocked" else "waiting", integration.reason)
        steps += integration.outcome == "integrated"
        return _add_spend(
            own, StoryResult(story, integration.outcome, worker, stop if integration.reason else None, steps)
        )
    except Prd2prError as error:
        return _add_spend(own, StoryResult(story, "trouble", worker, steps=steps, problem=error))


def _add_spend(own: Session, result: StoryResult) -> StoryResult:
    return replace(result, spend=own.log.spend, lines=tuple(own.log.lines)) if own.target.prd_branch else result


def open_shared_ledger(session: Session) -> SharedLedger:
    """Create a run's ledger from the spending and failures so far on all branches and in their journals."""
    git, runs, entries = session.git, dict[str, Spend](), list[JournalEntry]()
    seconds = 0.0
    heads = {name: git.rev(make_story_branch_name(session, name)) for name in list_story_branches(session)}
    for name, head in {"": get_current_head(session), **heads}.items():
        state = session.store.load(head)
        for run in filter(None, map(state.run, state.run_ids())):
            runs[run.id] = max(runs.get(run.id, Spend()), run.spend, key=lambda spend: spend.calls)
        journal = make_story_session(session, name).services.journal if name else session.services.journal
        entries += journal.entries_since(head)
        seconds = max(seconds, sum_prd_seconds(state))
    state = session.store.load(get_current_head(session))
    spent_before = sum(runs.values(), sum_spend(list_unrecorded(entries)))
    start = LedgerStart(session.log.started, spent_before, seconds, read_current_circuits(state, tuple(entries)))
    return SharedLedger.begin(get_stories_directory(git, session.prd.id) / "ledger.jsonl", start)


def run_sequentially(session: Session, max_steps: int | None) -> RunOutcome:
    """Run with one worker. Left-over stories of a parallel run come first, within the same budget."""
    if not list_story_branches(session):
        return run_prd(session, max_steps)
    session = replace(session, shared=open_shared_ledger(session))
    left_over = finish_left_over_stories(session, max_steps)
    if left_over.stop is not None:
        return RunOutcome(get_current_head(session), left_over.steps, left_over.stop, session)
    outcome = run_prd(session, None if max_steps is None else max_steps - left_over.steps)
    return replace(outcome, steps=outcome.steps + left_over.steps)


# --- scheduling -------------------------------------------------------------------------------------------------------


def run_parallel(session: Session, workers: StoryWorkers) -> RunOutcome:
    """Run until there is nothing left to do. The caller must hold the run's lock, and publishes the result."""
    with session.git.lock(f"branch-{session.prd.id}"):
        refuse_checked_out(session)
        clean_up_leftovers(session)
        session.log.branch_writes.last = session.git.branch_head(session.target.branch) or ""
        move_journal_to_head(session)
        report_resumed(session)
    return StoryScheduler(session, workers).run()


@dataclass
class StoryScheduler:
    """Assigns stories to workers and collects the results."""

    session: Session
    workers: StoryWorkers
    under_way: set[str] = field(default_factory=set)
    stopped: dict[str, NoAction] = field(default_factory=dict)  # stories not tried again in this run
    blocked: dict[str, NoAction] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)
    problem: Prd2prError | None = None
    stop: NoAction | None = None  # the reason why no further story starts
    steps: int = 0

    def run(self) -> RunOutcome:
        while True:
            self.start_stories()
            if not self.under_way:
                return self.finish()
            self.handle_result(self.workers.wait())

    @property
    def is_stopping(self) -> bool:
        """Whether no further story starts because a person must act or an error stopped the run."""
        return self.problem is not None or self.stop is not None or bool(self.blocked)

    # --- starting -----------------------------------------------------------------------------------------------------

    def start_stories(self) -> None:
        while not self.is_stopping and self.workers.free and not any(map(self.must_run_alone, self.under_way)):
            state = self.load_state()
            if state is None or not self.start_one(state):
                return

    def load_state(self) -> BranchState | None:
        """Return the state from which stories can start, after planning if needed."""
        while True:
            self.session = reload_changed_prd(self.session, self.session.store.load(get_current_head(self.session)))
            try:
                with self.lock_branch():
                    state = load_planned_state(self.session)
            except BranchMoved:
                continue
            if isinstance(state, BranchState):
                return state
            if isinstance(state, NoAction):
                self.stop = state
                return None
            self.steps += 1

    def lock_branch(self) -> AbstractContextManager[None]:
        """Lock the PRD's branch, unless workers are integrating into it.

        In that case the loser of a race reloads the branch and retries.
        """
        return nullcontext() if self.under_way else self.session.git.lock(f"branch-{self.session.prd.id}")

    def start_one(self, state: BranchState) -> bool:
        """Start one story. Return whether more stories may be started."""
        context = load_action_context(self.session, state)
        left_over = self.find_left_over_story(context)
        if left_over:
            return self.start_worker(left_over)
        next_story = find_next_story(context)
        if isinstance(next_story, NoAction):
            self.stop = None if self.under_way else next_story
            return False
        exclusive = self.find_exclusive_story(context, state)
        ready = () if exclusive else find_startable_stories(context, self.under_way, self.stopped)
        if not self.under_way and len(ready) < 2:
            only = exclusive or (ready[0] if ready else next_story)
            return only.id not in self.stopped and self.run_in_process(only)
        return bool(ready) and self.can_start(context, state, ready[0]) and self.start_worker(ready[0].id)

    def find_left_over_story(self, context: ActionContext) -> str:
        """Return a story that an earlier run or a killed worker left on its own branch."""
        for name in list_story_branches(self.session):
            story = context.records.find_story(name)
            if name in self.under_way or name in self.stopped or (self.under_way and self.must_run_alone(name)):
                continue
            if story is None or story.status in SETTLED:
                integrate_story(self.session, name)  # its branch only needs to be deleted
            else:
                return name
        return ""

    def must_run_alone(self, story: str) -> bool:
        """Return whether the story was restarted before and must run alone, so that it cannot conflict again."""
        branch, git = make_story_branch_name(self.session, story), self.session.git
        head = git.branch_head(branch)
        state = StateStore(git, self.session.prd.id).load(head) if head else None
        return bool(state and count_restarts(state.cycle(story)))

    def find_exclusive_story(self, context: ActionContext, state: BranchState) -> Story | None:
        """Return a story that was started on the PRD's branch or that people pushed to; it must be finished there."""
        started = [
            story
            for story in context.workable_stories
            if story.status == "in_progress" and context.records.cycle(story.id)
        ]
        if started:
            return started[0]
        found = find_next_story(context) if find_unproven_work(self.session.git, state.commit) else None
        return found if isinstance(found, Story) else None

    def run_in_process(self, story: Story) -> bool:
        """Work on the story in this process, on the PRD's branch; return whether it was finished."""
        outcome = run_prd(replace(self.session, target=replace(self.session.target, story=story.id)), is_reported=True)
        self.session = replace(outcome.session, target=replace(outcome.session.target, story=""))
        self.steps += outcome.steps
        if outcome.stop.outcome != "done":
            self.stop = outcome.stop
        return outcome.stop.outcome == "done"

    def can_start(self, context: ActionContext, state: BranchState, story: Story) -> bool:
        """Check breakers and regressions before a new story.

        Return True to start it, or False to look at the branch again.
        """
        action = find_story_action(context, story)
        if isinstance(action, NoAction):
            self.stopped[story.id] = action
            return True
        try:
            with self.lock_branch():
                regression = check_regressions(self.session, load_position(self.session, state.commit, state, story))
        except BranchMoved:
            return True
        if isinstance(regression, NoAction):
            self.stop = regression
        return regression is None

    def start_worker(self, story: str) -> bool:
        if story in self.stopped:
            return True
        self.workers.start(story)
        self.under_way.add(story)
        return True

    # --- finishing ----------------------------------------------------------------------------------------------------

    def handle_result(self, result: StoryResult) -> None:
        story = result.story
        self.under_way.discard(story)
        self.steps += result.steps
        self.session.log.workers.lines += result.lines
        self.session.log.workers.spend += result.spend
        if result.outcome != "died":
            self.deaths.pop(story, None)
        match result.outcome:
            case "died":
                self.handle_death(result)
            case "blocked" if story in list_story_branches(self.session):
                self.blocked[story] = self.stopped[story] = result.stop or NoAction("blocked", story)
            case "blocked":
                self.stop = result.stop
            case "waiting" | "stopped":
                self.stopped[story] = result.stop or NoAction("stopped", story)
            case "trouble":
                self.problem = self.problem or result.problem

    def handle_death(self, result: StoryResult) -> None:
        """Let another worker resume the story of a worker that died, or stop the story after several deaths."""
        story = result.story
        self.deaths[story] += 1
        if self.session.shared:
            self.session.shared.drop_worker(result.worker)
        if self.deaths[story] < MAX_DEATHS:
            self.say(f"the worker on {story} was killed; another one resumes it")
            return
        reason = f"{story}: its worker was killed {self.deaths[story]} times in a row"
        self.say(reason)
        self.stopped[story] = NoAction("stopped", reason, f"prd2pr run {self.session.prd.path}")

    def finish(self) -> RunOutcome:
        """Record one blocked story on the PRD's branch, where people see it, and return the outcome.

        Only one blocked story is recorded, since the tests of two could interfere.
        """
        order = {story.id: n for n, story in enumerate(self.stories)}
        first = find_first_in_plan(self.blocked, order)
        is_waiting = bool(first) and integrate_story(self.session, first).outcome == "waiting"
        if self.problem is not None:
            raise self.problem
        if first:
            stop = describe_stop(self.session) if is_waiting else self.blocked[first]
            return make_outcome(self.session, self.steps, stop)
        if self.stop is None and self.stopped:
            self.stop = self.stopped[find_first_in_plan(self.stopped, order)]
        if self.stop is None:
            outcome = run_prd(self.session, is_reported=True)
            return replace(outcome, steps=outcome.steps + self.steps)
        return make_outcome(self.session, self.steps, self.stop)

    @property
    def stories(self) -> tuple[Story, ...]:
        return self.session.store.load(get_current_head(self.session)).backlog.stories

    def say(self, text: str) -> None:
        self.session.progress.say("note", text=text)
