"""What `/tdd undo` takes back, found from the commits alone: the flow and `verify` ask the same function."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.cycle_machine import GATED
from prd2pr.core.records import Cycle, Phase, Step
from prd2pr.flows.peoples_work import first_parents, step_of, story_joined_by
from prd2pr.repo.git import BlobRef, Git
from prd2pr.repo.store import BranchState, StateStore


@dataclass(frozen=True)
class Undoing:
    """One step taken back: which, the cycle's record before it, and the code without it."""

    step: Step
    earlier: Cycle
    tree: str
    drafts: frozenset[str] = frozenset()  # commits of work that no gate has judged, and that is gone now


@dataclass(frozen=True)
class CannotUndo:
    reason: str


def undoing(store: StateStore, head: str, story: str) -> Undoing | CannotUndo:
    """The last step of the story that led on and was not taken back before, with all drafts after it.

    Commits of people stay as they are. Whatever they, or another story, built on the same files is not thrown away.
    """
    git = store.git
    changes: list[tuple[str, str]] = []  # trees before and after, the newest first
    taken_back: set[int] = set()
    drafts: set[str] = set()
    for commit in first_parents(git, head):
        step = step_of(commit)
        if story_joined_by(commit) == story:
            return CannotUndo(f"{story} was worked on beside others, and only what came after its join can be undone")
        if step is None:
            continue
        if step.story != story:
            if step.phase in GATED:
                return CannotUndo(f"{step.story} was built upon it since")
            continue
        if step.n in taken_back:
            continue
        after, before = store.load(commit.sha), store.load(commit.parents[0])
        cycle, earlier = after.cycle(story), before.cycle(story) or Cycle(story=story)
        if cycle is None or not cycle.steps:
            raise store.missing(commit.sha, Cycle, store.paths.cycle(story))
        made = cycle.steps[-1]
        if made.draft:
            drafts.add(commit.sha)
        if made.undoes:
            taken_back |= set(range(made.undoes, made.n))
        elif made.phase is not Phase.NOTE or cycle.state is not earlier.state:
            changes.append((began_from(after, before, story, made), git.code_tree(commit.sha)))
            without = code_without(git, head, changes)
            return without if isinstance(without, CannotUndo) else Undoing(made, earlier, without, frozenset(drafts))
        elif made.draft:
            changes.append((git.code_tree(before.commit), git.code_tree(commit.sha)))
    return CannotUndo(f"no phase of {story} has been crossed that could be undone")


def began_from(after: BranchState, before: BranchState, story: str, step: Step) -> str:
    """Where a step proved people's commits too, it began before them.

    A code tree is looked up by a commit that has it: no commit holds one as it is, so a fresh clone does not have it.
    """
    git = before.store.git
    proof = after.proof(story, step.n, step.phase) if step.phase in GATED else None
    trees = (git.code_tree(commit.sha) for commit in first_parents(git, before.commit))
    here = git.code_tree(before.commit)
    return here if proof is None else next((tree for tree in trees if tree == proof.evidence.base_tree), here)


def code_without(git: Git, head: str, changes: list[tuple[str, str]]) -> str | CannotUndo:
    tree: str | CannotUndo = git.code_tree(head)
    for before, after in changes:
        if isinstance(tree, str):
            tree = reverted(git, tree, before, after)
    return tree


def reverted(git: Git, tree: str, before: str, after: str) -> str | CannotUndo:
    """`tree` without what changed from `before` to `after`, file by file."""
    there = {entry.path: (entry.blob, entry.mode) for entry in git.entries(tree)}
    updates: dict[str, bytes | BlobRef | None] = {}
    for change in git.diff(before, after):
        expected = (change.new_blob, change.new_mode) if change.new_blob else None
        if there.get(change.path) != expected:
            return CannotUndo(f"{change.path} has been changed since")
        updates[change.path] = BlobRef(change.old_blob, change.old_mode) if change.old_blob else None
    return git.edit_tree(tree, updates) if updates else tree
