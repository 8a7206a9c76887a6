"""Merges of the base branch. No gate judges them, but the suite must still pass."""

from __future__ import annotations

from prd2pr.domain.documents import PLAIN_FILE
from prd2pr.languages.test_runner import RunRequest, TestRunner
from prd2pr.state.branch_base import find_branch_start
from prd2pr.state.git import CommitInfo, Git
from prd2pr.state.layout import PRDS
from prd2pr.verification.merged_suite import find_merge_breakage
from prd2pr.workflow.human_commits import (
    ENDING_PHASES,
    is_code_unchanged,
    list_unjudged_commits,
    read_commit_step,
    walk_first_parents,
)
from prd2pr.workflow.session import Session

Merges = tuple[CommitInfo, ...]


def is_base_merge(git: Git, commit: CommitInfo, base: str, docs: frozenset[str] = frozenset()) -> bool:
    """Return whether a commit is an unmodified merge of the base by git.

    `docs` lists the living docs: a person may resolve conflicts in them by hand.
    """
    if len(commit.parents) != 2 or not git.is_ancestor(commit.parents[1], base):
        return False
    return is_plain_merge(git, commit, docs) and is_own_state_kept(git, commit)


def is_plain_merge(git: Git, commit: CommitInfo, docs: frozenset[str]) -> bool:
    ours, theirs = commit.parents
    merged = git.merge_trees(ours, theirs, docs)
    if merged is None:
        return False
    differences = git.diff(merged, git.tree(commit.sha)) if merged != git.tree(commit.sha) else ()
    return all(change.path in docs and change.new_mode == PLAIN_FILE for change in differences)


def is_own_state_kept(git: Git, commit: CommitInfo) -> bool:
    """Return whether the merge leaves the state of this branch's PRDs unchanged."""
    ours, theirs = commit.parents
    fork_point = git.merge_base(ours, theirs)
    return fork_point is not None and list_changed_prds(git, fork_point, ours).isdisjoint(
        list_changed_prds(git, ours, commit.sha)
    )


def list_changed_prds(git: Git, old: str, new: str) -> set[str]:
    paths = (change.path for change in git.diff(git.tree(old), git.tree(new)) if change.path.startswith(f"{PRDS}/"))
    return {path.removeprefix(f"{PRDS}/").split("/")[0] for path in paths}


def list_base_merges(git: Git, commit: CommitInfo, base: str, docs: frozenset[str] = frozenset()) -> Merges:
    """Return this merge and the merges directly before it, oldest first, since a later one may fix an earlier one."""
    if not is_base_merge(git, commit, base, docs):
        return ()
    merges = [commit]
    for each in walk_first_parents(git, commit.parents[0]):
        step = read_commit_step(each)
        if is_base_merge(git, each, base, docs):
            merges.append(each)
        elif (step and step.phase in ENDING_PHASES) or len(each.parents) != 1 or not is_code_unchanged(git, each):
            break
    return tuple(reversed(merges))


def find_merge_failures(git: Git, runner: TestRunner, merges: Merges) -> tuple[str, ...]:
    """Return a message for each test that passed on one side of the merges but fails after the last one."""
    sides = dict.fromkeys((merges[0].parents[0], *(merge.parents[1] for merge in merges)))
    before = [runner.run(RunRequest(code_tree=git.code_tree(side))) for side in sides]
    return find_merge_breakage(before, runner.run(RunRequest(code_tree=git.code_tree(merges[-1].sha))))


def list_merges_if_only_base(session: Session, head: str) -> Merges:
    """Return the base merges since the last step, or nothing if other commits changed the code too."""
    git = session.git
    commits = list_unjudged_commits(git, head, session.constraints.paths)
    base, docs = (
        find_branch_start(git, head).commit if commits else "",
        frozenset(session.services.gathering.living_docs),
    )
    return commits if all(is_base_merge(git, commit, base, docs) for commit in commits) else ()


def list_passing_merges(session: Session, head: str) -> frozenset[str]:
    """Return the merges of the base after which the suite passes. `verify` applies the same rule."""
    git, passing, docs = session.git, set[str](), frozenset(session.services.gathering.living_docs)
    base = find_branch_start(git, head).commit
    for commit in reversed(git.log(f"{base}..{head}")):
        merges = () if commit.sha in passing else list_base_merges(git, commit, base, docs)
        failures = find_merge_failures(git, session.services.runner, merges) if merges else ()
        for failure in failures[:10]:
            session.progress.say("note", text=f"after merging the base: {failure}")
        if not failures:
            passing |= {merge.sha for merge in merges}
    return frozenset(passing)
