"""Move the PRD's branch first on GitHub, then in the local repository."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.errors import BranchMoved, BranchProblem, HubProblem
from prd2pr.github.client.commits import FileChange, LocalCommit
from prd2pr.github.client.errors import classify_error
from prd2pr.github.client.exchange import ApiResponse, RestCall
from prd2pr.state.git import Git
from prd2pr.state.remote import Remote, is_transient_error
from prd2pr.workflow.interfaces import BranchWriter

MOVED_MESSAGES = re.compile(
    r"stale info|non-fast-forward|fetch first|cannot lock ref|reference already exists", re.IGNORECASE
)
USER_IN_URL = re.compile(r"//[^/@\s]+@")

# A push has no HTTP status, so these messages are mapped to the status that the API would return.
STATUS_BY_MESSAGE: tuple[tuple[str, int], ...] = (
    (r"could not read (Username|Password)|Authentication failed|Invalid username or|bad credentials|error: 401", 401),
    (r"not granted|Permission to .+ denied|error: 403|archived|read-only", 403),
    (r"not found", 404),
    (r"error: 429|rate limit", 429),
)


def classify_push_error(branch: str, output: str) -> HubProblem | BranchProblem:
    """Turn the error output of `git push` into the errors that API calls raise."""
    words = USER_IN_URL.sub("//", output.strip())
    where = f"git push to {branch}"
    if MOVED_MESSAGES.search(words):
        return BranchMoved(
            f"{branch} was moved by someone else in the meantime",
            where=where,
            remedy="Run it again; it reloads the branch.",
        )
    status = next((code for pattern, code in STATUS_BY_MESSAGE if re.search(pattern, words, re.IGNORECASE)), 0)
    found = classify_error(RestCall("git push", "/git/refs/heads"), ApiResponse(status, {}, {"message": words}))
    if type(found) is not HubProblem:
        found.where = where
        return found
    return BranchProblem(
        f"git could not push: {' '.join(words.split())}",
        where=where,
        remedy="Fix the problem that git reports, then run it again; it continues from the last push.",
    )


@dataclass(frozen=True)
class GitPushWriter:
    """Moves branches with `git push`. The local branch follows GitHub's, even after `BranchMoved`."""

    git: Git
    remote: Remote

    def move(self, branch: str, new: str, old: str | None) -> str:
        attempt, pushed = 1, self.remote.push(branch, new, old)
        # the push may have succeeded although its response was lost
        while pushed.status and self.remote.head(branch) != new:
            problem = classify_push_error(branch, f"{pushed.stderr}\n{pushed.text}")
            if isinstance(problem, BranchMoved):
                sync_branch(self.git, self.remote, branch)
            if not is_transient_error(pushed.stderr) or not self.remote.policy.pause(attempt, pushed.stderr):
                raise problem
            attempt, pushed = attempt + 1, self.remote.push(branch, new, old)
        self.git.set_branch(branch, new)
        return new


@dataclass(frozen=True)
class SyncedApiWriter:
    """Moves branches through the API.

    GitHub's signed commits have different ids, so the local branch is reset to them.
    """

    inner: BranchWriter
    git: Git
    remote: Remote

    def move(self, branch: str, new: str, old: str | None) -> str:
        try:
            made = self.inner.move(branch, new, old)
        finally:
            sync_branch(self.git, self.remote, branch)
        return made


def sync_branch(git: Git, remote: Remote, branch: str) -> str | None:
    """Reset the local branch to its head on GitHub, and return that head."""
    head = remote.head(branch)
    if head is not None and not git.has_commit(head):
        remote.fetch(head, branch)
    git.set_branch(branch, head)
    return head


def sync_branches(git: Git, remote: Remote, prefix: str) -> dict[str, str]:
    """Reset all local branches with this prefix to their heads on GitHub, and return those heads."""
    heads = remote.branches(prefix)
    if not all(map(git.has_commit, heads.values())):
        remote.fetch_all(prefix)
    # others have moved in the meantime
    fetched = {branch: head for branch, head in heads.items() if git.has_commit(head)}
    for branch in (*fetched, *(set(git.branches(prefix)) - fetched.keys())):
        git.set_branch(branch, fetched.get(branch))
    return fetched


def delete_remote_branch(remote: Remote, branch: str, old: str) -> bool:
    """Delete the branch on GitHub. Return whether it is gone, even if someone else deleted it."""
    return remote.delete(branch, old).status == 0 or remote.head(branch) is None


@dataclass(frozen=True)
class LocalCommitReader:
    """Reads commits and files from the local repository for `ApiWriter`."""

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

    def is_descendant(self, new: str, old: str) -> bool:
        return self.git.is_ancestor(old, new)

    def content(self, blob: str) -> bytes:
        return self.git.read_blobs([blob])[blob]
