"""Create commits through GitHub's API, which signs them as the bot.

Tree and message stay the same, but the SHA changes. Before the branch is moved, each tree is compared with the one that
was proved.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from prd2pr.errors import BranchMoved, HubProblem, ScopeMissing, TreeDiffers, WorkflowFilesLocked
from prd2pr.github.client.calls import RepositoryApi, check_response
from prd2pr.github.client.errors import WORKFLOW_FILES_REMEDY
from prd2pr.github.client.exchange import ApiResponse, RestCall, join_path

MAX_ENTRIES = 400  # tree entries in one request
MAX_BYTES = 5_000_000  # file contents in one request
PLAIN_FILE, SUBMODULE = "100644", "160000"
WORKFLOW_DIRECTORY = ".github/workflows/"
UPDATE_REFS = "mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }"


@dataclass(frozen=True)
class LocalCommit:
    tree: str
    parents: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class FileChange:
    path: str
    mode: str  # as in git, for example `100644`; ignored for a deleted file
    blob: str | None  # None if the file was deleted


class LocalCommits(Protocol):
    """Read access to the local repository."""

    def commit(self, sha: str) -> LocalCommit: ...

    def changes(self, old: str, new: str) -> Iterable[FileChange]:
        """Yield the changes between two commits. A renamed file is one deletion and one addition."""
        ...

    def content(self, blob: str) -> bytes: ...

    def is_descendant(self, new: str, old: str) -> bool: ...


class ApiWriter:
    """A `BranchWriter` that uses the API to create the commits that GitHub does not have yet."""

    def __init__(self, api: RepositoryApi, local: LocalCommits) -> None:
        self._api = api
        self._local = local

    def move(self, branch: str, new: str, old: str | None) -> str:
        if self._branch_head(branch) != old:
            raise _moved_error(branch)
        made: dict[str, str] = {}
        for sha in self._missing_commits(new, old):
            made[sha] = self._create_commit(sha, made)
        head = made.get(new, new)
        # A restarted story drops its steps, so it must overwrite the branch, but only if it is still at `old`.
        self._update_ref(branch, head, old, force=old is not None and not self._local.is_descendant(new, old))
        return head

    # --- commits ------------------------------------------------------------------------------------------------------

    def _missing_commits(self, new: str, old: str | None) -> list[str]:
        """List the commits after `old`, or after the latest commit that GitHub has, up to `new`, oldest first.

        `new` was just made, so GitHub is only asked about its ancestors, one of which may be a story branch's head.
        """
        chain: list[str] = []
        sha = new
        while sha != old and not self._is_known(sha, old, is_first=not chain):
            chain.append(sha)
            parents = self._local.commit(sha).parents
            if not parents:
                raise _no_base_error(new)
            sha = parents[0]
        return chain[::-1]

    def _is_known(self, sha: str, old: str | None, *, is_first: bool) -> bool:
        """Return whether the commit needs no copy.

        Every commit after `old` needs one, even if a work ref has it on GitHub.
        """
        if old is not None and (is_first or self._local.is_descendant(sha, old)):
            return False
        return self._exists_on_github(sha)

    def _exists_on_github(self, sha: str) -> bool:
        return self._api.get_optional(self._api.path("git", "commits", sha)) is not None

    def _create_commit(self, sha: str, made: dict[str, str]) -> str:
        commit = self._local.commit(sha)
        tree = self._create_tree(commit.parents[0], sha)
        if tree != commit.tree:
            raise _tree_differs_error(tree, commit.tree, sha)
        # No author: GitHub signs only commits of its own account.
        body = {
            "message": commit.message,
            "tree": tree,
            "parents": [made.get(parent, parent) for parent in commit.parents],
        }
        return str(self._api.send_idempotent(RestCall("POST", self._api.path("git", "commits"), body=body))["sha"])

    def _create_tree(self, parent: str, sha: str) -> str:
        """Create the tree from the parent's. Deletions come first, so that a directory can replace a file."""
        tree = self._local.commit(parent).tree
        changes = sorted(self._local.changes(parent, sha), key=lambda change: (change.blob is not None, change.path))
        for part in split_entries([self._tree_entry(change) for change in changes]):
            tree = self._extend_tree(tree, part)
        return tree

    def _extend_tree(self, tree: str, entries: list[dict[str, Any]]) -> str:
        call = RestCall("POST", self._api.path("git", "trees"), body={"base_tree": tree, "tree": entries})
        try:
            return str(self._api.send_idempotent(call)["sha"])
        except ScopeMissing as problem:
            # GitHub's response does not name these files.
            if not any(entry["path"].startswith(WORKFLOW_DIRECTORY) for entry in entries):
                raise
            raise _workflow_files_error(call) from problem

    def _tree_entry(self, change: FileChange) -> dict[str, Any]:
        """Build a tree entry with inline text. Separate blobs would count towards the rate limit."""
        name = require_utf8(change.path)
        if change.blob is None:
            return {"path": name, "mode": PLAIN_FILE, "type": "blob", "sha": None}
        if change.mode == SUBMODULE:
            return {"path": name, "mode": SUBMODULE, "type": "commit", "sha": change.blob}
        entry: dict[str, Any] = {"path": name, "mode": change.mode, "type": "blob"}
        content = self._local.content(change.blob)
        try:
            return {**entry, "content": content.decode("utf-8")}
        except UnicodeDecodeError:
            return {**entry, "sha": self._create_blob(content)}

    def _create_blob(self, content: bytes) -> str:
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        return str(self._api.send_idempotent(RestCall("POST", self._api.path("git", "blobs"), body=body))["sha"])

    # --- the branch ---------------------------------------------------------------------------------------------------

    def _branch_head(self, branch: str) -> str | None:
        found = self._api.get_optional(self._api.path("git", "ref", "heads", *branch.split("/")))
        return None if found is None else str(found["object"]["sha"])

    def _update_ref(self, branch: str, new: str, old: str | None, *, force: bool) -> None:
        """Create or move the branch, atomically and only if it is still at `old`.

        Uses GraphQL for moves: REST only checks for a fast-forward and would overwrite a branch that was just reset.
        """
        if old is None:
            call = RestCall("POST", self._api.path("git", "refs"), body={"ref": f"refs/heads/{branch}", "sha": new})
        else:
            update = {"name": f"refs/heads/{branch}", "beforeOid": old, "afterOid": new, "force": force}
            given = {"repositoryId": self._repository_node_id(), "refUpdates": [update]}
            call = RestCall("POST", "/graphql", body={"query": UPDATE_REFS, "variables": {"input": given}})
        done = self._api.send_checked(call, lambda: True if self._branch_head(branch) == new else None)
        if not isinstance(done, ApiResponse):
            return
        try:
            check_response(call, done)
        except HubProblem as problem:
            if self._branch_head(branch) != old:
                raise _moved_error(branch) from problem
            raise

    def _repository_node_id(self) -> str:
        return str(self._api.get(join_path("repos", self._api.owner, self._api.name))["node_id"])


def split_entries(entries: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Split tree entries into as few requests as GitHub's limits allow."""
    parts: list[list[dict[str, Any]]] = []
    size = 0
    for entry in entries:
        weight = len(entry.get("content", ""))
        if not parts or len(parts[-1]) == MAX_ENTRIES or size + weight > MAX_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(entry)
        size += weight
    return parts


def require_utf8(name: str) -> str:
    """Return the name, or raise an error if JSON cannot represent it. Git allows any bytes in a name."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise HubProblem(
            "a file name is not UTF-8, which GitHub's API requires",
            where=ascii(name),
            remedy="Set `commit: git` in `.prd2pr.yml`, or rename the file.",
        ) from None
    return name


def _workflow_files_error(call: RestCall) -> WorkflowFilesLocked:
    return WorkflowFilesLocked(
        f"the token is not allowed to change files under `{WORKFLOW_DIRECTORY.rstrip('/')}`",
        where=str(call),
        remedy=WORKFLOW_FILES_REMEDY,
    )


def _moved_error(branch: str) -> BranchMoved:
    return BranchMoved(
        f"{branch} was moved by someone else in the meantime",
        where=branch,
        remedy="Run it again; it reloads the branch.",
    )


def _tree_differs_error(made: str, proved: str, sha: str) -> TreeDiffers:
    return TreeDiffers(
        f"the tree created through GitHub's API is {made}, but {proved} was proved",
        where=sha,
        remedy="The branch was not moved. Run it again; if the problem persists, set `commit: git` in `.prd2pr.yml`.",
    )


def _no_base_error(sha: str) -> HubProblem:
    return HubProblem(
        "the commit that this branch starts from is not on GitHub",
        where=sha,
        remedy="Push the base branch first, then run it again.",
    )
