"""Detect hand edits of the bot's state.

The orders, cursors and verdicts on the branch are trusted, so only the bot's steps may write them. If any other commit
changes them, work stops until that commit is reverted.
"""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.errors import StateByHand
from prd2pr.state.git import CommitInfo, Git
from prd2pr.state.layout import HUMAN_FILES, STATE
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.merges import is_exact_join
from prd2pr.workflow.session import Session

Blobs = dict[str, str]  # blob by path, for the bot's part of the state


def find_hand_edit(git: Git, base: str, head: str) -> CommitInfo | None:
    """Return the first commit since the base that edited the bot's state by hand and was not reverted."""
    edits: dict[str, tuple[str, CommitInfo]] = {}  # by path: the blob before, and the commit that changed it
    for commit in git.log_all(f"{base}..{head}"):
        if read_commit_step(commit) is not None or is_exact_join(git, commit):
            continue
        for path, before, after in list_unexplained_writes(git, commit):
            original, _ = edits.setdefault(path, (before, commit))
            if original == after:
                del edits[path]
    return next((commit for _, commit in edits.values()), None)


def refuse_hand_edits(session: Session, *, moved: bool = False) -> None:
    """Raise StateByHand if a commit added to the branch during this run edits the bot's state."""
    head, log = session.git.branch_head(session.target.branch), session.log
    if (
        head is None
        or head in (*log.branch_writes.commits, log.branch_writes.foreign_head)
        or not (moved or log.branch_writes.commits)
    ):
        return
    commit = find_hand_edit(session.git, session.target.base_commit, head)
    if commit is not None:
        raise make_hand_edit_error(commit, session.target.branch)
    log.branch_writes.foreign_head = head


def make_hand_edit_error(commit: CommitInfo, branch: str) -> StateByHand:
    sha = commit.sha[:10]
    return StateByHand(
        f"{sha} on {branch} changes {STATE}/ by hand; only steps of prd2pr may do that",
        where=branch,
        remedy=f"Revert it and push: `git revert {sha}`. "
        f"If there are steps on top of it, reset the branch to the commit before {sha}.",
    )


def list_unexplained_writes(git: Git, commit: CommitInfo) -> Iterator[tuple[str, str, str]]:
    """Yield path, old blob and new blob of each state file whose content comes from neither parent."""
    state = list_bot_state(git, commit.sha)
    parents = [list_bot_state(git, parent) for parent in commit.parents]
    first = parents[0] if parents else {}
    origin = git.merge_base(*commit.parents) if len(parents) == 2 else None
    old = list_bot_state(git, origin) if origin else {}
    for path in sorted({*state, *old, *(each for parent in parents for each in parent)}):
        after, before = state.get(path, ""), first.get(path, "")
        expected = {parent.get(path, "") for parent in parents} or {""}
        if len(expected) > 1 and origin is not None:
            # As in a git merge, only the side that changed the file counts, so no merge can restore an older state.
            expected = expected - {old.get(path, "")}
        if after not in expected:
            yield path, before, after


def list_bot_state(git: Git, commit: str) -> Blobs:
    return {entry.path: entry.blob for entry in git.entries(commit, STATE) if entry.path not in HUMAN_FILES}
