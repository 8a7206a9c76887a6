"""Work on the branch since its last proved step: what people pushed between phases, and drafts.

`last_step` is the one answer to "since when", for the flow and for `verify` alike. Steps that change no code (designs,
notes) do not end the work before them; a note that undoes a step takes the branch back to what that step began from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.core.commit_message import StepRef, read_join, read_step
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import PathKind
from prd2pr.core.layout import ARCHITECTURE, BEST_PRACTICES, STATE
from prd2pr.core.paths import PathRules, classify_path
from prd2pr.core.records import Phase, Step
from prd2pr.core.wording import clip, plain
from prd2pr.repo.git import CommitInfo, Git
from prd2pr.repo.store import StateStore

ENDS = GATED | {Phase.PLAN}
PEOPLES_FILES = (ARCHITECTURE, BEST_PRACTICES)  # the part of the state that people may edit
SEARCHED = 5000  # commits; a branch without a plan among its first parents has no step to begin from


@dataclass(frozen=True)
class LastStep:
    """The code that the last step proved, and the commits since then that none has proved, the oldest first."""

    tree: str
    commits: tuple[CommitInfo, ...] = ()
    drafts: frozenset[str] = frozenset()  # of these, the bot's own
    sound: bool = True  # no merge among them, and nobody but the bot wrote the bot's state

    @property
    def people(self) -> tuple[str, ...]:
        """Names, without addresses: they go into commits and comments."""
        authors = (commit.author.partition(" <")[0] for commit in self.commits if commit.sha not in self.drafts)
        return tuple(dict.fromkeys(clip(plain(author), 60) for author in authors))


@dataclass(frozen=True)
class Work:
    """Commits that no step has proved yet, as one change of the code."""

    commits: tuple[CommitInfo, ...]
    base_tree: str
    head_tree: str
    people: tuple[str, ...]


def since_last_step(git: Git, head: str) -> Work | None:
    """None: there is none, it comes to nothing, or it is not such that a gate could judge it as one piece."""
    last, tree = last_step(git, head), git.code_tree(head)
    if not last.commits or not last.sound or last.tree == tree:
        return None
    return Work(last.commits, last.tree, tree, last.people)


def last_step(git: Git, head: str) -> LastStep:
    found: list[CommitInfo] = []
    drafts: set[str] = set()
    undone: Undone | None = None
    for commit in first_parents(git, head):
        step = step_of(commit)
        if undone is not None:
            if step and (step.story, step.n) == (undone.story, undone.n):
                if step.phase in ENDS:
                    return _last(git, undone.tree, found, drafts)
                undone = None
            elif step is None:
                found.append(commit)
        elif story_joined_by(commit):
            return _last(git, git.code_tree(commit.sha), found, drafts)  # both its sides have their own last step
        elif step is None:
            found.append(commit)
        elif step.phase in ENDS:
            return _last(git, git.code_tree(commit.sha), found, drafts)
        elif step.phase is Phase.NOTE and not keeps_code(git, commit):
            made = made_by(git, commit, step)
            if made.undoes:
                undone = undone_by(git, commit, step, made.undoes)
            elif made.draft:
                found.append(commit)
                drafts.add(commit.sha)
            else:  # a decision that takes tests away: verify works out which
                return _last(git, git.code_tree(commit.sha), found, drafts)
    return LastStep(git.code_tree(head))


def unjudged(git: Git, head: str, rules: PathRules) -> tuple[CommitInfo, ...]:
    """Commits since the last step that change more than docs, unless all of them together come to nothing."""
    last, tree = last_step(git, head), git.code_tree(head)
    if not last.commits or (last.tree and not changes_more_than_docs(git, last.tree, tree, rules)):
        return ()
    pairs = ((commit, git.code_tree(commit.parents[0]), git.code_tree(commit.sha)) for commit in last.commits)
    return tuple(commit for commit, old, new in pairs if changes_more_than_docs(git, old, new, rules))


def changes_more_than_docs(git: Git, old: str, new: str, rules: PathRules) -> bool:
    changes = git.diff(old, new) if old != new else ()
    return any(classify_path(change.path, rules) is not PathKind.DOCS for change in changes)


def first_parents(git: Git, head: str) -> Iterator[CommitInfo]:
    commit = git.commit_info(head)
    for _ in range(SEARCHED):
        yield commit
        if not commit.parents:
            return
        commit = git.commit_info(commit.parents[0])


def _last(git: Git, tree: str, found: list[CommitInfo], drafts: set[str]) -> LastStep:
    sound = all(commit.sha in drafts or is_sound(git, commit) for commit in found)
    return LastStep(tree, tuple(reversed(found)), frozenset(drafts), sound)


def step_of(commit: CommitInfo) -> StepRef | None:
    """What a commit claims to be. A merge or a root is no step, whatever it says."""
    return read_step(commit.trailers) if len(commit.parents) == 1 else None


def story_joined_by(commit: CommitInfo) -> str:
    """The story whose own branch a commit says it joins with the PRD's; empty: it says no such thing."""
    join = read_join(commit.trailers) if len(commit.parents) == 2 else None
    return join.story if join else ""


def keeps_code(git: Git, commit: CommitInfo) -> bool:
    return all(git.code_tree(parent) == git.code_tree(commit.sha) for parent in commit.parents)


def is_sound(git: Git, commit: CommitInfo) -> bool:
    """What was written into the bot's state by hand is never proved by a step that judges code."""
    if len(commit.parents) != 1:
        return False
    changes = git.diff(git.tree(commit.parents[0]), git.tree(commit.sha))
    return not any(change.path.startswith(f"{STATE}/") and change.path not in PEOPLES_FILES for change in changes)


@dataclass(frozen=True)
class Undone:
    """The step that a note takes back, and the code that the step began from."""

    story: str
    n: int
    tree: str


def made_by(git: Git, commit: CommitInfo, step: StepRef) -> Step:
    """The step as its own commit records it. A decision about the project is in no cycle."""
    cycle = StateStore(git, step.prd).load(commit.sha).cycle(step.story)
    if cycle is None or not cycle.steps:
        return Step(n=step.n, phase=step.phase, at=commit.at, code_tree="", evidence=step.evidence)
    return cycle.steps[-1]


def undone_by(git: Git, commit: CommitInfo, step: StepRef, n: int) -> Undone:
    state = StateStore(git, step.prd).load(commit.sha)
    cycle = state.cycle(step.story)
    earlier = next((each for each in cycle.steps if each.n == n), None) if cycle else None
    proof = state.proof(step.story, n, earlier.phase) if earlier else None
    return Undone(step.story, n, proof.evidence.base_tree if proof else "")
