"""Which commits `prd2pr query` is about, and what the trace of their PRDs is made from."""

from __future__ import annotations

from dataclasses import dataclass, field

from prd2pr.core.commit_message import read_step
from prd2pr.core.layout import PRDS, STATE
from prd2pr.core.picture_facts import BranchFacts, Key
from prd2pr.core.picture_parts import CommitFacts
from prd2pr.flows.accounts import read_stories
from prd2pr.flows.start import prd_ids
from prd2pr.repo.git import BlobRef, Git
from prd2pr.repo.store import StateStore


@dataclass(frozen=True)
class Remembered:
    """A tree with all that is to be asked about, and the commit at which each PRD stands."""

    tree: str
    heads: dict[str, str] = field(default_factory=dict)


def remembered(git: Git, prefix: str) -> Remembered:
    """HEAD's own state; where it has none, that of all branches of prd2pr together, since each knows something else."""
    head = git.rev("HEAD")
    if git.entries(head, STATE):
        return Remembered(git.tree(head), dict.fromkeys(prd_ids(git, head), head))
    heads = [git.rev(branch) for branch in git.branches(prefix)]
    if len(heads) == 1:
        return Remembered(git.join_state(git.tree(head), heads[0]), dict.fromkeys(prd_ids(git, heads[0]), heads[0]))
    heads.sort(key=lambda sha: (git.commit_info(sha).at, sha))  # what two of them have, the newest says
    files = {
        entry.path: BlobRef(entry.blob, entry.mode)
        for sha in heads
        for entry in git.entries(sha, STATE)
        if entry.kind == "blob"
    }
    own = {prd: sha for sha in heads for prd in prd_ids(git, sha)}
    own |= {name: sha for name in own if (sha := git.branch_head(f"{prefix}{name}"))}
    at_home = {
        entry.path: BlobRef(entry.blob, entry.mode)
        for name, sha in own.items()
        for entry in git.entries(sha, f"{PRDS}/{name}")
    }
    return Remembered(git.edit_tree(git.tree(head), {**files, **at_home}), own)


def branch_facts(git: Git, prd: str, head: str) -> BranchFacts | None:
    """What the trace of a PRD is made from; None where the commit holds no plan of it."""
    state = StateStore(git, prd).load(head)
    if state.prd is None:
        return None
    read = read_stories(state, state.cycle_ids)
    return BranchFacts(state.prd, state.backlog, state.status, read.cycles, read.proofs, step_commits(git, prd, head))


def step_commits(git: Git, prd: str, head: str) -> dict[Key, CommitFacts]:
    """The commits of a PRD's steps, also of a branch that was merged long ago."""
    found: dict[Key, CommitFacts] = {}
    for commit in git.log_saying(head, f"Tdd-Step: {prd}/"):
        step = read_step(commit.trailers)
        if step and step.prd == prd:
            found[step.story, step.n] = CommitFacts(commit.sha, commit.subject, commit.at)
    return found
