"""Moving the PRD's branch on the code host first, and on this machine after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.errors import BranchMoved
from prd2pr.forges.github.commits import FileChange, LocalCommit
from prd2pr.forges.github.push_problems import recognise_push
from prd2pr.ports import BranchWriter
from prd2pr.repo.git import Git
from prd2pr.repo.remote import Remote, is_passing, pauses


@dataclass(frozen=True)
class PushingWriter:
    """The code host decides; the branch here follows it. After BranchMoved it is where the host's is."""

    git: Git
    remote: Remote

    def move(self, branch: str, new: str, old: str | None) -> str:
        for pause in (*pauses(), None):
            pushed = self.remote.push(branch, new, old)
            if pushed.status == 0 or self.remote.head(branch) == new:  # applied, and the answer was lost
                break
            problem = recognise_push(branch, f"{pushed.stderr}\n{pushed.text}")
            if isinstance(problem, BranchMoved):
                follow(self.git, self.remote, branch)
            if pause is None or not is_passing(pushed.stderr):
                raise problem
            self.remote.sleep(pause)
        self.git.set_branch(branch, new)
        return new


@dataclass(frozen=True)
class FollowingWriter:
    """Commits that the host makes, and signs, have other names: the branch here takes them over."""

    inner: BranchWriter
    git: Git
    remote: Remote

    def move(self, branch: str, new: str, old: str | None) -> str:
        try:
            made = self.inner.move(branch, new, old)
        finally:
            follow(self.git, self.remote, branch)
        return made


def follow(git: Git, remote: Remote, branch: str) -> str | None:
    """The branch here, as it is on the code host."""
    head = remote.head(branch)
    if head is not None and not git.has_commit(head):
        remote.fetch(head, branch)
    git.set_branch(branch, head)
    return head


def follow_all(git: Git, remote: Remote, prefix: str) -> dict[str, str]:
    """Every branch here whose name begins so, as it is on the code host; with their heads."""
    heads = remote.branches(prefix)
    if not all(map(git.has_commit, heads.values())):
        remote.fetch_all(prefix)
    there = {branch: head for branch, head in heads.items() if git.has_commit(head)}  # else it moved meanwhile
    for branch in (*there, *(set(git.branches(prefix)) - there.keys())):
        git.set_branch(branch, there.get(branch))
    return there


def removed(remote: Remote, branch: str, old: str) -> bool:
    """Whether the branch is gone there, by whomever."""
    return remote.delete(branch, old).status == 0 or remote.head(branch) is None


@dataclass(frozen=True)
class CommitsHere:
    """What `ApiWriter` asks of the repository on this machine."""

    git: Git

    def commit(self, sha: str) -> LocalCommit:
        info = self.git.commit_info(sha)
        return LocalCommit(tree=info.tree, parents=info.parents, message=f"{info.subject}\n\n{info.body}")

    def changes(self, old: str, new: str) -> Iterable[FileChange]:
        for change in self.git.diff(old, new):
            deleted = change.status == "D"
            yield FileChange(
                change.path, change.old_mode if deleted else change.new_mode, None if deleted else change.new_blob
            )

    def follows(self, new: str, old: str) -> bool:
        return self.git.is_ancestor(old, new)

    def content(self, blob: str) -> bytes:
        return self.git.read_blobs([blob])[blob]
