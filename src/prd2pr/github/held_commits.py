"""Decide which commits of a PRD are pushed at once, and which are held back until the story is finished.

Pushing a failing suite makes the repository's CI fail and notifies people, so it is done only if someone asked for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.machines.story_transitions import drop_undone_steps
from prd2pr.domain.records import Cycle, CycleState, Phase
from prd2pr.state.git import Git
from prd2pr.state.store import BranchState, StateStore
from prd2pr.workflow.human_commits import read_commit_step


@dataclass(frozen=True)
class CommitOnBranch:
    """A new commit, and the branch that it continues."""

    git: Git
    prd: str
    published: str  # the branch's head on GitHub
    old: str
    new: str


def is_due(commit: CommitOnBranch) -> bool:
    """Return whether this commit is pushed to the branch on GitHub.

    This is the case for an integrated story and for a change that a person requested. Every phase is pushed too, unless
    `/tdd run` is in force: without it, each phase is requested by a separate command.
    """
    step = read_commit_step(commit.git.commit_info(commit.new))
    store = StateStore(commit.git, commit.prd)
    before, after = store.load(commit.old).status, store.load(commit.new).status
    if step is not None and step.phase not in (Phase.PLAN, Phase.NOTE, Phase.INTEGRATED):
        return after.order != "run"
    if step is not None and step.phase is Phase.NOTE:
        if (before.cursors, before.orders) == (after.cursors, after.orders):
            return False
        if commit.old == commit.published:
            return True
    return is_presentable(commit.git, commit.prd, commit.published, commit.new)


def is_presentable(git: Git, prd: str, published: str, head: str) -> bool:
    """Return whether `head` can be pushed: its code was pushed before, or no story has failing tests or a draft."""
    unchanged = git.code_tree(published) == git.code_tree(head)
    return unchanged or not has_unproven_work(StateStore(git, prd).load(head))


def has_unproven_work(state: BranchState) -> bool:
    started = (story.id for story in state.backlog.stories if story.status in ("in_progress", "blocked"))
    cycles = (state.cycle(story) for story in started)
    return any(is_unproven(cycle) for cycle in cycles if cycle is not None)


def is_unproven(cycle: Cycle) -> bool:
    """Return whether the story's tests still fail, or its last step is a draft."""
    steps = drop_undone_steps(cycle.steps)
    failing = cycle.state is CycleState.CODE_GREEN and any(step.phase is Phase.RED for step in steps)
    return failing or bool(steps and steps[-1].draft)
