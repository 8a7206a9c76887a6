"""Stories side by side on a code host, seen from the job that plans or integrates.

Which stories other jobs have worked on, their branches say: what is ready is brought to the PRD's branch, one at a
time; what was begun and not finished, by whomever, is handed on again, with what else can be begun beside it. So a job
that was lost or cancelled is made good by whichever run comes next, and nothing is done twice by a wave that is started
twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prd2pr.core.ahead import Due, Outlook, phase_ahead, stopped_by_people, story_ahead
from prd2pr.core.beside import UnderWay
from prd2pr.core.budget import Budget, CallEstimate, check
from prd2pr.core.decide import Rest
from prd2pr.core.effects.money import stopped_for_budget
from prd2pr.core.layout import ID
from prd2pr.core.records import SETTLED, Phase, Spend, Story
from prd2pr.core.scheduling import startable
from prd2pr.core.waves import Share, Wave, is_of, share_of, spent_by, told_last
from prd2pr.errors import BranchMoved, SpendLimit, StepsRewritten
from prd2pr.flows.begun_again import times_begun_again
from prd2pr.flows.drive import head_of, refuse_lost_steps, what_is_next
from prd2pr.flows.out_of_budget import out_of_budget
from prd2pr.flows.outlook import outlook, standing_outlook
from prd2pr.flows.prd_told import tell
from prd2pr.flows.readiness import ready_head
from prd2pr.flows.remote_writers import follow_all, removed
from prd2pr.flows.rewritten import rewritten_since
from prd2pr.flows.session import Session
from prd2pr.flows.story_branches import Brought, integrate_story, stopped_meanwhile, work_on_story
from prd2pr.flows.story_session import own_prefix, story_branch, story_session
from prd2pr.repo.store import BranchState

if TYPE_CHECKING:
    from prd2pr.flows.prd_run import PrdRun

NO_FURTHER = "none of the story jobs of this run got any further"
LOOK = "Look at the jobs of the run; `/tdd run` tries it again."


@dataclass(frozen=True)
class Begun:
    """A story on its own branch, as that stands on the code host."""

    story: str
    head: str
    own: Session
    state: BranchState
    row: Story | None  # in the plan of the PRD's branch

    @property
    def over(self) -> bool:
        return self.row is None or self.row.status in SETTLED

    @property
    def begun_again(self) -> bool:
        return times_begun_again(self.state.cycle(self.story)) > 0

    @property
    def ends(self) -> bool:
        """It waits to be integrated, is blocked and waits to be seen, or cannot go on beside what was decided since."""
        found = self.view.found.story(self.story)
        if found is None or found.status == "blocked" or self.decided():
            return True
        due = phase_ahead(self.view, found)
        return not isinstance(due, Rest) and due.phase is Phase.INTEGRATED

    def decided(self) -> bool:
        """Whether something about the story was decided on the PRD's branch since it began."""
        stopped = stopped_meanwhile(self.own, self.story, self.head)
        return stopped is not None and stopped.outcome == "stopped"

    @property
    def view(self) -> Outlook:
        return outlook(self.own, self.state, self.story)

    def held(self) -> Rest | None:
        """Why it does not go on: a circuit, an alarm, a pause."""
        found = self.view.found.story(self.story)
        due = phase_ahead(self.view, found) if found else None
        return due if isinstance(due, Rest) else None


def begun_stories(run: PrdRun) -> tuple[Begun, ...]:
    """In the plan's order."""
    host, session = run.host, run.session
    prefix = own_prefix(session)
    heads = follow_all(host.git, host.remote, prefix)
    stories = session.store.load(head_of(session)).backlog.stories
    rows = {story.id: story for story in stories}
    names = {branch.removeprefix(prefix): head for branch, head in heads.items()}
    order = [name for name in (*rows, *sorted(set(names) - set(rows))) if name in names and ID.fullmatch(name)]
    return tuple(begun(session, name, names[name], rows.get(name)) for name in order)


def begun(session: Session, story: str, head: str, row: Story | None) -> Begun:
    own = replace(story_session(session, story), log=session.log)  # what this run does is one run's record
    return Begun(story, head, own, own.store.load(head), row)


def under_way_beside(run: PrdRun) -> UnderWay:
    """By name alone, for who only asks."""
    prefix = own_prefix(run.session)
    names = run.host.remote.branches(prefix) if run.others else ()
    run.others = bool(names or run.host.hands_on)
    return UnderWay(tuple(sorted(name.removeprefix(prefix) for name in names)))


# --- what is ready ----------------------------------------------------------------------------------------------------


def bring_one(run: PrdRun, stories: tuple[Begun, ...]) -> Brought | None:
    """The first of those that are ready, to the PRD's branch; None: none is. What is settled already goes first, then
    what could not be joined before."""
    for each in sorted(stories, key=lambda each: (not each.over, not each.begun_again)):
        if each.story in run.left_apart or not (each.over or each.ends):
            continue
        brought = integrate_story(run.session, each.story, each.own)
        tidy(run, each, brought)
        if brought.outcome != "waiting":
            return brought
        run.left_apart.add(each.story)
        run.host.progress.say("note", text=f"{each.story} is not integrated now: {brought.reason}")
    return None


def tidy(run: PrdRun, each: Begun, brought: Brought) -> None:
    """The branch on the code host goes where the one here went. What was put aside is kept there as well."""
    host, branch = run.host, story_branch(run.session, each.story)
    if brought.outcome == "again" or (brought.outcome == "over" and brought.reason):
        host.remote.keep(f"refs/prd2pr/aside/{run.session.prd.id}/{each.story}/{each.head[:12]}", each.head)
    if host.git.branch_head(branch) is None and not removed(host.remote, branch, each.head):
        host.progress.say("note", text=f"{branch} could not be deleted; it is of no use any more")


def refuse_rewritten(run: PrdRun, stories: tuple[Begun, ...]) -> None:
    """Steps on a story's own branch that are not what they were proved as, seen before anything is joined or built on
    them. What is over is put aside, whatever it holds."""
    git, trunk = run.host.git, head_of(run.session)
    for each in stories:
        left = git.merge_base(trunk, each.head)
        false = None if each.over or left is None else rewritten_since(git, left, each.head)
        if false is not None:
            branch = story_branch(run.session, each.story)
            raise StepsRewritten(
                f"nothing is built on {branch}: {false.sentence()}",
                remedy=f"Push {branch} as it was before, or delete it: {each.story} then begins again.",
            )


# --- who goes on ------------------------------------------------------------------------------------------------------


def next_wave(run: PrdRun, view: Outlook, stories: tuple[Begun, ...]) -> Wave | Rest | None:
    """What other jobs go on with; None: this one does, as there is nothing to be done side by side."""
    session = run.session
    stopped = stopped_by_one(run, stories)
    if stopped is not None:
        return stopped
    head = head_of(session)
    going = {each.story: each.head for each in one_again(stories)}
    most = session.config.story_jobs
    begun = frozenset(each.story for each in stories)
    new = () if view.only else free_beside(view, begun, most - len(going))
    wanted = dict([*going.items(), *((name, head) for name in new)][:most])
    if not going and len(wanted) < 2:
        return None
    at_work = run.host.stories_at_work()
    mine = {story: at for story, at in wanted.items() if story not in at_work}
    if not mine:
        return Rest("nothing", f"another run is at work on {', '.join(wanted)}")
    return Wave(session.prd.id, mine, share_for(run, session.store.load(head), stories, len(mine)))


def one_again(stories: tuple[Begun, ...]) -> tuple[Begun, ...]:
    """Of those that could not be joined with others, one in a wave: two may be in each other's way once more."""
    waiting = [each for each in stories if each.begun_again][1:]
    return tuple(each for each in stories if each not in waiting)


def free_beside(view: Outlook, going: frozenset[str], most: int) -> tuple[str, ...]:
    """What can be begun beside those that are under way already."""
    ready = (each for each in startable(view, going) if isinstance(phase_ahead(view, each), Due))
    return tuple(each.id for each in ready)[: max(0, most)]


def stopped_by_one(run: PrdRun, stories: tuple[Begun, ...]) -> Rest | None:
    """Trouble that one job met would meet all others; and what is left of a budget is not spent on new ones."""
    for each in stories:
        cycle = each.state.cycle(each.story)
        if run.host.wave_before is not None and cycle is not None and stopped_for_budget(cycle):
            return Rest("budget", f"{each.story} stopped: its share of this run's budget is used up")
        held = each.held()
        if held is not None and held.outcome not in ("paused", "done"):
            return held
    before = run.host.wave_before
    if before is None or run.steps or not before.stories:
        return None
    now = {each.story: each.head for each in stories}
    backlog = run.session.store.load(head_of(run.session)).backlog
    settled = {story.id for story in backlog.stories if story.status in SETTLED}  # by another run
    moved = any(story in settled or now.get(story, at) != at for story, at in before.stories.items())
    return None if moved else Rest("stopped", NO_FURTHER, LOOK)


# --- money ------------------------------------------------------------------------------------------------------------


def share_for(run: PrdRun, state: BranchState, stories: tuple[Begun, ...], jobs: int) -> Share:
    """What is left is asked for here, before anything is handed on: a wave without money is none."""
    session, number = run.session, run.host.run_number
    records = told_last(records_of(state, *(each.state for each in stories)))
    records[session.log.id] = session.log.spend  # by now
    spent_run = spent_by({name: spend for name, spend in records.items() if is_of(name, number)})
    spent_prd = spent_by(records)
    budget = Budget(session.limits, spent_run=spent_run, spent_prd=spent_prd, started=session.log.started)
    stop = check(budget, session.clock.monotonic(), CallEstimate(model=""))
    if stop is not None:
        raise SpendLimit(stop.what, where=stop.limit, remedy=stop.remedy)
    return share_of(session.limits, spent_run, spent_prd, jobs)


def records_of(*states: BranchState) -> Iterator[tuple[str, Spend]]:
    for state in states:
        for name in state.run_ids():
            found = state.run(name)
            if found is not None:
                yield name, found.spend


# --- one look ---------------------------------------------------------------------------------------------------------


def side_by_side(run: PrdRun) -> Rest | None:
    """A story brought to the PRD's branch, or a wave handed on; None: this job does the next phase, on that branch."""
    before, started = run.steps, run.session.clock.monotonic()
    try:
        rest = looked_at(run)
    except SpendLimit as limit:
        return out_of_budget(run, limit)
    if run.steps == before:
        return rest
    run.host.deadline.took(run.session.clock.monotonic() - started)
    tell(run, None)
    return what_is_next(run.session)


def looked_at(run: PrdRun) -> Rest | None:
    session = run.session
    hands_on = bool(run.host.hands_on) and session.config.story_jobs > 1
    if not (hands_on or run.others):
        return None
    stories = begun_stories(run)
    run.others = bool(stories or hands_on)
    if not (stories or hands_on):
        return None
    waits = sprint_begun(session) or stopped_for_all(session)
    if waits is not None:
        return waits
    refuse_rewritten(run, stories)
    if bring_one(run, stories) is not None:
        run.steps += 1
        return None
    return gone_on_with(run, stories, hands_on=hands_on)


def gone_on_with(run: PrdRun, stories: tuple[Begun, ...], *, hands_on: bool) -> Rest | None:
    session = run.session
    view = standing_outlook(session, session.store.load(head_of(session)))
    following = story_ahead(view)
    if isinstance(following, Rest):
        return following
    stories = tuple(each for each in stories if each.story not in run.left_apart and view.only in ("", each.story))
    if view.only and not stories:
        return None
    return handed_on(run, view, stories) if hands_on else worked_here(run, stories)


def stopped_for_all(session: Session) -> Rest | None:
    """A pause, or a PRD that is gone: then nothing is integrated either."""
    view = outlook(session, session.store.load(head_of(session)))
    return view.gone or stopped_by_people(view)


def handed_on(run: PrdRun, view: Outlook, stories: tuple[Begun, ...]) -> Rest | None:
    wave = next_wave(run, view, stories)
    if not isinstance(wave, Wave):
        return wave
    run.wave = wave
    return Rest("handed-on", f"other jobs work on {wave.sentence()}")


def worked_here(run: PrdRun, stories: tuple[Begun, ...]) -> Rest | None:
    """What was begun on a branch of its own goes on there, also where nobody else works beside this job any more."""
    for each in stories:
        worked = work_on_story(each.own, each.story, max_steps=1)
        run.steps += worked.steps
        if worked.steps or worked.rest.outcome not in ("paused", "done"):
            return worked.rest
    return None


def sprint_begun(session: Session) -> Rest | None:
    """On the PRD's branch: a story's own holds steps of that story alone."""
    before = head_of(session)
    try:
        with session.git.lock(f"branch-{session.prd.id}"):
            ready = ready_head(session, before)
    except BranchMoved:
        refuse_lost_steps(session, before)
        return None
    return ready if isinstance(ready, Rest) else None
