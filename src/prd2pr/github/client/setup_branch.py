"""Create a branch with a few files through GitHub's API, because the server has no checkout."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from prd2pr.errors import HubProblem, ScopeMissing, WorkflowFilesLocked
from prd2pr.github.client.calls import check_response
from prd2pr.github.client.exchange import ApiResponse, RestCall, join_path
from prd2pr.github.client.hub import GitHubHub

MISSING_STATUSES = frozenset({404, 409})  # 409: the repository is empty


class SetupBranch:
    def __init__(self, hub: GitHubHub) -> None:
        self.hub = hub
        self._api = hub.api

    def repository(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._api.get(join_path("repos", self._api.owner, self._api.name))
        return found

    def branch_head(self, branch: str) -> str | None:
        call = RestCall("GET", self._api.path("git", "ref", "heads", *branch.split("/")))
        answer = self._api.get_response(call.path)
        return None if answer.status in MISSING_STATUSES else str(check_response(call, answer).body["object"]["sha"])

    def read_text(self, name: str, commit: str) -> str | None:
        """Return the text of a file, or None if it does not exist."""
        found = self._api.get_optional(self._api.path("contents", *name.split("/")), ref=commit)
        if found is None:
            return None
        try:
            return base64.b64decode(found["content"]).decode("utf-8", "replace")
        except (KeyError, TypeError, binascii.Error):
            return ""  # a directory, a link or a large file exists, but has no text

    def create_branch(self, branch: str, parent: str, files: Mapping[str, str], message: str) -> bool:
        """Create the branch with one commit. Return False if someone else created it in the meantime."""
        commit = self._commit(parent, files, message)
        call = RestCall("POST", self._api.path("git", "refs"), body={"ref": f"refs/heads/{branch}", "sha": commit})
        done = self._api.send_checked(call, lambda: True if self.branch_head(branch) == commit else None)
        if not isinstance(done, ApiResponse):
            return True
        try:
            check_response(call, done)
        except HubProblem:
            if self.branch_head(branch) is None:
                raise
            return self.branch_head(branch) == commit
        return True

    def _commit(self, parent: str, files: Mapping[str, str], message: str) -> str:
        base = self._api.get(self._api.path("git", "commits", parent))["tree"]["sha"]
        entries = [{"path": name, "mode": "100644", "type": "blob", "content": text} for name, text in files.items()]
        grow = RestCall("POST", self._api.path("git", "trees"), body={"base_tree": base, "tree": entries})
        try:
            tree = self._api.send_idempotent(grow)["sha"]
        except ScopeMissing as problem:  # GitHub's response does not name these files
            raise WorkflowFilesLocked(
                "the App is not allowed to write workflow files",
                where=str(grow),
                remedy="Give the App the permission Workflows (write), and accept it in the installation.",
            ) from problem
        body = {"message": message, "tree": tree, "parents": [parent]}
        return str(self._api.send_idempotent(RestCall("POST", self._api.path("git", "commits"), body=body))["sha"])
