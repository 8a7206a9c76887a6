"""Find where a branch left its base, without trusting the branch's own records, which could omit commits."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.forge import Pull
from prd2pr.domain.records import Project
from prd2pr.errors import CannotJudge, StateProblem
from prd2pr.state.git import Git
from prd2pr.state.layout import PRDS, PROJECT
from prd2pr.state.store import StateStore

USUAL_BASES = ("main", "master", "trunk", "develop")
RANGE_REMEDY = "name the range yourself: prd2pr verify BASE..HEAD"


@dataclass(frozen=True)
class BranchStart:
    """The last commit before the branch, and the base branch by which it was found."""

    commit: str
    name: str


def find_branch_start(git: Git, head: str) -> BranchStart:
    """Find the branch's start from an independent base: HEAD's branch, the remote's default, or a common name."""
    ids = list_prd_ids(git, head)
    if not ids:
        raise CannotJudge("this branch has no prd2pr state", where=head[:10], remedy=RANGE_REMEDY)
    try:
        store = StateStore(git, ids[0])
        project = store.read(head, Project, PROJECT, git.tree(head))
        if project is None:
            raise store.missing(head, Project, PROJECT)
    except StateProblem as problem:
        raise CannotJudge(problem.what, where=problem.where, remedy=problem.remedy) from problem
    known = list_known_bases(git, head)
    if not known:
        return BranchStart(project.base_commit, "the branch's own record, since there is no base branch")
    name = project.base_branch if project.base_branch in known else next(iter(known))
    commit = git.merge_base(known[name], head)
    if commit is None:
        raise CannotJudge(f"the branch shares no history with {name}", where=head[:10], remedy=suggest_history_fix(git))
    if commit == head and git.is_ancestor(project.base_commit, head):
        return BranchStart(project.base_commit, f"{name}, into which the branch was merged")
    return BranchStart(commit, name)


def is_follow_up_branch(store: StateStore, head: str, base: str) -> bool:
    """Return whether the base already had the PRD's state when the branch left it.

    This is the case after an earlier pull request of the PRD was merged.
    """
    start = store.git.merge_base(base, head)
    return start is not None and start != head and store.load(start).planned


def is_started_after_merge(git: Git, head: str, base: str, pull: Pull) -> bool:
    """Return whether the branch started after the pull request of an earlier branch with the same name was merged.

    Only first parents are followed: a squash or rebase keeps a branch's own commits out of the base, and a merge of the
    base contains the pull request's merge.
    """
    own = git.log(f"{base}..{head}")
    if not own or not own[0].parents or not pull.merge_sha or not git.has_commit(pull.merge_sha):
        return False
    start = own[0].parents[0]
    return start != pull.head_sha and git.is_ancestor(pull.merge_sha, start)


def list_known_bases(git: Git, head: str) -> dict[str, str]:
    """Map the names of possible bases to their commits, the most likely first, without the branch itself."""
    here = git.head_branch()
    names = (git.default_branch(), here or "", *USUAL_BASES)
    found = {name: git.branch_head(name) or git.remote_head(name) for name in names if name}
    return {name: sha for name, sha in found.items() if sha and sha != head}


def is_base_branch(git: Git, name: str) -> bool:
    """Return whether other branches start from this one.

    The steps on such a branch were proved before they were merged.
    """
    return name in (*USUAL_BASES, git.default_branch())


def list_prd_ids(git: Git, commit: str) -> list[str]:
    return git.directories(commit, PRDS)


def suggest_history_fix(git: Git) -> str:
    shallow = (git.common_dir / "shallow").exists()
    return "this clone is shallow: run `git fetch --unshallow`, then try again" if shallow else RANGE_REMEDY
