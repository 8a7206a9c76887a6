"""A story's own branch brought to the PRD's, one story at a time, under the PRD's lock.

Nothing else happened since it began: the PRD's branch is simply moved on. Else both are joined (`joins.py`), and the
story is integrated on top of the join, by the very gate that integrates any story. What cannot be joined begins again
on the new base (`begun_again.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from prd2pr.core.ahead import phase_ahead
from prd2pr.core.commit_message import JoinRef
from prd2pr.core.decide import Rest, without_refactoring
from prd2pr.core.out_of_time import lacked_time
from prd2pr.core.records import SETTLED, Cycle, Phase, Story
from prd2pr.errors import BranchMoved
from prd2pr.flows.attempts import Position, Stuck
from prd2pr.flows.begun_again import begin_again, times_begun_again
from prd2pr.flows.containment import watched
from prd2pr.flows.drive import RACES, Landed, block, landed, letting_go, position_of
from prd2pr.flows.joins import Apart, Join, broken_by_join, join_between, made_join, suite_of
from prd2pr.flows.outlook import outlook
from prd2pr.flows.peoples_work import story_joined_by
from prd2pr.flows.phases import integrated
from prd2pr.flows.session import Session
from prd2pr.flows.story_session import story_session
from prd2pr.ports import BranchWriter
from prd2pr.repo.store import BranchState

MOST_REFUSED = 2  # joins of one story; then a person decides

COMMITTED_MEANWHILE = (
    "somebody committed on {branch} while it was brought to {trunk}; that is no part of it, and kept as {ref}"
)

Outcome = Literal["integrated", "blocked", "again", "over", "waiting"]


@dataclass(frozen=True)
class Brought:
    """What became of a story's branch. `again`: it was put aside and begins anew on the new base. `over`: there is
    nothing to bring, since the story was settled or is in already. `waiting`: not now, and a person decides."""

    story: str
    outcome: Outcome
    head: str  # of the PRD's branch
    reason: str = ""
    joined: bool = False


@dataclass(frozen=True)
class Base:
    """What INTEGRATED is committed on; with the join that it is, if it is one."""

    commit: str
    join: Join | None = None


@dataclass(frozen=True)
class OntoTrunk:
    """What is committed on a story's branch or on a join moves the PRD's branch, from where it was looked at."""

    inner: BranchWriter
    trunk: str
    was: str

    def move(self, branch: str, new: str, old: str | None) -> str:
        del branch, old
        return self.inner.move(self.trunk, new, self.was)


def integrate_story(session: Session, story: str, own: Session | None = None, note: str = "") -> Brought:
    """`session`: the PRD's. `own` and `note`: the story's, where it was worked on in this process.

    A ready story is integrated; a blocked one is brought as it is, so that people see it. Whoever moves the PRD's
    branch meanwhile wins, and it is done again from there.
    """
    own = own or story_session(session, story)
    with session.git.lock(f"branch-{session.prd.id}", wait=True), session.git.lock(f"story-{session.prd.id}-{story}"):
        for _ in range(RACES - 1):
            try:
                return Bringing.at_heads(session, own, story, note).brought()
            except BranchMoved:
                session.progress.say("note", text=f"{session.branch} moved meanwhile; {story} is joined with it anew")
        return Bringing.at_heads(session, own, story, note).brought()


@dataclass(frozen=True)
class Bringing:
    session: Session
    own: Session
    story: str
    trunk: str  # the PRD's head
    tip: str  # the head of the story's branch; empty: there is none
    note: str = ""  # that no refactoring came; empty: it is on the branch

    @classmethod
    def at_heads(cls, session: Session, own: Session, story: str, note: str) -> Bringing:
        git = session.git
        return cls(session, own, story, git.rev(session.branch), git.branch_head(own.branch) or "", note)

    @property
    def onto(self) -> Session:
        """Who commits by it moves the PRD's branch, with the story's journal and its run's record."""
        branch = self.session.branch
        return replace(self.own, branch=branch, trunk="", writer=OntoTrunk(self.session.writer, branch, self.trunk))

    def brought(self) -> Brought:
        git = self.session.git
        if not self.tip or git.is_ancestor(self.tip, self.trunk):
            return self.over("")
        here = _story_in(self.session.store.load(self.trunk), self.story)
        if here is None or here.status in SETTLED:
            return self.over(f"{self.story} is {here.status if here else 'not in the plan any more'}")
        if self.is_blocked and (first := self.blocked_before()):
            return Brought(self.story, "waiting", self.trunk, f"{first} is blocked, and comes first")
        base = self.base()
        if isinstance(base, Apart):
            return self.refused(base)
        self.carry_to(base.commit)
        state = self.own.store.load(base.commit)
        found = _story_in(state, self.story)
        assert found is not None, "a join has it, and a branch that begins at the head too"
        if found.status == "blocked":
            return self.brought_blocked(base)
        return self.integrated(base, position_of(self.onto, base.commit, state, found))

    @property
    def is_blocked(self) -> bool:
        found = _story_in(self.own.store.load(self.tip), self.story)
        return found is not None and found.status == "blocked"

    def blocked_before(self) -> str:
        """Another story that waits for a person on the PRD's branch: of two only one could be decided about."""
        stories = self.session.store.load(self.trunk).backlog.stories
        return next((each.id for each in stories if each.status == "blocked"), "")

    def base(self) -> Base | Apart:
        """What INTEGRATED is committed on: the story's branch, where nothing came in between, else the join."""
        git = self.session.git
        if git.merge_base(self.trunk, self.tip) == self.trunk:
            return Base(self.tip)
        join = join_between(git, JoinRef(self.session.prd.id, self.story), self.trunk, self.tip)
        if isinstance(join, Apart):
            return join
        made = made_join(git, join)
        if isinstance(made, Apart):
            return made
        what = f"{self.story} with what was integrated meanwhile"
        self.own.progress.say("working", phase="join", attempt=1, what=what)
        self.own.runner.begin(suite_of(git, made), beside=True)  # its parents' suites may be run meanwhile
        return Base(made, join)

    def broken(self, base: Base) -> str:
        """Why a join does not hold; empty: it does, or there is none."""
        if base.join is None:
            return ""
        broken = broken_by_join(self.own.git, self.own.runner, base.join, base.commit)
        if lacked_time(broken):  # a busy machine is no reason to build a story twice
            broken = broken_by_join(self.own.git, self.own.runner, base.join, base.commit)
        return f"together the tests do not hold: {'; '.join(broken[:3])}" if broken else ""

    def carry_to(self, base: str) -> None:
        """What was spent and answered while the story waited belongs to the step that comes now."""
        git, journal = self.own.git, self.own.journal
        for old in {entry.head for entry in journal.entries()} - {base}:
            stale = git.has_commit(old) and story_joined_by(git.commit_info(old)) == self.story
            if old == self.tip or (stale and not git.is_ancestor(old, self.trunk)):
                journal.follow(old, base)

    def integrated(self, base: Base, position: Position) -> Brought:
        """INTEGRATED as an ordinary step, and the PRD's branch on it."""
        onto, story = self.onto, position.story
        due = phase_ahead(outlook(onto, position.state, story.id), story)
        come = (Phase.REFACTOR, Phase.INTEGRATED) if self.note else (Phase.INTEGRATED,)
        if isinstance(due, Rest) or due.phase not in come:
            reason = due.reason if isinstance(due, Rest) else f"{due.phase.value} comes first"
            return Brought(story.id, "waiting", self.trunk, reason)
        started = onto.clock.monotonic()
        note, broken = self.note or without_refactoring(position.cycle), partial(self.broken, base)
        with watched(onto, Phase.INTEGRATED, story.id, head=base.commit), letting_go(onto):
            phased = integrated(onto, position, note, broken if base.join else None)
            crossed = landed(onto, position, phased, started)
        if isinstance(crossed, Stuck):
            return self.stuck(position, crossed)
        assert isinstance(crossed, Landed), "INTEGRATED says nothing of a refactoring"
        self.forget(self.tip)
        return Brought(story.id, "integrated", crossed.head, joined=base.join is not None)

    def stuck(self, position: Position, stuck: Stuck) -> Brought:
        """Refused together with others, it begins again beside them; refused by itself, a person decides."""
        joined = position.head != self.tip
        if stuck.by_integration and joined:
            self.own.journal.follow(position.head, self.tip)
            return self.refused(Apart(stuck.reason))
        rest = block(self.onto, position, Phase.INTEGRATED, stuck)
        self.forget(self.tip)
        return Brought(self.story, "blocked", self.session.git.rev(self.session.branch), rest.reason, joined=joined)

    def brought_blocked(self, base: Base) -> Brought:
        if broken := self.broken(base):
            self.own.journal.follow(base.commit, self.tip)
            return self.refused(Apart(broken))
        head = self.session.writer.move(self.session.branch, base.commit, self.trunk)
        cycle = self.session.store.load(head).cycle(self.story)
        self.forget(self.tip)
        return Brought(self.story, "blocked", head, cycle.blocked if cycle else "", joined=base.join is not None)

    def refused(self, apart: Apart) -> Brought:
        """Once more on the new base; after that a person decides."""
        if apart.foreign:
            return Brought(self.story, "waiting", self.trunk, apart.reason)
        cycle = self.own.store.load(self.tip).cycle(self.story) or Cycle(story=self.story)
        refused = 1 + times_begun_again(cycle)
        self.say(f"{self.story} cannot be joined with what was integrated meanwhile: {apart.reason}")
        position = begin_again(self.own, self.story, self.trunk, self.tip, apart.reason)
        if refused < MOST_REFUSED:
            self.say(f"{self.story} begins again on what is integrated now")
            return Brought(self.story, "again", self.trunk, apart.reason)
        reason = f"it could not be joined with the other stories {refused} times, the last time since {apart.reason}"
        rest = block(self.onto, position, Phase.INTEGRATED, Stuck(reason))
        self.forget(position.head)
        return Brought(self.story, "blocked", self.session.git.rev(self.session.branch), rest.reason)

    def over(self, reason: str) -> Brought:
        """In already, or not wanted any more: what was worked out for nothing is kept aside."""
        if self.tip:
            if reason:
                self.aside(self.tip)
            self.forget(self.tip)
        return Brought(self.story, "over", self.trunk, reason)

    def forget(self, tip: str) -> None:
        """The branch has come to its end: the PRD's holds its commits up to `tip`, or they are kept aside. What
        somebody has put on it meanwhile is kept aside, too."""
        git, branch = self.session.git, self.own.branch
        while not git.delete_branch(branch, tip):
            moved = git.branch_head(branch)
            if moved is None:
                break
            if not git.is_ancestor(moved, tip):
                self.say(COMMITTED_MEANWHILE.format(branch=branch, trunk=self.session.branch, ref=self.aside(moved)))
            tip = moved
        self.own.journal.settle()

    def aside(self, commit: str) -> str:
        return self.session.git.set_aside(f"{self.session.prd.id}/{self.story}/{commit[:12]}", commit)

    def say(self, text: str) -> None:
        self.session.progress.say("note", text=text)


def _story_in(state: BranchState, story: str) -> Story | None:
    return next((each for each in state.backlog.stories if each.id == story), None)
