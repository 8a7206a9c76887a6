"""Where a branch left its base. The branch itself must not decide that: it could leave commits out."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.hub import Pull
from prd2pr.core.layout import PRDS
from prd2pr.errors import CannotJudge, StateProblem
from prd2pr.repo.git import Git
from prd2pr.repo.store import StateStore

USUAL_BASES = ("main", "master", "trunk", "develop")
RANGE = "name the range yourself: prd2pr verify BASE..HEAD"


@dataclass(frozen=True)
class Start:
    """The first commit that is not judged, and which branch it was found by."""

    commit: str
    name: str


def start_of(git: Git, head: str) -> Start:
    """By a base that is known without the branch: HEAD's own branch, the remote's default, or a usual name."""
    ids = prd_ids(git, head)
    if not ids:
        raise CannotJudge("this branch holds no state of prd2pr", where=head[:10], remedy=RANGE)
    try:
        project = StateStore(git, ids[0]).load(head).project
    except StateProblem as problem:
        raise CannotJudge(problem.what, where=problem.where, remedy=problem.remedy) from problem
    known = known_bases(git, head)
    if not known:
        return Start(project.base_commit, "the branch's own record, since no base branch is here")
    name = project.base_branch if project.base_branch in known else next(iter(known))
    commit = git.merge_base(known[name], head)
    if commit is None:
        raise CannotJudge(f"the branch shares no history with {name}", where=head[:10], remedy=missing_history(git))
    if commit == head and git.is_ancestor(project.base_commit, head):
        return Start(project.base_commit, f"{name}, into which the branch was merged")
    return Start(commit, name)


def is_another_round(store: StateStore, head: str, base: str) -> bool:
    """The base held the PRD's state when the branch left it: an earlier pull request was merged."""
    left = store.git.merge_base(base, head)
    return left is not None and left != head and store.load(left).planned


def begun_after_merge(git: Git, head: str, base: str, pull: Pull) -> bool:
    """The merged pull request was of an earlier branch of this name: this one left the base with the merge in it.

    Followed along first parents, since a squash or rebase leaves a branch's own commits out of the base, and a merge of
    the base brings the pull request's own merge in.
    """
    own = git.log(f"{base}..{head}")
    if not own or not own[0].parents or not pull.merge_sha or not git.has_commit(pull.merge_sha):
        return False
    left = own[0].parents[0]
    return left != pull.head_sha and git.is_ancestor(pull.merge_sha, left)


def known_bases(git: Git, head: str) -> dict[str, str]:
    """Name → commit, the most telling first; the branch that is judged is none."""
    here = git.head_branch()
    names = (git.default_branch(), here or "", *USUAL_BASES)
    found = {name: git.branch_head(name) or git.remote_head(name) for name in names if name}
    return {name: sha for name, sha in found.items() if sha and sha != head}


def is_base(git: Git, name: str) -> bool:
    """Whether a branch is one that others start from: then its own steps were proved before they were merged."""
    return name in (*USUAL_BASES, git.default_branch())


def prd_ids(git: Git, commit: str) -> list[str]:
    return git.directories(commit, PRDS)


def missing_history(git: Git) -> str:
    shallow = (git.common_dir / "shallow").exists()
    return "this clone is shallow: git fetch --unshallow, then again" if shallow else RANGE
