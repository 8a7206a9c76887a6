"""Issues and sub-issues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prd2pr.domain.forge import Actor, BotIdentities, Issue, LabelEvent, is_same_text
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import RepositoryApi, check_response, has_marker, patch_call, post_call, with_marker
from prd2pr.github.client.exchange import ApiResponse


def fetch_issue(api: RepositoryApi, number: int) -> Issue | None:
    found = api.get_optional(api.path("issues", number))
    return None if found is None else json_reader.read_issue(found)


def list_labelled_issues(api: RepositoryApi, label: str) -> tuple[Issue, ...]:
    """Return open ones, oldest first, without pull requests, which GitHub lists too."""
    found = api.pages(api.path("issues"), labels=label, state="open", sort="created", direction="asc")
    return tuple(each for each in map(json_reader.read_issue, found) if not each.is_pull)


def find_last_labelling(api: RepositoryApi, number: int, label: str) -> LabelEvent | None:
    """Return the last one. Other events have no label; the actor of a deleted account is missing."""
    given = [
        each
        for each in api.pages(api.path("issues", number, "events"))
        if each.get("event") == "labeled" and _label_name(each.get("label")).casefold() == label.casefold()
    ]
    if not given or not given[-1].get("actor"):
        return None
    return LabelEvent(
        json_reader.read_actor(given[-1]["actor"]), str(given[-1].get("created_at") or ""), again=len(given) > 1
    )


def _label_name(label: dict[str, Any] | None) -> str:
    return str((label or {}).get("name") or "")


def find_marked_issue(api: RepositoryApi, ours: BotIdentities, marker: str) -> Issue | None:
    return close_duplicate_issues(api, list_marked_issues(api, ours, marker))


def list_marked_issues(api: RepositoryApi, ours: BotIdentities, marker: str) -> tuple[Issue, ...]:
    """Return open and closed ones, oldest first."""
    there = (each for actor in ours for each in list_issues_by(api, actor) if has_marker(each.body, marker))
    return tuple(sorted(there, key=lambda each: each.number))


def list_issues_by(api: RepositoryApi, actor: Actor) -> Iterator[Issue]:
    found = api.pages(api.path("issues"), creator=actor.login, state="all", sort="created", direction="asc")
    return (each for each in map(json_reader.read_issue, found) if each.author.id == actor.id and not each.is_pull)


def close_duplicate_issues(api: RepositoryApi, there: tuple[Issue, ...]) -> Issue | None:
    """Return the oldest; close those of parallel runs, since only an admin can delete an issue."""
    for twin in there[1:]:
        if twin.open:
            close_issue(api, twin.number)
    return there[0] if there else None


def close_issue(api: RepositoryApi, number: int) -> None:
    def closed() -> bool | None:
        return None if json_reader.read_issue(api.get(api.path("issues", number))).open else True

    call = patch_call(api.path("issues", number), {"state": "closed", "state_reason": "not_planned"})
    api.create_or_find(call, closed, lambda _: True)


def ensure_issue(
    api: RepositoryApi, ours: BotIdentities, title: str, body: str, *, labels: tuple[str, ...], marker: str
) -> Issue:
    def look() -> Issue | None:
        return find_marked_issue(api, ours, marker)

    call = post_call(api.path("issues"), {"title": title, "body": with_marker(body, marker), "labels": list(labels)})
    return (
        look()
        or look()
        or drop_duplicate_issues(api, ours, api.create_or_find(call, look, json_reader.read_issue), marker)
    )


def drop_duplicate_issues(api: RepositoryApi, ours: BotIdentities, made: Issue, marker: str) -> Issue:
    """Return the new issue, or another run's earlier one. A list without the new one is stale."""
    there = list_marked_issues(api, ours, marker)
    if made.number not in [each.number for each in there]:
        there = list_marked_issues(api, ours, marker)
    return close_duplicate_issues(api, there) or made


def edit_issue(api: RepositoryApi, number: int, title: str | None, body: str | None, closed: bool | None) -> None:
    """Send only what differs."""

    def missing() -> dict[str, Any]:
        return issue_changes(json_reader.read_issue(api.get(api.path("issues", number))), title, body, closed)

    changes = missing()
    if changes:
        call = patch_call(api.path("issues", number), changes)
        api.create_or_find(call, lambda: None if missing() else True, lambda _: True)


def issue_changes(there: Issue, title: str | None, body: str | None, closed: bool | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if title is not None and title != there.title:
        changes["title"] = title
    if body is not None and not is_same_text(body, there.body):
        changes["body"] = body
    if closed is not None and closed is there.open:
        changes["state"] = "closed" if closed else "open"
    return changes


def list_sub_issues(api: RepositoryApi, number: int) -> tuple[Issue, ...]:
    return tuple(map(json_reader.read_issue, api.pages(api.path("issues", number, "sub_issues"))))


def add_sub_issue(api: RepositoryApi, number: int, child: Issue) -> None:
    def there() -> bool | None:
        return True if any(each.id == child.id for each in list_sub_issues(api, number)) else None

    if there():
        return
    call = post_call(api.path("issues", number, "sub_issues"), {"sub_issue_id": child.id})
    done = api.send_checked(call, there)
    # Another run may have been faster: ignore the refusal if the child is there now.
    if isinstance(done, ApiResponse) and not (done.status == 422 and there()):
        check_response(call, done)
