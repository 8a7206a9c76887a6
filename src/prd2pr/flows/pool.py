"""Stories of one PRD side by side, by several workers on one machine.

Whoever runs this only schedules: which stories may begin, who goes on with one that was left, what is told. A worker
is a process that works on one story after the other and integrates each itself, one at a time under the PRD's lock.
What stories cannot be worked on beside others (planning, one that people have a hand in, the only one that is ready)
is done here, one step after the other, as by `drive`.
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from prd2pr.core.ahead import Outlook, phase_ahead, story_ahead
from prd2pr.core.decide import Rest
from prd2pr.core.records import SETTLED, Spend, Story
from prd2pr.core.scheduling import first_in_plan, startable
from prd2pr.errors import BranchMoved, Prd2prError
from prd2pr.flows.begun_again import times_begun_again
from prd2pr.flows.containment import circuits_now
from prd2pr.flows.continuity import holds_so_far
from prd2pr.flows.drive import (
    Driven,
    drive,
    ended,
    head_of,
    planned_state,
    position_of,
    prd_seconds,
    refuse_checked_out,
    take_journal_along,
    tell_where_it_goes_on,
    what_is_next,
)
from prd2pr.flows.ledger import Entry, spent, unrecorded
from prd2pr.flows.outlook import outlook
from prd2pr.flows.peoples_work import since_last_step
from prd2pr.flows.replan import up_to_date
from prd2pr.flows.session import Session, stories_place
from prd2pr.flows.shared_ledger import Begun, SharedLedger
from prd2pr.flows.story_branches import (
    finish_left_over,
    integrate_story,
    story_branch,
    story_branches,
    story_session,
    work_on_story,
)
from prd2pr.flows.workbench import sweep
from prd2pr.repo.store import BranchState, StateStore

MOST_DEATHS = 2  # of workers in a row on one story

Outcome = Literal["integrated", "blocked", "again", "over", "waiting", "stopped", "trouble", "died"]


@dataclass(frozen=True)
class Ended:
    """What became of a story that a worker had."""

    story: str
    outcome: Outcome
    worker: int
    rest: Rest | None = None
    steps: int = 0
    spend: Spend = field(default_factory=Spend)
    lines: tuple[dict[str, Any], ...] = ()
    problem: Prd2prError | None = None


class Hands(Protocol):
    """Workers, as many as were asked for at most."""

    @property
    def free(self) -> int: ...

    def start(self, story: str) -> None: ...

    def wait(self) -> Ended:
        """Until one of them has ended. What they say meanwhile is passed on."""
        ...


# --- in a worker ------------------------------------------------------------------------------------------------------


def worked_and_integrated(session: Session, story: str, worker: int) -> Ended:
    """One story to its end: on its own branch, then on the PRD's. `again`: it could not be joined, and waits."""
    own, steps = replace(session, integrates=True), 0
    try:
        worked = work_on_story(own, story)
        own, steps = worked.session, worked.steps
        if not worked.ready:
            outcome: Outcome = "blocked" if worked.rest.outcome == "blocked" else "stopped"
            return _ended(own, Ended(story, outcome, worker, worked.rest, steps))
        brought = integrate_story(session, story, own, worked.note)
        rest = Rest("blocked" if brought.outcome == "blocked" else "waiting", brought.reason)
        steps += brought.outcome == "integrated"
        return _ended(own, Ended(story, brought.outcome, worker, rest if brought.reason else None, steps))
    except Prd2prError as problem:
        return _ended(own, Ended(story, "trouble", worker, steps=steps, problem=problem))


def _ended(own: Session, made: Ended) -> Ended:
    return replace(made, spend=own.log.spend, lines=tuple(own.log.lines)) if own.trunk else made


def shared_from(session: Session) -> SharedLedger:
    """What was spent on the PRD until now, on its branch and on stories' own, recorded or not; and what troubles it."""
    git, runs, waiting = session.git, dict[str, Spend](), list[Entry]()
    seconds = 0.0
    heads = {name: git.rev(story_branch(session, name)) for name in story_branches(session)}
    for name, head in {"": head_of(session), **heads}.items():
        state = session.store.load(head)
        for run in filter(None, map(state.run, state.run_ids())):
            runs[run.id] = max(runs.get(run.id, Spend()), run.spend, key=lambda spend: spend.calls)
        journal = story_session(session, name).journal if name else session.journal
        waiting += journal.since(head)
        seconds = max(seconds, prd_seconds(state))
    state = session.store.load(head_of(session))
    spent_before = sum(runs.values(), spent(unrecorded(waiting)))
    begun = Begun(session.log.started, spent_before, seconds, circuits_now(state, tuple(waiting)))
    return SharedLedger.begin(stories_place(git, session.prd.id) / "ledger.jsonl", begun)


def drive_alone(session: Session, max_steps: int | None) -> Driven:
    """By one worker. What several have left on branches of their own comes first, with one budget over all of it."""
    if not story_branches(session):
        return drive(session, max_steps)
    session = replace(session, shared=shared_from(session))
    left = finish_left_over(session, max_steps)
    if left.rest is not None:
        return Driven(head_of(session), left.steps, left.rest, session)
    driven = drive(session, None if max_steps is None else max_steps - left.steps)
    return replace(driven, steps=driven.steps + left.steps)


# --- who schedules ----------------------------------------------------------------------------------------------------


def drive_beside(session: Session, hands: Hands) -> Driven:
    """Until nothing is left to do, or why no further. The caller holds the run's lock, and publishes."""
    with session.git.lock(f"branch-{session.prd.id}"):
        refuse_checked_out(session)
        sweep(session)
        session.log.landed = session.git.branch_head(session.branch) or ""
        take_journal_along(session)
        tell_where_it_goes_on(session)
    return Pool(session, hands).run()


@dataclass
class Pool:
    session: Session
    hands: Hands
    under_way: set[str] = field(default_factory=set)
    stopped: dict[str, Rest] = field(default_factory=dict)  # stories that are not tried again in this run
    blocked: dict[str, Rest] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)
    problem: Prd2prError | None = None
    rest: Rest | None = None  # why nothing new is begun
    steps: int = 0

    def run(self) -> Driven:
        while True:
            self.begin_what_can()
            if not self.under_way:
                return self.end()
            self.heard(self.hands.wait())

    @property
    def over(self) -> bool:
        """Nothing new is begun: a person has to look, or trouble has stopped it."""
        return self.problem is not None or self.rest is not None or bool(self.blocked)

    # --- beginning ----------------------------------------------------------------------------------------------------

    def begin_what_can(self) -> None:
        while not self.over and self.hands.free and not any(map(self.goes_alone, self.under_way)):
            state = self.state()
            if state is None or not self.begun_one(state):
                return

    def state(self) -> BranchState | None:
        """What stories can begin from; planned first, where that is missing."""
        while True:
            self.session = up_to_date(self.session, self.session.store.load(head_of(self.session)))
            try:
                with self.alone():
                    state = planned_state(self.session)
            except BranchMoved:
                continue
            if isinstance(state, BranchState):
                return state
            if isinstance(state, Rest):
                self.rest = state
                return None
            self.steps += 1

    def alone(self) -> AbstractContextManager[None]:
        """On the PRD's branch. While workers integrate there, nobody waits for them: who is slower reads again."""
        return nullcontext() if self.under_way else self.session.git.lock(f"branch-{self.session.prd.id}")

    def begun_one(self, state: BranchState) -> bool:
        """Whether there may be more to begin."""
        view = outlook(self.session, state)
        left = self.left_over(view)
        if left:
            return self.given(left)
        ahead = story_ahead(view)
        if isinstance(ahead, Rest):
            self.rest = None if self.under_way else ahead
            return False
        alone = self.must_be_alone(view, state)
        ready = () if alone else startable(view, self.under_way, self.stopped)
        if not self.under_way and len(ready) < 2:
            only = alone or (ready[0] if ready else ahead)
            return only.id not in self.stopped and self.done_here(only)
        return bool(ready) and self.looked_at(view, state, ready[0]) and self.given(ready[0].id)

    def left_over(self, view: Outlook) -> str:
        """A story that an earlier run, or a worker that died, has left on its own branch."""
        for name in story_branches(self.session):
            story = view.found.story(name)
            if name in self.under_way or name in self.stopped or (self.under_way and self.goes_alone(name)):
                continue
            if story is None or story.status in SETTLED:
                integrate_story(self.session, name)  # which only clears it away
            else:
                return name
        return ""

    def goes_alone(self, story: str) -> bool:
        """It was in the way of another one although no plan said so. What nobody works beside can be joined."""
        branch, git = story_branch(self.session, story), self.session.git
        head = git.branch_head(branch)
        state = StateStore(git, self.session.prd.id, branch).load(head) if head else None
        return bool(state and times_begun_again(state.cycle(story)))

    def must_be_alone(self, view: Outlook, state: BranchState) -> Story | None:
        """What was begun on the PRD's own branch is finished there, and so is what people have pushed to it."""
        going = [story for story in view.free if story.status == "in_progress" and view.found.cycle(story.id)]
        if going:
            return going[0]
        found = story_ahead(view) if since_last_step(self.session.git, state.commit) else None
        return found if isinstance(found, Story) else None

    def done_here(self, story: Story) -> bool:
        """Nothing else could be done meanwhile: one step after the other, on the PRD's own branch."""
        driven = drive(replace(self.session, only_story=story.id), told=True)
        self.session = replace(driven.session, only_story="")
        self.steps += driven.steps
        if driven.rest.outcome != "done":
            self.rest = driven.rest
        return driven.rest.outcome == "done"

    def looked_at(self, view: Outlook, state: BranchState, story: Story) -> bool:
        """Before something new is begun: whether a circuit holds it back, and whether what is finished still holds."""
        due = phase_ahead(view, story)
        if isinstance(due, Rest):
            self.stopped[story.id] = due
            return True
        try:
            with self.alone():
                broken = holds_so_far(self.session, position_of(self.session, state.commit, state, story))
        except BranchMoved:
            return True
        if isinstance(broken, Rest):
            self.rest = broken
        return broken is None

    def given(self, story: str) -> bool:
        if story in self.stopped:
            return True
        self.hands.start(story)
        self.under_way.add(story)
        return True

    # --- ending -------------------------------------------------------------------------------------------------------

    def heard(self, ended: Ended) -> None:
        story = ended.story
        self.under_way.discard(story)
        self.steps += ended.steps
        self.session.log.beside += ended.lines
        self.session.log.spent_beside += ended.spend
        if ended.outcome != "died":
            self.deaths.pop(story, None)
        match ended.outcome:
            case "died":
                self.mourned(ended)
            case "blocked" if story in story_branches(self.session):
                self.blocked[story] = self.stopped[story] = ended.rest or Rest("blocked", story)
            case "blocked":
                self.rest = ended.rest
            case "waiting" | "stopped":
                self.stopped[story] = ended.rest or Rest("stopped", story)
            case "trouble":
                self.problem = self.problem or ended.problem

    def mourned(self, ended: Ended) -> None:
        """Its story's branch is as the last commit left it: the next one goes on from there."""
        story = ended.story
        self.deaths[story] += 1
        if self.session.shared:
            self.session.shared.gone(ended.worker)
        if self.deaths[story] < MOST_DEATHS:
            self.say(f"the worker on {story} was killed; another one goes on with it")
            return
        reason = f"{story}: its worker was killed {self.deaths[story]} times in a row"
        self.say(reason)
        self.stopped[story] = Rest("stopped", reason, f"prd2pr run {self.session.prd.path}")

    def end(self) -> Driven:
        """A story that is blocked is brought to the PRD's branch, where people see it: one, since the tests of two
        would be in each other's way."""
        order = {story.id: n for n, story in enumerate(self.stories)}
        first = first_in_plan(self.blocked, order)
        waits = bool(first) and integrate_story(self.session, first).outcome == "waiting"
        if self.problem is not None:
            raise self.problem
        if first:
            rest = what_is_next(self.session) if waits else self.blocked[first]
            return ended(self.session, self.steps, rest)
        if self.rest is None and self.stopped:
            self.rest = self.stopped[first_in_plan(self.stopped, order)]
        if self.rest is None:
            driven = drive(self.session, told=True)
            return replace(driven, steps=driven.steps + self.steps)
        return ended(self.session, self.steps, self.rest)

    @property
    def stories(self) -> tuple[Story, ...]:
        return self.session.store.load(head_of(self.session)).backlog.stories

    def say(self, text: str) -> None:
        self.session.progress.say("note", text=text)
