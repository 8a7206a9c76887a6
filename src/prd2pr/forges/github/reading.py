"""GitHub's JSON, read into `core.hub`: only what is needed, so that what GitHub adds elsewhere is no matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prd2pr.core.hub import ENDS, LEVELS, Actor, Comment, Issue, Level, Pull

Json = Mapping[str, Any]

GHOST = Actor("ghost", 10137)  # who stands for a deleted account


def actor(found: Json | None) -> Actor:
    if not found:
        return GHOST
    return Actor(str(found["login"]), int(found["id"]), bot=found.get("type") == "Bot")


def level(found: Json) -> Level:
    """A role of the organisation's own making has no place in the order; its legacy level has."""
    for word in (found.get("role_name"), found.get("permission")):
        for known in LEVELS:
            if word == known:
                return known
    return "none"


def comment(found: Json, number: int) -> Comment:
    return Comment(
        id=int(found["id"]),
        number=number,
        author=actor(found.get("user")),
        body=text(found.get("body")),
        created_at=str(found.get("created_at") or ""),
        edited=found.get("updated_at") != found.get("created_at"),
        url=str(found.get("html_url") or ""),
        reactions=frozenset(name for name in ENDS if (found.get("reactions") or {}).get(name)),
    )


def issue(found: Json) -> Issue:
    return Issue(
        number=int(found["number"]),
        title=str(found.get("title") or ""),
        body=text(found.get("body")),
        author=actor(found.get("user")),
        open=found.get("state") == "open",
        labels=labels(found),
        url=str(found.get("html_url") or ""),
        id=int(found["id"]),
        is_pull=found.get("pull_request") is not None,
        closed_by=actor(found["closed_by"]) if found.get("closed_by") else None,
    )


def pull(found: Json, repository: str) -> Pull:
    head, base = found["head"], found["base"]
    return Pull(
        number=int(found["number"]),
        title=str(found.get("title") or ""),
        body=text(found.get("body")),
        head=str(head["ref"]),
        head_sha=str(head["sha"]),
        base=str(base["ref"]),
        author=actor(found.get("user")),
        open=found.get("state") == "open",
        merged=found.get("merged_at") is not None,
        draft=bool(found.get("draft")),
        from_fork=_full_name(head) != repository.lower(),
        labels=labels(found),
        url=str(found.get("html_url") or ""),
        node_id=str(found.get("node_id") or ""),
        # Of an open one, GitHub tells here how a merge would look.
        merge_sha=str(found.get("merge_commit_sha") or "") if found.get("merged_at") else "",
    )


def _full_name(side: Json) -> str:
    """Empty for a fork that was deleted."""
    return str((side.get("repo") or {}).get("full_name") or "").lower()


def labels(found: Json) -> tuple[str, ...]:
    """An old answer has them as plain texts."""
    names = (each if isinstance(each, str) else each.get("name") for each in found.get("labels") or ())
    return tuple(str(name) for name in names if name)


def text(found: Any) -> str:
    return str(found or "")
