"""Commits made through GitHub's API, which signs them as the bot: same tree and message, another SHA.

Every tree is compared with the one that was proved before the branch is moved to it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from prd2pr.errors import BranchMoved, HubProblem, ScopeMissing, TreeDiffers, WorkflowFilesLocked
from prd2pr.forges.github.exchange import Answer, Call, path
from prd2pr.forges.github.problems import WORKFLOW_FILES
from prd2pr.forges.github.wire import Wire, good

ENTRIES = 400  # of a tree in one request
BYTES = 5_000_000  # of texts in one request
PLAIN_FILE, SUBMODULE = "100644", "160000"
WORKFLOWS = ".github/workflows/"
MOVE = "mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }"


@dataclass(frozen=True)
class LocalCommit:
    tree: str
    parents: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class FileChange:
    path: str
    mode: str  # as git writes it, `100644`; of no matter where the file is deleted
    blob: str | None  # None: deleted


class LocalCommits(Protocol):
    """What is asked of the repository on this machine."""

    def commit(self, sha: str) -> LocalCommit: ...

    def changes(self, old: str, new: str) -> Iterable[FileChange]:
        """From commit to commit; a renamed file is one deleted and one added."""
        ...

    def content(self, blob: str) -> bytes: ...

    def follows(self, new: str, old: str) -> bool:
        """Whether `old` is part of what `new` is built on."""
        ...


class ApiWriter:
    """`ports.BranchWriter`. Only commits that GitHub does not have yet are made there."""

    def __init__(self, wire: Wire, local: LocalCommits) -> None:
        self._wire = wire
        self._local = local

    def move(self, branch: str, new: str, old: str | None) -> str:
        if self._head(branch) != old:
            raise _moved(branch)
        made: dict[str, str] = {}
        for sha in self._chain(new, old):
            made[sha] = self._make(sha, made)
        head = made.get(new, new)
        # A story that begins again leaves its steps behind, from exactly where they were.
        self._point(branch, head, old, force=old is not None and not self._local.follows(new, old))
        return head

    # --- commits ------------------------------------------------------------------------------------------------------

    def _chain(self, new: str, old: str | None) -> list[str]:
        """Oldest first: what lies between `old`, or any commit that GitHub has, and `new`.

        The newest of a branch that is moved was made just now, so GitHub is not asked for that one; what lies below it
        may be the head of a story's own branch.
        """
        chain: list[str] = []
        sha = new
        while sha != old and not ((chain or old is None) and self._is_there(sha)):
            chain.append(sha)
            parents = self._local.commit(sha).parents
            if not parents:
                raise _no_common(new)
            sha = parents[0]
        return chain[::-1]

    def _is_there(self, sha: str) -> bool:
        return self._wire.find(self._wire.at("git", "commits", sha)) is not None

    def _make(self, sha: str, made: dict[str, str]) -> str:
        commit = self._local.commit(sha)
        tree = self._tree(commit.parents[0], sha)
        if tree != commit.tree:
            raise _differs(tree, commit.tree, sha)
        # No author is named, since GitHub signs only what it may call its own.
        body = {
            "message": commit.message,
            "tree": tree,
            "parents": [made.get(parent, parent) for parent in commit.parents],
        }
        return str(self._wire.repeat(Call("POST", self._wire.at("git", "commits"), body=body))["sha"])

    def _tree(self, parent: str, sha: str) -> str:
        """Grown from the parent's tree; what is deleted goes first, so that a file can become a directory."""
        tree = self._local.commit(parent).tree
        changes = sorted(self._local.changes(parent, sha), key=lambda change: (change.blob is not None, change.path))
        for part in in_parts([self._entry(change) for change in changes]):
            tree = self._grow(tree, part)
        return tree

    def _grow(self, tree: str, entries: list[dict[str, Any]]) -> str:
        call = Call("POST", self._wire.at("git", "trees"), body={"base_tree": tree, "tree": entries})
        try:
            return str(self._wire.repeat(call)["sha"])
        except ScopeMissing as problem:
            # GitHub does not say that it is about these files.
            if not any(entry["path"].startswith(WORKFLOWS) for entry in entries):
                raise
            raise _workflow_files(call) from problem

    def _entry(self, change: FileChange) -> dict[str, Any]:
        """Text goes along with the tree: GitHub counts every object that is made by itself."""
        name = utf8(change.path)
        if change.blob is None:
            return {"path": name, "mode": PLAIN_FILE, "type": "blob", "sha": None}
        if change.mode == SUBMODULE:
            return {"path": name, "mode": SUBMODULE, "type": "commit", "sha": change.blob}
        entry: dict[str, Any] = {"path": name, "mode": change.mode, "type": "blob"}
        content = self._local.content(change.blob)
        try:
            return {**entry, "content": content.decode("utf-8")}
        except UnicodeDecodeError:
            return {**entry, "sha": self._blob(content)}

    def _blob(self, content: bytes) -> str:
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        return str(self._wire.repeat(Call("POST", self._wire.at("git", "blobs"), body=body))["sha"])

    # --- the branch ---------------------------------------------------------------------------------------------------

    def _head(self, branch: str) -> str | None:
        found = self._wire.find(self._wire.at("git", "ref", "heads", *branch.split("/")))
        return None if found is None else str(found["object"]["sha"])

    def _point(self, branch: str, new: str, old: str | None, *, force: bool) -> None:
        """By compare-and-swap: GitHub refuses to make a branch that is there, and to move one that is elsewhere.

        REST asks only for a fast-forward, and would write over a branch that somebody has just forced back.
        """
        if old is None:
            call = Call("POST", self._wire.at("git", "refs"), body={"ref": f"refs/heads/{branch}", "sha": new})
        else:
            update = {"name": f"refs/heads/{branch}", "beforeOid": old, "afterOid": new, "force": force}
            given = {"repositoryId": self._node(), "refUpdates": [update]}
            call = Call("POST", "/graphql", body={"query": MOVE, "variables": {"input": given}})
        done = self._wire.attempt(call, lambda: True if self._head(branch) == new else None)
        if not isinstance(done, Answer):
            return
        try:
            good(call, done)
        except HubProblem as problem:
            if self._head(branch) != old:
                raise _moved(branch) from problem
            raise

    def _node(self) -> str:
        return str(self._wire.get(path("repos", self._wire.owner, self._wire.name))["node_id"])


def in_parts(entries: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """As few requests as GitHub's limits on size allow."""
    parts: list[list[dict[str, Any]]] = []
    size = 0
    for entry in entries:
        weight = len(entry.get("content", ""))
        if not parts or len(parts[-1]) == ENTRIES or size + weight > BYTES:
            parts.append([])
            size = 0
        parts[-1].append(entry)
        size += weight
    return parts


def utf8(name: str) -> str:
    """git takes any bytes for a name, JSON does not."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise HubProblem(
            "a file's name is not UTF-8, and GitHub's API takes no other",
            where=ascii(name),
            remedy="Set `commit: git` in `.prd2pr.yml`, or rename the file.",
        ) from None
    return name


def _workflow_files(call: Call) -> WorkflowFilesLocked:
    return WorkflowFilesLocked(
        f"the token may not change files under `{WORKFLOWS.rstrip('/')}`",
        where=str(call),
        remedy=WORKFLOW_FILES,
    )


def _moved(branch: str) -> BranchMoved:
    return BranchMoved(
        f"somebody moved {branch} meanwhile", where=branch, remedy="Run it again: it reads the branch anew."
    )


def _differs(made: str, proved: str, sha: str) -> TreeDiffers:
    return TreeDiffers(
        f"the tree made through GitHub's API is {made}, and {proved} was proved",
        where=sha,
        remedy="The branch was not moved. Run it again; if it goes on, set `commit: git` in `.prd2pr.yml`.",
    )


def _no_common(sha: str) -> HubProblem:
    return HubProblem(
        "GitHub has no commit that this branch starts from",
        where=sha,
        remedy="Push the base branch first, then run it again.",
    )
