"""Plan what `/tdd undo` reverts, from the commits alone. The workflow and `verify` share this module."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import Cycle, Phase, Step
from prd2pr.state.git import BlobRef, Git
from prd2pr.state.store import BranchState, StateStore
from prd2pr.workflow.human_commits import find_joined_story, read_commit_step, walk_first_parents


@dataclass(frozen=True)
class UndoPlan:
    """A step to undo, with the cycle's record before it and the code without it."""

    step: Step
    earlier: Cycle
    tree: str
    drafts: frozenset[str] = frozenset()  # commits of unjudged work to remove too


@dataclass(frozen=True)
class CannotUndo:
    reason: str


def plan_undo(store: StateStore, head: str, story: str) -> UndoPlan | CannotUndo:
    """Plan how to undo the last step that advanced the story and is not undone yet, with all later drafts.

    Commits by people are kept. The undo is refused if they, or another story, have changed the same files since.
    """
    git = store.git
    changes: list[tuple[str, str]] = []  # trees before and after each change, newest first
    taken_back: set[int] = set()
    drafts: set[str] = set()
    for commit in walk_first_parents(git, head):
        step = read_commit_step(commit)
        if find_joined_story(commit) == story:
            return CannotUndo(f"{story} was built on its own branch; only steps after its merge can be undone")
        if step is None:
            continue
        if step.story != story:
            if step.phase in GATED:
                return CannotUndo(f"{step.story} was built on top of it since")
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
            changes.append((find_start_tree(after, before, story, made), git.code_tree(commit.sha)))
            without = revert_changes(git, head, changes)
            return without if isinstance(without, CannotUndo) else UndoPlan(made, earlier, without, frozenset(drafts))
        elif made.draft:
            changes.append((git.code_tree(before.commit), git.code_tree(commit.sha)))
    return CannotUndo(f"{story} has passed no phase that could be undone")


def find_start_tree(after: BranchState, before: BranchState, story: str, step: Step) -> str:
    """Return the code tree from which the step started.

    If the step also proved commits by people, this is the tree before them. The tree is looked up in the commits,
    because a fresh clone does not contain code trees without state.
    """
    git = before.store.git
    proof = after.proof(story, step.n, step.phase) if step.phase in GATED else None
    trees = (git.code_tree(commit.sha) for commit in walk_first_parents(git, before.commit))
    here = git.code_tree(before.commit)
    return here if proof is None else next((tree for tree in trees if tree == proof.evidence.base_tree), here)


def revert_changes(git: Git, head: str, changes: list[tuple[str, str]]) -> str | CannotUndo:
    tree: str | CannotUndo = git.code_tree(head)
    for before, after in changes:
        if isinstance(tree, str):
            tree = revert_change(git, tree, before, after)
    return tree


def revert_change(git: Git, tree: str, before: str, after: str) -> str | CannotUndo:
    """Return `tree` without the changes from `before` to `after`, file by file."""
    there = {entry.path: (entry.blob, entry.mode) for entry in git.entries(tree)}
    updates: dict[str, bytes | BlobRef | None] = {}
    for change in git.diff(before, after):
        expected = (change.new_blob, change.new_mode) if change.new_blob else None
        if there.get(change.path) != expected:
            return CannotUndo(f"{change.path} was changed since")
        updates[change.path] = BlobRef(change.old_blob, change.old_mode) if change.old_blob else None
    return git.edit_tree(tree, updates) if updates else tree
