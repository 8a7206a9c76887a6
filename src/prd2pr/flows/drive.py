"""The loop: reconcile, decide, act, commit, publish. The same for one phase (`next`) and for a whole PRD (`run`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from prd2pr.core.ahead import phase_ahead, story_ahead, unblocking
from prd2pr.core.decide import Rest
from prd2pr.core.evidence import Finding, Verdict
from prd2pr.core.next_step import ended_by_count
from prd2pr.core.records import Cycle, CycleState, Phase, Spend, Story
from prd2pr.errors import BranchInUse, BranchMoved, ModelRefused, SecretFound, StateCorrupted, StepsLost
from prd2pr.flows.attempts import Judged, Position, Stuck, note_refusal
from prd2pr.flows.beforehand import prepare
from prd2pr.flows.commits import commit_block, commit_crossing, commit_no_refactoring, commit_plan, commit_retry
from prd2pr.flows.containment import held_back, note_stuck, watched
from prd2pr.flows.continuity import holds_so_far
from prd2pr.flows.hand_edits import refuse_hand_edits
from prd2pr.flows.other_runs import another_run_works, planned_elsewhere
from prd2pr.flows.outlook import outlook, reset_command, standing_outlook
from prd2pr.flows.peoples_step import take_up
from prd2pr.flows.peoples_work import step_of
from prd2pr.flows.phases import Crossing, NotRefactored, Phased, cross, withheld_green
from prd2pr.flows.pipeline.whole_plan import whole_plan
from prd2pr.flows.readiness import carried_out_elsewhere, ready_head
from prd2pr.flows.replan import outdated, prd_changed, prd_gone, replan, up_to_date
from prd2pr.flows.session import Session
from prd2pr.flows.twins import refuse_twins
from prd2pr.flows.workbench import sweep
from prd2pr.repo.store import BranchState

TRIED_AGAIN = (Phase.RED, Phase.GREEN, Phase.REFACTOR)  # what a role has written, and can write otherwise
RACES = 3  # lost compare-and-swaps in a row before giving up


@dataclass(frozen=True)
class Driven:
    """How an invocation ended."""

    head: str
    steps: int
    rest: Rest
    session: Session  # with the PRD as it was read last


def drive(session: Session, max_steps: int | None = None, *, told: bool = False) -> Driven:
    """Steps until there is nothing to do, or `max_steps` are done. The caller publishes. `told`: it was said before
    where it goes on."""
    with session.git.lock(f"branch-{session.prd.id}"), letting_go(session):
        refuse_checked_out(session)
        sweep(session)
        session.log.landed = session.git.branch_head(session.branch) or ""
        take_journal_along(session)
        if not told:
            tell_where_it_goes_on(session)
        steps = races = 0
        while max_steps is None or steps < max_steps:
            refuse_hand_edits(session)
            before = head_of(session)
            session = up_to_date(session, session.store.load(before))
            try:
                stepped = step(session)
            except BranchMoved:
                races += 1
                refuse_lost_steps(session, session.log.landed)
                session.journal.follow(before, head_of(session))  # what was spent counts, wherever the branch is now
                if another_run_works(session, before, head_of(session)):
                    return ended(session, steps, Rest("nothing", "another run is at work on it"))
                if races >= RACES:
                    raise
                refuse_hand_edits(session, moved=True)
                session.progress.say("note", text="the branch moved meanwhile; reading it again")
                if carried_out_elsewhere(session, head_of(session)):
                    return ended(session, steps, Rest("nothing", "another run has carried it out meanwhile"))
                session, was = up_to_date(session, session.store.load(head_of(session))), session
                if planned_elsewhere(session, was, before, head_of(session)):
                    session.progress.say("note", text="another run has planned what the PRD says now")
                    break
                continue
            races = 0
            if isinstance(stepped, Rest):
                return ended(session, steps, stepped)
            steps += 1
        return ended(session, steps, what_is_next(session))


@contextmanager
def letting_go(session: Session) -> Iterator[None]:
    """However it ends, no test run goes on that nobody waits for."""
    try:
        yield
    finally:
        session.runner.let_go()


def ended(session: Session, steps: int, rest: Rest) -> Driven:
    return Driven(head_of(session), steps, rest, session)


def refuse_lost_steps(session: Session, last: str) -> None:
    """A commit on top is read and built upon. A branch that lost steps was moved on purpose: a person decides."""
    now = session.git.branch_head(session.branch)
    if last and (now is None or not session.git.is_ancestor(last, now)):
        raise StepsLost(
            f"{session.branch} was deleted or moved while prd2pr worked on it; nothing was written over it",
            where=f"the last proved step is {last[:10]}",
            remedy=f"To put it back: git branch -f {session.branch} {last[:10]}. The same command then goes on there.",
        )


def take_journal_along(session: Session) -> None:
    """Commits of people on top took nothing of the journal up: what was spent and refused before them still counts."""
    git, now = session.git, head_of(session)
    for old in {entry.head for entry in session.journal.entries()} - {now}:
        known = git.has_commit(old) and git.is_ancestor(old, now)
        if known and not any(step_of(commit) for commit in git.log(f"{old}..{now}")):
            session.journal.follow(old, now)


def refuse_checked_out(session: Session) -> None:
    where = session.git.checked_out(session.branch)
    if where is not None:
        raise BranchInUse(
            f"{session.branch} is checked out, and prd2pr never touches a checkout",
            where=str(where),
            remedy=f"git -C {where} switch {elsewhere(session)}, then the same command again",
        )


def elsewhere(session: Session) -> str:
    """A branch to switch to: the one that this PRD started from."""
    state = session.store.load(head_of(session))
    base = state.project.base_branch if state.planned else session.base_branch
    return base if base and base != session.branch else "--detach"


def tell_where_it_goes_on(session: Session) -> None:
    state = session.store.load(head_of(session))
    state.check()
    if not state.planned:
        return
    stories = state.backlog.stories
    done = sum(story.status == "done" for story in stories)
    session.progress.say("resumed", text=f"{session.branch}: {done} of {len(stories)} stories are integrated")


def head_of(session: Session) -> str:
    return session.git.branch_head(session.branch) or session.base_commit


def step(session: Session) -> str | Rest:
    """One commit further, or why not. The answer is the new head."""
    state = planned_state(session)
    if not isinstance(state, BranchState):
        return state
    head, view = state.commit, outlook(session, state, session.only_story)
    story = story_ahead(view)
    if isinstance(story, Rest):
        return story
    position = position_of(session, head, state, story)
    due = phase_ahead(view, story)
    if isinstance(due, Rest):
        return due
    if story.status == "blocked":
        position = tried_again(session, position)
    with watched(session, due.phase, story.id):
        broken = holds_so_far(session, position)
    if broken is not None:
        return broken
    with watched(session, due.phase, story.id):
        return phase_step(session, position, due.phase)


def planned_state(session: Session) -> BranchState | str | Rest:
    """The state that stories can be worked on from. A head: it was planned just now. A Rest: somebody is waited for."""
    head = head_of(session)
    state = session.store.load(head)
    planned = plan_first(session, head, state)
    if planned is not None:
        return planned
    ready = ready_head(session, head)
    return ready if isinstance(ready, Rest) else session.store.load(ready)


def tried_again(session: Session, position: Position) -> Position:
    head = commit_retry(session, position)
    state = session.store.load(head)
    story = next(each for each in state.backlog.stories if each.id == position.story.id)
    return position_of(session, head, state, story)


def plan_first(session: Session, head: str, state: BranchState) -> str | Rest | None:
    """A PRD that has no plan yet, or says something else by now; None where the plan is what the PRD says."""
    gone = prd_gone(session, state) if state.planned else None
    if not state.planned or (gone is None and prd_changed(session, state)):
        held = held_back(session, state, Phase.PLAN, reset_command(session))
        if held is not None:
            return held
        with watched(session, Phase.PLAN):
            return replan(session, head) if state.planned else plan_step(session, head)
    return gone or outdated(session, state)


def plan_step(session: Session, head: str) -> str:
    refuse_twins(session, session.store.load(head))
    return commit_plan(session, head, session.git.code_tree(head), whole_plan(session, head))


def phase_step(session: Session, position: Position, phase: Phase) -> str | Rest:
    if not position.cycle.steps:
        session.progress.say("story", id=position.story.id, title=position.story.title)
    started = session.clock.monotonic()
    prepare(session, position, phase)
    position, taken_up = take_up(session, position, phase)
    crossed = landed(session, position, taken_up or answered(session, position, phase), started)
    if isinstance(crossed, NotRefactored):
        note = crossed.note
        return Rest("nothing", note) if session.integrates else commit_no_refactoring(session, position, note)
    if isinstance(crossed, Stuck):
        return block(session, position, phase, crossed)
    if crossed.crossing.withheld:
        return fused_green(session, crossed.head, position, crossed.crossing)
    return crossed.head


def answered(session: Session, position: Position, phase: Phase) -> Phased:
    """Crossed, or refused by the gate. A model of whom no usable answer is to be had, however often it is asked, is a
    person's business: the story is blocked with what it said, and waits for neither a better day nor more money."""
    for attempt in range(1, session.config.attempts + 1):
        try:
            return cross(session, position, phase)
        except ModelRefused as problem:
            told = f"{problem.what} ({attempt} of {session.config.attempts} times)"
            session.progress.say("note", text=told)
    return Stuck(told)


@dataclass(frozen=True)
class Landed:
    head: str
    crossing: Crossing


def landed(session: Session, position: Position, crossed: Phased, started: float) -> Landed | Stuck | NotRefactored:
    """On the branch. A commit that would publish a secret is one more refused attempt, so that no order pays for
    it without end; what no role has written is not tried again."""
    while isinstance(crossed, Crossing):
        written = len(session.log.lines), len(session.log.steps)
        try:
            head = commit_crossing(session, position, crossed, session.clock.monotonic() - started)
        except SecretFound as problem:
            session.log.forget(*written)
            note_refusal(session, position, with_secret(crossed.judged, problem), session.config.attempts)
            by_role = crossed.phase in TRIED_AGAIN and crossed.judged.attempt > 0
            crossed = cross(session, position, crossed.phase) if by_role else Stuck(f"{problem.what}: {problem.where}")
        else:
            return Landed(head, crossed)
    return crossed


def with_secret(judged: Judged, problem: SecretFound) -> Judged:
    message = f"the commit would publish a secret of this job: {problem.where}"
    finding = Finding(code="RUN107", severity="error", message=message)
    verdict = Verdict(phase=judged.verdict.phase, accepted=False, findings=(finding,))
    return replace(judged, verdict=verdict)


def fused_green(session: Session, head: str, position: Position, crossed: Crossing) -> str | Rest:
    """The second half of a fused answer, while it is at hand. A kill in between costs one builder call, no more."""
    state = session.store.load(head)
    after = replace(position_of(session, head, state, position.story), code_tree=session.git.code_tree(head))
    started = session.clock.monotonic()
    green = landed(session, after, withheld_green(session, after, crossed.withheld), started)
    assert not isinstance(green, NotRefactored), "GREEN says nothing of a refactoring"
    return block(session, after, Phase.GREEN, green) if isinstance(green, Stuck) else green.head


def block(session: Session, position: Position, phase: Phase, stuck: Stuck) -> Rest:
    """BLOCKED, with the evidence, on the branch: a person decides."""
    note_stuck(session, phase, position.story.id, position.head, stuck.reason)
    head = commit_block(session, position, stuck.reason)
    view = outlook(session, session.store.load(head))
    return Rest("blocked", f"{position.story.id}: {stuck.reason}", unblocking(view))


def position_of(session: Session, head: str, state: BranchState, story: Story) -> Position:
    return Position(
        head=head,
        code_tree=session.git.code_tree(head),
        state=state,
        story=story,
        cycle=cycle_of(state, story),
        spent_prd=prd_spend(state) if limited(session) else Spend(),
        seconds_prd=prd_seconds(state) if session.limits.minutes_per_prd is not None else 0,
    )


def limited(session: Session) -> bool:
    """Adding up all runs is only worth it where a limit per PRD is set."""
    return session.limits.usd_per_prd is not None or session.limits.tokens_per_prd is not None


def cycle_of(state: BranchState, story: Story) -> Cycle:
    """A story that was begun has a cycle, and one that is not done has an open one: else the state is damaged."""
    cycle = state.cycle(story.id)
    if cycle is None and story.status != "backlog":
        raise state.store.missing(state.commit, Cycle, state.paths.cycle(story.id))
    if cycle is not None and cycle.state is CycleState.COMMIT:
        raise StateCorrupted(
            f"{story.id} is {story.status} in the backlog, and integrated by its cycle",
            where=state.paths.backlog,
            remedy=f"git log -p {state.store.branch} -- {state.paths.backlog} shows who changed it",
        )
    return cycle or Cycle(story=story.id)


def prd_spend(state: BranchState) -> Spend:
    runs = (state.run(run_id) for run_id in state.run_ids())
    return sum((run.spend for run in runs if run), Spend())


def prd_seconds(state: BranchState) -> float:
    cycles = (state.cycle(name) for name in state.cycle_ids)
    return sum(step.seconds for cycle in cycles if cycle for step in cycle.steps)


def what_is_next(session: Session) -> Rest:
    """Why the loop ended when the number of steps was what ended it."""
    return ended_by_count(standing_outlook(session, session.store.load(head_of(session))))
