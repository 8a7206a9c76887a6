"""Unproven work on the branch: drafts, and commits that people pushed between phases.

`find_last_step` decides for the workflow and for `verify` which commits are unproven. Commits before a step that
changes no code (a design, a note) stay unproven; a note that undoes a step returns the branch to that step's base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.paths import PathRules, classify_path
from prd2pr.domain.records import Phase, Step
from prd2pr.domain.wording import clean_line, clip
from prd2pr.state.commit_message import StepRef, read_join, read_step
from prd2pr.state.git import CommitInfo, Git
from prd2pr.state.layout import HUMAN_FILES, STATE
from prd2pr.state.store import StateStore

ENDING_PHASES = GATED | {Phase.PLAN}
MAX_COMMITS = 5000  # there must be a plan within this number of first parents


@dataclass(frozen=True)
class LastStep:
    """The code tree that the last step proved, and the unproven commits since then, oldest first."""

    tree: str
    commits: tuple[CommitInfo, ...] = ()
    drafts: frozenset[str] = frozenset()  # commits made by the bot
    sound: bool = True  # false if there are merges or hand edits of the bot's state

    @property
    def people(self) -> tuple[str, ...]:
        """The authors' names without e-mail addresses, since they are published in commits and comments."""
        authors = (commit.author.partition(" <")[0] for commit in self.commits if commit.sha not in self.drafts)
        return tuple(dict.fromkeys(clip(clean_line(author), 60) for author in authors))


@dataclass(frozen=True)
class UnprovenWork:
    """Unproven commits, combined into one change of the code."""

    commits: tuple[CommitInfo, ...]
    base_tree: str
    head_tree: str
    people: tuple[str, ...]


def find_unproven_work(git: Git, head: str) -> UnprovenWork | None:
    """Return the unproven work, or None if it changes no code or cannot be judged as a whole."""
    last, tree = find_last_step(git, head), git.code_tree(head)
    if not last.commits or not last.sound or last.tree == tree:
        return None
    return UnprovenWork(last.commits, last.tree, tree, last.people)


def find_last_step(git: Git, head: str) -> LastStep:
    """Return the code tree that the last step proved, and the commits since then."""
    commits: list[CommitInfo] = []
    drafts: set[str] = set()
    undone: UndoneStep | None = None
    for commit in walk_first_parents(git, head):
        step = read_commit_step(commit)
        if undone is not None:
            if step and (step.story, step.n) == (undone.story, undone.n):
                if step.phase in ENDING_PHASES:
                    return _make_last_step(git, undone.tree, commits, drafts)
                undone = None
            elif step is None:
                commits.append(commit)
        elif find_joined_story(commit):
            return _make_last_step(git, git.code_tree(commit.sha), commits, drafts)  # each parent has its own last step
        elif step is None:
            commits.append(commit)
        elif step.phase in ENDING_PHASES:
            return _make_last_step(git, git.code_tree(commit.sha), commits, drafts)
        elif step.phase is Phase.NOTE and not is_code_unchanged(git, commit):
            recorded = load_recorded_step(git, commit, step)
            if recorded.undoes:
                undone = find_undone_step(git, commit, step, recorded.undoes)
            elif recorded.draft:
                commits.append(commit)
                drafts.add(commit.sha)
            else:  # a decision that removes tests; `verify` finds out which
                return _make_last_step(git, git.code_tree(commit.sha), commits, drafts)
    return LastStep(git.code_tree(head))


def list_unjudged_commits(git: Git, head: str, rules: PathRules) -> tuple[CommitInfo, ...]:
    """Return the commits since the last step that change more than docs.

    The result is empty if all commits together change nothing but docs.
    """
    last, tree = find_last_step(git, head), git.code_tree(head)
    if not last.commits or (last.tree and not changes_more_than_docs(git, last.tree, tree, rules)):
        return ()
    pairs = ((commit, git.code_tree(commit.parents[0]), git.code_tree(commit.sha)) for commit in last.commits)
    return tuple(commit for commit, old, new in pairs if changes_more_than_docs(git, old, new, rules))


def changes_more_than_docs(git: Git, old: str, new: str, rules: PathRules) -> bool:
    changes = git.diff(old, new) if old != new else ()
    return any(classify_path(change.path, rules) is not PathKind.DOCS for change in changes)


def walk_first_parents(git: Git, head: str) -> Iterator[CommitInfo]:
    commit = git.commit_info(head)
    for _ in range(MAX_COMMITS):
        yield commit
        if not commit.parents:
            return
        commit = git.commit_info(commit.parents[0])


def _make_last_step(git: Git, tree: str, found: list[CommitInfo], drafts: set[str]) -> LastStep:
    sound = all(commit.sha in drafts or is_bot_state_untouched(git, commit) for commit in found)
    return LastStep(tree, tuple(reversed(found)), frozenset(drafts), sound)


def read_commit_step(commit: CommitInfo) -> StepRef | None:
    """Return the step that a commit claims to be. Merges and root commits are never steps."""
    return read_step(commit.trailers) if len(commit.parents) == 1 else None


def find_joined_story(commit: CommitInfo) -> str:
    """Return the story whose branch a commit claims to merge into the PRD's branch, or an empty string."""
    join = read_join(commit.trailers) if len(commit.parents) == 2 else None
    return join.story if join else ""


def is_code_unchanged(git: Git, commit: CommitInfo) -> bool:
    return all(git.code_tree(parent) == git.code_tree(commit.sha) for parent in commit.parents)


def is_bot_state_untouched(git: Git, commit: CommitInfo) -> bool:
    """Return whether the commit leaves the bot's state unchanged. No gate can prove a hand edit of the state."""
    if len(commit.parents) != 1:
        return False
    changes = git.diff(git.tree(commit.parents[0]), git.tree(commit.sha))
    return not any(change.path.startswith(f"{STATE}/") and change.path not in HUMAN_FILES for change in changes)


@dataclass(frozen=True)
class UndoneStep:
    """The step that a note undoes, and the code tree before that step."""

    story: str
    n: int
    tree: str


def load_recorded_step(git: Git, commit: CommitInfo, step: StepRef) -> Step:
    """Return the step as recorded in its own commit, or a minimal one for a decision that belongs to no cycle."""
    cycle = StateStore(git, step.prd).load(commit.sha).cycle(step.story)
    if cycle is None or not cycle.steps:
        return Step(n=step.n, phase=step.phase, at=commit.at, code_tree="", evidence=step.evidence)
    return cycle.steps[-1]


def find_undone_step(git: Git, commit: CommitInfo, step: StepRef, n: int) -> UndoneStep:
    """Return step `n` and the code tree before it."""
    state = StateStore(git, step.prd).load(commit.sha)
    cycle = state.cycle(step.story)
    earlier = next((each for each in cycle.steps if each.n == n), None) if cycle else None
    proof = state.proof(step.story, n, earlier.phase) if earlier else None
    return UndoneStep(step.story, n, proof.evidence.base_tree if proof else "")
