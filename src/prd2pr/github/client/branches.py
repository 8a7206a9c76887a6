"""Branches and files of a repository, read through the API without a clone."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime

from prd2pr.github.client.calls import RepositoryApi
from prd2pr.github.client.exchange import join_path

HEADS = "refs/heads/"


def list_heads(api: RepositoryApi, prefix: str) -> Mapping[str, str]:
    """Return the branches with this prefix and their heads."""
    rows = api.pages(api.path("git", "matching-refs", "heads") + join_path(*prefix.rstrip("/").split("/")))
    named = {str(row["ref"]).removeprefix(HEADS): str(row["object"]["sha"]) for row in rows}
    return {name: sha for name, sha in named.items() if name.startswith(prefix)}


def read_remote_file(api: RepositoryApi, name: str, sha: str = "") -> bytes | None:
    """Read a file at a commit, or on the default branch. Returns None if it does not exist."""
    found = api.get_optional(api.path("contents") + join_path(*name.split("/")), **({"ref": sha} if sha else {}))
    if not isinstance(found, dict) or found.get("encoding") != "base64":
        return None
    return base64.b64decode(str(found["content"]))


def read_commit_time(api: RepositoryApi, sha: str) -> float:
    commit = api.get(api.path("git", "commits", sha))
    return datetime.fromisoformat(str(commit["committer"]["date"])).timestamp()


def list_repositories(api: RepositoryApi) -> tuple[str, ...]:
    """Return the repositories of this token's installation, except archived ones."""
    rows = api.pages(join_path("installation", "repositories"), "repositories")
    return tuple(str(row["full_name"]) for row in rows if not row.get("archived"))
