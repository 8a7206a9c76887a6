"""Detect from the records alone, without running tests, that steps were rewritten after they were proved.

A rebase or an edited commit keeps trailers and evidence, but the code or state that they describe has changed.
"""

from __future__ import annotations

from prd2pr.errors import CannotJudge, InputInvalid, StateProblem
from prd2pr.proof.claims.commits import check_records
from prd2pr.proof.verify import load_claim
from prd2pr.state.branch_base import find_branch_start
from prd2pr.state.git import CommitInfo, Git
from prd2pr.verification.commit_check import BranchRefutation, UnprovedCommit
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.merges import list_branch_commits


def find_rewritten_steps(git: Git, head: str) -> BranchRefutation | None:
    """Return the rewritten steps of a branch, or None if the records of every step agree with its commit."""
    try:
        base = find_branch_start(git, head).commit
    except CannotJudge:
        return None  # the branch has no plan, so it has no steps
    return find_rewritten_since(git, base, head)


def find_rewritten_since(git: Git, base: str, head: str) -> BranchRefutation | None:
    steps = [commit for commit in list_branch_commits(git, base, head) if read_commit_step(commit) is not None]
    codes = {commit.sha: find_contradictions(git, commit) for commit in steps}
    bad = tuple(UnprovedCommit(each.sha, each.subject, codes[each.sha]) for each in steps if codes[each.sha])
    return BranchRefutation(len(steps) - len(bad), len(steps), bad, by_records=True) if bad else None


def find_contradictions(git: Git, commit: CommitInfo) -> tuple[str, ...]:
    step = read_commit_step(commit)
    assert step is not None, "only called for steps"
    try:
        found = [each.code for each in check_records(load_claim(git, commit, step)) if each.severity == "error"]
    except (StateProblem, InputInvalid):
        found = ["VER106"]
    return tuple(sorted(set(found)))
