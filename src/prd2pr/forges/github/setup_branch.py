"""A branch with a few new files, made through GitHub's API: the server has no checkout of the repository."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from prd2pr.core.hub import Pull
from prd2pr.errors import HubProblem, ScopeMissing, WorkflowFilesLocked
from prd2pr.forges.github.exchange import Answer, Call, path
from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.wire import good

NOTHING_THERE = frozenset({404, 409})  # 409: the repository is empty


class SetupBranch:
    """`flows.offering.Offering` on GitHub."""

    def __init__(self, hub: GitHubHub) -> None:
        self._hub = hub
        self._wire = hub.wire

    def repository(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._wire.get(path("repos", self._wire.owner, self._wire.name))
        return found

    def head(self, branch: str) -> str | None:
        call = Call("GET", self._wire.at("git", "ref", "heads", *branch.split("/")))
        answer = self._wire.answer(call.path)
        return None if answer.status in NOTHING_THERE else str(good(call, answer).body["object"]["sha"])

    def text(self, name: str, commit: str) -> str | None:
        """Of a file; None where there is none."""
        found = self._wire.find(self._wire.at("contents", *name.split("/")), ref=commit)
        if found is None:
            return None
        try:
            return base64.b64decode(found["content"]).decode("utf-8", "replace")
        except (KeyError, TypeError, binascii.Error):
            return ""  # a directory, a link, something too large: it is there

    def make(self, branch: str, parent: str, files: Mapping[str, str], message: str) -> bool:
        """False: somebody else has made the branch meanwhile. Objects that no branch leads to do no harm."""
        commit = self._commit(parent, files, message)
        call = Call("POST", self._wire.at("git", "refs"), body={"ref": f"refs/heads/{branch}", "sha": commit})
        done = self._wire.attempt(call, lambda: True if self.head(branch) == commit else None)
        if not isinstance(done, Answer):
            return True
        try:
            good(call, done)
        except HubProblem:
            if self.head(branch) is None:
                raise
            return self.head(branch) == commit
        return True

    def _commit(self, parent: str, files: Mapping[str, str], message: str) -> str:
        base = self._wire.get(self._wire.at("git", "commits", parent))["tree"]["sha"]
        entries = [{"path": name, "mode": "100644", "type": "blob", "content": text} for name, text in files.items()]
        grow = Call("POST", self._wire.at("git", "trees"), body={"base_tree": base, "tree": entries})
        try:
            tree = self._wire.repeat(grow)["sha"]
        except ScopeMissing as problem:  # GitHub does not say that it is about these files
            raise WorkflowFilesLocked(
                "the App may not write workflow files",
                where=str(grow),
                remedy="Give the App the permission Workflows (write), and accept it in the installation.",
            ) from problem
        body = {"message": message, "tree": tree, "parents": [parent]}
        return str(self._wire.repeat(Call("POST", self._wire.at("git", "commits"), body=body))["sha"])

    def pull_of(self, branch: str, base: str) -> Pull | None:
        return self._hub.pull_of(branch, base)

    def open_pull(self, title: str, body: str, head: str, base: str) -> Pull:
        return self._hub.open_pull(title, body, head, base, draft=False)
