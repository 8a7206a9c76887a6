"""Integrate a story's branch into the PRD's branch, one story at a time, under the PRD's lock.

If nothing was integrated since the story started, the PRD's branch moves forward. Otherwise the story's branch is
merged (`workflow/merges.py`), and the story is integrated on top of that merge by the ordinary gate. A story that
cannot be merged restarts on the new base (`restart.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from prd2pr.domain.machines.next_action import find_story_action
from prd2pr.domain.machines.next_phase import NoAction, find_no_refactoring_note
from prd2pr.domain.records import SETTLED, Cycle, Phase, Story
from prd2pr.domain.timeouts import has_timeout
from prd2pr.errors import BranchMoved
from prd2pr.state.commit_message import JoinRef
from prd2pr.state.store import BranchState
from prd2pr.workflow.breakers import record_failures
from prd2pr.workflow.human_commits import find_joined_story
from prd2pr.workflow.interfaces import BranchWriter
from prd2pr.workflow.merges import (
    Join,
    NotJoinable,
    commit_join,
    find_join_failures,
    make_whole_suite_request,
    plan_join,
)
from prd2pr.workflow.next_action import load_action_context
from prd2pr.workflow.parallel.restart import count_restarts, restart_story
from prd2pr.workflow.parallel.story_session import make_story_session
from prd2pr.workflow.phases.attempts import Position, Stuck
from prd2pr.workflow.phases.story_phases import run_integration
from prd2pr.workflow.run import MAX_RACES, CommittedPhase, block_story, commit_phase, load_position, release_runner
from prd2pr.workflow.session import Session

MAX_REFUSED_JOINS = 2  # per story, before a person decides

COMMITTED_MEANWHILE = (
    "a commit was added to {branch} while it was merged into {trunk}; that commit is not included, but is kept as {ref}"
)

IntegrationOutcome = Literal["integrated", "blocked", "again", "over", "waiting"]


@dataclass(frozen=True)
class IntegrationResult:
    """The result of integrating a story's branch.

    `again` means that the story restarts on the new base, `over` that there is nothing left to integrate, and `waiting`
    that a person must decide first.
    """

    story: str
    outcome: IntegrationOutcome
    head: str  # the PRD branch's head
    reason: str = ""
    joined: bool = False


@dataclass(frozen=True)
class IntegrationBase:
    """The commit on which INTEGRATED is based, with the story merge if that commit is one."""

    commit: str
    join: Join | None = None


@dataclass(frozen=True)
class TrunkWriter:
    """Moves the PRD's branch instead of the story's branch, starting at the head that was read."""

    inner: BranchWriter
    trunk: str
    expected: str

    def move(self, branch: str, new: str, old: str | None) -> str:
        del branch, old
        return self.inner.move(self.trunk, new, self.expected)

    def release(self, branch: str) -> str | None:
        return self.inner.release(branch)


def integrate_story(session: Session, story: str, own: Session | None = None, note: str = "") -> IntegrationResult:
    """Integrate a ready story, or record a blocked one on the PRD's branch, where people see it.

    `session` is the PRD's session. `own` and `note` are the story's session and note, if this process worked on the
    story. If the PRD's branch moves meanwhile, the integration is repeated on the new head.
    """
    own = own or make_story_session(session, story)
    with session.git.lock(f"branch-{session.prd.id}", wait=True), session.git.lock(f"story-{session.prd.id}-{story}"):
        for _ in range(MAX_RACES - 1):
            try:
                return StoryIntegration.at_heads(session, own, story, note).run()
            except BranchMoved:
                session.progress.say("note", text=f"{session.target.branch} moved; merging {story} again")
        return StoryIntegration.at_heads(session, own, story, note).run()


@dataclass(frozen=True)
class StoryIntegration:
    """One attempt to integrate a story's branch into the PRD's branch."""

    session: Session
    own: Session
    story: str
    trunk: str  # the PRD branch's head
    tip: str  # the head of the story's branch; empty if there is none
    note: str = ""  # the note that there is no refactoring; empty if the branch records it

    @classmethod
    def at_heads(cls, session: Session, own: Session, story: str, note: str) -> StoryIntegration:
        git = session.git
        return cls(session, own, story, git.rev(session.target.branch), git.branch_head(own.target.branch) or "", note)

    @property
    def trunk_session(self) -> Session:
        """A session that moves the PRD's branch, with the story's journal and run record."""
        branch = self.session.target.branch
        return replace(
            self.own,
            target=replace(self.own.target, branch=branch, prd_branch=""),
            services=replace(self.own.services, writer=TrunkWriter(self.session.services.writer, branch, self.trunk)),
        )

    def run(self) -> IntegrationResult:
        git = self.session.git
        if not self.tip or git.is_ancestor(self.tip, self.trunk):
            return self.finish("")
        story_on_trunk = _find_story(self.session.store.load(self.trunk), self.story)
        if story_on_trunk is None or story_on_trunk.status in SETTLED:
            return self.finish(
                f"{self.story} is {story_on_trunk.status if story_on_trunk else 'no longer in the plan'}"
            )
        if self.is_blocked and (other := self.find_blocked_story()):
            return IntegrationResult(
                self.story, "waiting", self.trunk, f"{other} is blocked and needs a decision first"
            )
        base = self.find_base()
        if isinstance(base, NotJoinable):
            return self.handle_refusal(base)
        self.move_journal(base.commit)
        state = self.own.store.load(base.commit)
        story = _find_story(state, self.story)
        assert story is not None, "the base contains the story"
        if story.status == "blocked":
            return self.integrate_blocked(base)
        return self.integrate(base, load_position(self.trunk_session, base.commit, state, story))

    @property
    def is_blocked(self) -> bool:
        found = _find_story(self.own.store.load(self.tip), self.story)
        return found is not None and found.status == "blocked"

    def find_blocked_story(self) -> str:
        """Return another blocked story on the PRD's branch, since people decide about one story at a time."""
        stories = self.session.store.load(self.trunk).backlog.stories
        return next((each.id for each in stories if each.status == "blocked"), "")

    def find_base(self) -> IntegrationBase | NotJoinable:
        """Return the story's branch, or its merge into the PRD's branch if another story was integrated meanwhile."""
        git = self.session.git
        if git.merge_base(self.trunk, self.tip) == self.trunk:
            return IntegrationBase(self.tip)
        join = plan_join(git, JoinRef(self.session.prd.id, self.story), self.trunk, self.tip)
        if isinstance(join, NotJoinable):
            return join
        commit = commit_join(git, join)
        if isinstance(commit, NotJoinable):
            return commit
        what = f"{self.story} with what was integrated meanwhile"
        self.own.progress.say("working", phase="join", attempt=1, what=what)
        self.own.services.runner.begin(
            make_whole_suite_request(git, commit), in_parallel=True
        )  # runs in parallel with the suites of both parents
        return IntegrationBase(commit, join)

    def find_failures(self, base: IntegrationBase) -> str:
        """Return why the suite fails after the merge, or an empty string if it passes or there is no merge."""
        if base.join is None:
            return ""
        failures = find_join_failures(self.own.git, self.own.services.runner, base.join, base.commit)
        if has_timeout(failures):  # retry once: a failure caused by a busy machine must not restart the story
            failures = find_join_failures(self.own.git, self.own.services.runner, base.join, base.commit)
        return f"tests fail after merging: {'; '.join(failures[:3])}" if failures else ""

    def move_journal(self, base: str) -> None:
        """Move the story's journal entries to the commit on which the next step is based."""
        git, journal = self.own.git, self.own.services.journal
        for old in {entry.head for entry in journal.entries()} - {base}:
            is_old_join = git.has_commit(old) and find_joined_story(git.commit_info(old)) == self.story
            if old == self.tip or (is_old_join and not git.is_ancestor(old, self.trunk)):
                journal.move_entries(old, base)

    def integrate(self, base: IntegrationBase, position: Position) -> IntegrationResult:
        """Commit INTEGRATED as an ordinary step and move the PRD's branch to it."""
        onto, story = self.trunk_session, position.story
        action = find_story_action(load_action_context(onto, position.state, story.id), story)
        expected = (Phase.REFACTOR, Phase.INTEGRATED) if self.note else (Phase.INTEGRATED,)
        if isinstance(action, NoAction) or action.phase not in expected:
            reason = action.reason if isinstance(action, NoAction) else f"{action.phase.value} comes first"
            return IntegrationResult(story.id, "waiting", self.trunk, reason)
        started = onto.clock.monotonic()
        note, find_failures = self.note or find_no_refactoring_note(position.cycle), partial(self.find_failures, base)
        with record_failures(onto, Phase.INTEGRATED, story.id, head=base.commit), release_runner(onto):
            outcome = run_integration(onto, position, note, find_failures if base.join else None)
            committed = commit_phase(onto, position, outcome, started)
        if isinstance(committed, Stuck):
            return self.handle_stuck(position, committed)
        assert isinstance(committed, CommittedPhase), "INTEGRATED never returns NotRefactored"
        self.delete_branch(self.tip)
        return IntegrationResult(story.id, "integrated", committed.head, joined=base.join is not None)

    def handle_stuck(self, position: Position, stuck: Stuck) -> IntegrationResult:
        """Restart the story if integration failed after a merge with other stories, otherwise block it."""
        joined = position.head != self.tip
        if stuck.by_integration and joined:
            self.own.services.journal.move_entries(position.head, self.tip)
            return self.handle_refusal(NotJoinable(stuck.reason))
        stop = block_story(self.trunk_session, position, Phase.INTEGRATED, stuck)
        self.delete_branch(self.tip)
        return IntegrationResult(
            self.story, "blocked", self.session.git.rev(self.session.target.branch), stop.reason, joined=joined
        )

    def integrate_blocked(self, base: IntegrationBase) -> IntegrationResult:
        if failures := self.find_failures(base):
            self.own.services.journal.move_entries(base.commit, self.tip)
            return self.handle_refusal(NotJoinable(failures))
        head = self.session.services.writer.move(self.session.target.branch, base.commit, self.trunk)
        cycle = self.session.store.load(head).cycle(self.story)
        self.delete_branch(self.tip)
        return IntegrationResult(
            self.story, "blocked", head, cycle.blocked if cycle else "", joined=base.join is not None
        )

    def handle_refusal(self, refusal: NotJoinable) -> IntegrationResult:
        """Restart the story on the new base, or block it for a person after the last restart."""
        if refusal.foreign:
            return IntegrationResult(self.story, "waiting", self.trunk, refusal.reason)
        cycle = self.own.store.load(self.tip).cycle(self.story) or Cycle(story=self.story)
        times = 1 + count_restarts(cycle)
        self.say(f"{self.story} cannot be merged with the stories integrated since: {refusal.reason}")
        position = restart_story(self.own, self.story, self.trunk, self.tip, refusal.reason)
        if times < MAX_REFUSED_JOINS:
            self.say(f"{self.story} restarts on the new base")
            return IntegrationResult(self.story, "again", self.trunk, refusal.reason)
        reason = f"it could not be merged with the other stories {times} times; last reason: {refusal.reason}"
        stop = block_story(self.trunk_session, position, Phase.INTEGRATED, Stuck(reason))
        self.delete_branch(position.head)
        return IntegrationResult(self.story, "blocked", self.session.git.rev(self.session.target.branch), stop.reason)

    def finish(self, reason: str) -> IntegrationResult:
        """End an integration that is not needed. Unused work is kept under a ref."""
        if self.tip:
            if reason:
                self.set_aside(self.tip)
            self.delete_branch(self.tip)
        return IntegrationResult(self.story, "over", self.trunk, reason)

    def delete_branch(self, tip: str) -> None:
        """Delete the story's branch. Commits that people added after `tip` are kept under a ref."""
        git, branch = self.session.git, self.own.target.branch
        while not git.delete_branch(branch, tip):
            new_tip = git.branch_head(branch)
            if new_tip is None:
                break
            if not git.is_ancestor(new_tip, tip):
                self.say(
                    COMMITTED_MEANWHILE.format(
                        branch=branch, trunk=self.session.target.branch, ref=self.set_aside(new_tip)
                    )
                )
            tip = new_tip
        self.own.services.journal.settle()

    def set_aside(self, commit: str) -> str:
        return self.session.git.set_aside(f"{self.session.prd.id}/{self.story}/{commit[:12]}", commit)

    def say(self, text: str) -> None:
        self.session.progress.say("note", text=text)


def _find_story(state: BranchState, story: str) -> Story | None:
    return next((each for each in state.backlog.stories if each.id == story), None)
