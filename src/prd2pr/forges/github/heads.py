"""Branches and files of a repository through the API, for who has no clone of it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime

from prd2pr.forges.github.exchange import path
from prd2pr.forges.github.wire import Wire

HEADS = "refs/heads/"


def heads(wire: Wire, prefix: str) -> Mapping[str, str]:
    """Every branch whose name begins so, with its head."""
    rows = wire.pages(wire.at("git", "matching-refs", "heads") + path(*prefix.rstrip("/").split("/")))
    named = {str(row["ref"]).removeprefix(HEADS): str(row["object"]["sha"]) for row in rows}
    return {name: sha for name, sha in named.items() if name.startswith(prefix)}


def file_at(wire: Wire, name: str, sha: str = "") -> bytes | None:
    """In this commit; without one, on the default branch."""
    found = wire.find(wire.at("contents") + path(*name.split("/")), **({"ref": sha} if sha else {}))
    if not isinstance(found, dict) or found.get("encoding") != "base64":
        return None
    return base64.b64decode(str(found["content"]))


def committed_at(wire: Wire, sha: str) -> float:
    commit = wire.get(wire.at("git", "commits", sha))
    return datetime.fromisoformat(str(commit["committer"]["date"])).timestamp()


def repositories(wire: Wire) -> tuple[str, ...]:
    """All that this token's installation has; archived ones take no work."""
    rows = wire.pages(path("installation", "repositories"), "repositories")
    return tuple(str(row["full_name"]) for row in rows if not row.get("archived"))
