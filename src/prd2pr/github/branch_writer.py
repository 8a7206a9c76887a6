"""Move the PRD's branch first on GitHub, then in the local repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prd2pr.domain.records import Phase
from prd2pr.errors import BranchMoved, BranchProblem, HubProblem, WorkflowFilesLocked
from prd2pr.github.client.commits import ApiWriter, FileChange, LocalCommit
from prd2pr.github.client.errors import classify_error
from prd2pr.github.client.exchange import ApiResponse, RestCall
from prd2pr.github.held_commits import CommitOnBranch, is_due, is_presentable
from prd2pr.state.git import Git
from prd2pr.state.layout import ID
from prd2pr.state.remote import HEADS, RefUpdate, Remote, is_transient_error
from prd2pr.state.work_ref import (
    WORK,
    build_work_ref,
    is_on_branch,
    list_work_refs,
    read_published_head,
    record_published_head,
    record_work_refs,
)
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.interfaces import BranchWriter

MOVED_MESSAGES = re.compile(
    r"stale info|non-fast-forward|fetch first|cannot lock ref|reference already exists", re.IGNORECASE
)
WORKFLOW_FILES = ".github/workflows"
ASIDE = "refs/prd2pr/aside"
USER_IN_URL = re.compile(r"//[^/@\s]+@")

# A push has no HTTP status, so these messages are mapped to the status that the API would return.
STATUS_BY_MESSAGE: tuple[tuple[str, int], ...] = (
    (r"could not read (Username|Password)|Authentication failed|Invalid username or|bad credentials|error: 401", 401),
    (r"not granted|Permission to .+ denied|error: 403|archived|read-only", 403),
    (r"not found", 404),
    (r"error: 429|rate limit", 429),
)


def classify_push_error(branch: str, output: str) -> HubProblem | BranchProblem:
    """Convert the error output of `git push` to the errors that API calls raise."""
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


def push_local_branch(git: Git, remote: Remote, branch: str) -> None:
    """Push a branch of this checkout. Commits that exist only on GitHub are never overwritten."""
    head, old = git.rev(branch), remote.head(branch)
    if old == head:
        return
    if old is not None and not (git.has_commit(old) and git.is_ancestor(old, head)):
        raise BranchProblem(
            f"{branch} on GitHub has commits that this checkout lacks",
            where=remote.url,
            remedy=f"git fetch origin, merge origin/{branch}, then run the same command again",
        )
    push_refs(remote, branch, (RefUpdate(f"{HEADS}{branch}", head, old),), lambda: None)


@dataclass(frozen=True)
class GitPushWriter:
    """Moves branches with `git push`. The local branch follows GitHub's, even after `BranchMoved`."""

    git: Git
    remote: Remote

    def move(self, branch: str, new: str, old: str | None) -> str:
        update = RefUpdate(f"{HEADS}{branch}", new, old)
        push_refs(self.remote, branch, (update,), lambda: sync_branch(self.git, self.remote, branch))
        self.git.set_branch(branch, new)
        return new

    def release(self, branch: str) -> str | None:
        return self.git.branch_head(branch)


def explain_locked_workflows(
    remote: Remote, branch: str, updates: tuple[RefUpdate, ...], problem: HubProblem | BranchProblem
) -> None:
    """Say what to do if the branch has not changed its workflow files, but the default branch has changed its own.

    GitHub compares them with those of the default branch and refuses a token without the permission Workflows.
    """
    default = remote.default_branch() if isinstance(problem, WorkflowFilesLocked) else ""
    new = next((each.new for each in updates if each.new), None)
    if not default or new is None:
        return
    head = remote.head(default)
    if head is not None and remote.is_behind(new, head, WORKFLOW_FILES):
        problem.what = (
            f"GitHub refuses {branch}, because `{WORKFLOW_FILES}` has changed on {default} since it was started"
        )
        problem.remedy = (
            f"Merge {default} into {branch}, with *Update branch* on the pull request or by: git fetch origin && "
            f"git switch {branch} && git merge origin/{default} && git push. Then run it again; nothing is lost."
        )


def push_refs(remote: Remote, branch: str, updates: tuple[RefUpdate, ...], resync: Callable[[], object]) -> None:
    """Push all updates or none. `resync` is called before `BranchMoved` is raised."""
    attempt, pushed = 1, remote.push(*updates)
    # the push may have succeeded although its response was lost
    while pushed.status and not is_pushed(remote, updates):
        problem = classify_push_error(branch, f"{pushed.stderr}\n{pushed.text}")
        if isinstance(problem, BranchMoved):
            resync()
        if not is_transient_error(pushed.stderr) or not remote.policy.pause(attempt, pushed.stderr):
            explain_locked_workflows(remote, branch, updates, problem)
            raise problem
        attempt, pushed = attempt + 1, remote.push(*updates)


def is_pushed(remote: Remote, updates: tuple[RefUpdate, ...]) -> bool:
    found = remote.refs(*(each.ref for each in updates))
    return all(found.get(each.ref) == each.new for each in updates)


@dataclass(frozen=True)
class SyncedApiWriter:
    """Moves branches through the API.

    GitHub's signed commits have different ids, so the local branch is reset to them.
    """

    inner: ApiWriter
    git: Git
    remote: Remote

    def move(self, branch: str, new: str, old: str | None) -> str:
        try:
            made = self.inner.move(branch, new, old)
        finally:
            sync_branch(self.git, self.remote, branch)
        return made

    def release(self, branch: str) -> str | None:
        return self.git.branch_head(branch)


# --- commits of unfinished stories ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoryPushWriter:
    """Moves a PRD's branch on GitHub once per story, and keeps the commits of the unfinished story on a work ref.

    The local branch has all commits. Story branches are moved with each commit.
    """

    inner: BranchWriter
    git: Git
    remote: Remote
    prefix: str
    every_phase: bool = False
    on_changed_code: Callable[[str], None] = lambda _: None  # called with the branch after such a push

    def move(self, branch: str, new: str, old: str | None) -> str:
        prd = branch.removeprefix(self.prefix)
        if not branch.startswith(self.prefix) or not ID.fullmatch(prd):
            return self.inner.move(branch, new, old)
        published = read_published_head(self.git, branch) if old is not None else None
        if published is None or old is None:
            return self._publish(branch, prd, new, None)
        if self.every_phase or is_due(CommitOnBranch(self.git, prd, published, old, new)):
            return self._publish(branch, prd, new, published)
        return self._hold(branch, prd, CommitOnBranch(self.git, prd, published, old, new))

    def release(self, branch: str) -> str | None:
        """Publish the held-back commits if the suite of the head passes, and return the branch's head on GitHub."""
        prd, head, published = branch.removeprefix(self.prefix), self.git.branch_head(branch), None
        if head is not None:
            published = read_published_head(self.git, branch)
        if head is None or published is None:
            return head
        if head != published and (self.every_phase or is_presentable(self.git, prd, published, head)):
            return self._publish(branch, prd, head, published)
        if head == published:
            self._push(branch, prd, (), clean_up(self.git, prd, published))
        return head

    def _hold(self, branch: str, prd: str, commit: CommitOnBranch) -> str:
        ref = build_work_ref(prd, commit.published)
        unmoved = RefUpdate(f"{HEADS}{branch}", commit.published, commit.published)
        held = RefUpdate(ref, commit.new, None if commit.old == commit.published else commit.old)
        self._push(branch, prd, (unmoved, held), list_done_work(self.git, prd, commit.published))
        self.git.set_branch(branch, commit.new)
        return commit.new

    def _publish(self, branch: str, prd: str, new: str, published: str | None) -> str:
        if isinstance(self.inner, GitPushWriter):
            update = RefUpdate(f"{HEADS}{branch}", new, published)
            self._push(branch, prd, (update,), clean_up(self.git, prd, new))
            self.git.set_branch(branch, new)
        else:
            new = self._create_by_api(branch, prd, new, published)
        record_published_head(self.git, branch, new)
        if published is not None and self.git.code_tree(new) != self.git.code_tree(published):
            self.on_changed_code(branch)
        return new

    def _create_by_api(self, branch: str, prd: str, new: str, published: str | None) -> str:
        """Create the commits with the API, then delete the work ref, because the signed copies have other ids."""
        try:
            made = self.inner.move(branch, new, published)
        except BranchMoved:
            sync_prd_branch(self.git, self.remote, branch, prd)
            raise
        self._push(branch, prd, (), clean_up(self.git, prd, made))
        return made

    def _push(self, branch: str, prd: str, updates: tuple[RefUpdate, ...], others: list[RefUpdate]) -> None:
        def resync() -> None:
            sync_prd_branch(self.git, self.remote, branch, prd)

        updates = (*updates, *others)
        if not updates:
            return
        push_refs(self.remote, branch, updates, resync)
        known = list_work_refs(self.git, prd) | {each.ref: each.new for each in updates if each.ref.startswith(WORK)}
        record_work_refs(self.git, prd, {ref: head for ref, head in known.items() if head is not None})


def list_done_work(git: Git, prd: str, published: str) -> list[RefUpdate]:
    """Return the updates that delete the work refs whose commits are already on the branch."""
    refs = list_work_refs(git, prd).items()
    return [RefUpdate(ref, None, held) for ref, held in refs if is_on_branch(git, held, published)]


def clean_up(git: Git, prd: str, published: str) -> list[RefUpdate]:
    """Return the updates that delete the work refs that are no longer needed.

    If the branch does not contain the work, its ref is kept until a story is integrated. Then the work is kept under
    another ref.
    """
    step, done = read_commit_step(git.commit_info(published)), list_done_work(git, prd, published)
    if step is None or step.phase is not Phase.INTEGRATED:
        return done
    kept = list_work_refs(git, prd).items() - {(each.ref, each.old) for each in done}
    aside = [RefUpdate(f"{ASIDE}/{prd}/{held[:12]}", held, None) for _, held in kept]
    return [*done, *(RefUpdate(ref, None, held) for ref, held in kept), *aside]


@dataclass(frozen=True)
class SyncedBranch:
    """A PRD's branch as read from GitHub: the head with held-back commits, and the head that people see."""

    head: str | None = None
    published: str | None = None


def sync_prd_branch(git: Git, remote: Remote, branch: str, prd: str) -> SyncedBranch:
    """Reset the local branch to its head on GitHub or, if there are held-back commits, to the last of them."""
    refs = remote.refs(f"{HEADS}{branch}", f"{WORK}/{prd}/*")
    published = refs.pop(f"{HEADS}{branch}", None)
    if published is not None and not git.has_commit(published):
        remote.fetch(published, branch)
    for ref, each in refs.items():
        if not git.has_commit(each):
            remote.fetch_ref(ref)
    record_work_refs(git, prd, refs)
    record_published_head(git, branch, published)
    held = refs.get(build_work_ref(prd, published)) if published is not None else None
    head = held if held is not None and published is not None and git.is_ancestor(published, held) else published
    git.set_branch(branch, head)
    return SyncedBranch(head, published)


# --- reading branches -------------------------------------------------------------------------------------------------


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
