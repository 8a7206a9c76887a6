"""Read the required fields of GitHub's JSON into the types of `domain.forge`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prd2pr.domain.forge import END_REACTIONS, LEVELS, Actor, Comment, Issue, PermissionLevel, Pull

JsonObject = Mapping[str, Any]

GHOST = Actor("ghost", 10137)  # GitHub's placeholder for a deleted account


def read_actor(found: JsonObject | None) -> Actor:
    if not found:
        return GHOST
    return Actor(str(found["login"]), int(found["id"]), bot=found.get("type") == "Bot")


def read_level(found: JsonObject) -> PermissionLevel:
    """Return the permission level. For a custom role of an organization, this is the legacy level."""
    for word in (found.get("role_name"), found.get("permission")):
        for known in LEVELS:
            if word == known:
                return known
    return "none"


def read_comment(found: JsonObject, number: int) -> Comment:
    return Comment(
        id=int(found["id"]),
        number=number,
        author=read_actor(found.get("user")),
        body=read_text(found.get("body")),
        created_at=str(found.get("created_at") or ""),
        edited=found.get("updated_at") != found.get("created_at"),
        url=str(found.get("html_url") or ""),
        reactions=frozenset(name for name in END_REACTIONS if (found.get("reactions") or {}).get(name)),
    )


def read_issue(found: JsonObject) -> Issue:
    return Issue(
        number=int(found["number"]),
        title=str(found.get("title") or ""),
        body=read_text(found.get("body")),
        author=read_actor(found.get("user")),
        open=found.get("state") == "open",
        labels=read_labels(found),
        url=str(found.get("html_url") or ""),
        id=int(found["id"]),
        is_pull=found.get("pull_request") is not None,
        closed_by=read_actor(found["closed_by"]) if found.get("closed_by") else None,
    )


def read_pull(found: JsonObject, repository: str) -> Pull:
    head, base = found["head"], found["base"]
    return Pull(
        number=int(found["number"]),
        title=str(found.get("title") or ""),
        body=read_text(found.get("body")),
        head=str(head["ref"]),
        head_sha=str(head["sha"]),
        base=str(base["ref"]),
        author=read_actor(found.get("user")),
        open=found.get("state") == "open",
        merged=found.get("merged_at") is not None,
        draft=bool(found.get("draft")),
        from_fork=_full_name(head) != repository.lower(),
        labels=read_labels(found),
        url=str(found.get("html_url") or ""),
        node_id=str(found.get("node_id") or ""),
        # While a pull request is open, this is GitHub's test merge.
        merge_sha=str(found.get("merge_commit_sha") or "") if found.get("merged_at") else "",
    )


def _full_name(side: JsonObject) -> str:
    """Return the full name of the repository, or an empty string for a deleted fork."""
    return str((side.get("repo") or {}).get("full_name") or "").lower()


def read_labels(found: JsonObject) -> tuple[str, ...]:
    """Return the names of the labels, which are plain strings in old responses."""
    names = (each if isinstance(each, str) else each.get("name") for each in found.get("labels") or ())
    return tuple(str(name) for name in names if name)


def read_text(found: Any) -> str:
    return str(found or "")
