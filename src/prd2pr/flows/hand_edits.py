"""State that somebody wrote by hand. Orders, cursors and verdicts are obeyed as the branch holds them, so only steps
may write them; a commit that is no step and touches them stops the work until it is taken back."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.layout import STATE
from prd2pr.errors import StateByHand
from prd2pr.flows.joins import is_exact_join
from prd2pr.flows.peoples_work import PEOPLES_FILES, step_of
from prd2pr.flows.session import Session
from prd2pr.repo.git import CommitInfo, Git

Blobs = dict[str, str]  # path → blob, of the bot's part of the state


def edited_by_hand(git: Git, base: str, head: str) -> CommitInfo | None:
    """The first commit since the base that wrote the bot's state without being a step, and is not taken back since."""
    standing: dict[str, tuple[str, CommitInfo]] = {}  # path → what it held before, and who changed it
    for commit in git.log_all(f"{base}..{head}"):
        if step_of(commit) is not None or is_exact_join(git, commit):
            continue
        for path, before, after in written_by(git, commit):
            was, _ = standing.setdefault(path, (before, commit))
            if was == after:
                del standing[path]
    return next((commit for _, commit in standing.values()), None)


def refuse_hand_edits(session: Session, *, moved: bool = False) -> None:
    """In the middle of a run: whoever's commit it now stands on, nothing that is written by hand there is obeyed."""
    head, log = session.git.branch_head(session.branch), session.log
    if head is None or head in (*log.made, log.seen) or not (moved or log.made):
        return
    commit = edited_by_hand(session.git, session.base_commit, head)
    if commit is not None:
        raise by_hand(commit, session.branch)
    log.seen = head


def by_hand(commit: CommitInfo, branch: str) -> StateByHand:
    sha = commit.sha[:10]
    return StateByHand(
        f"{sha} on {branch} changes {STATE}/ by hand, which only prd2pr's own steps may do",
        where=branch,
        remedy=f"Revert it and push: `git revert {sha}`. "
        f"If steps stand upon it already, put the branch back to the commit before {sha}.",
    )


def written_by(git: Git, commit: CommitInfo) -> Iterator[tuple[str, str, str]]:
    """Path, blob before and after. Of a merge, only what its parents do not account for."""
    mine = bots_state(git, commit.sha)
    parents = [bots_state(git, parent) for parent in commit.parents]
    first = parents[0] if parents else {}
    origin = git.merge_base(*commit.parents) if len(parents) == 2 else None
    old = bots_state(git, origin) if origin else {}
    for path in sorted({*mine, *old, *(each for parent in parents for each in parent)}):
        after, before = mine.get(path, ""), first.get(path, "")
        given = {parent.get(path, "") for parent in parents} or {""}
        if len(given) > 1 and origin is not None:
            # As git merges: the side that changed it counts, so that no merge brings an older state back.
            given = given - {old.get(path, "")}
        if after not in given:
            yield path, before, after


def bots_state(git: Git, commit: str) -> Blobs:
    return {entry.path: entry.blob for entry in git.entries(commit, STATE) if entry.path not in PEOPLES_FILES}
