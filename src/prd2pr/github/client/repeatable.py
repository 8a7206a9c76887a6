"""Repeatable writes: create one text per marker, and edit only the fields that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from prd2pr.domain.forge import Comment, Issue, Pull, is_same_text
from prd2pr.domain.secrets import Secrets
from prd2pr.github.client.calls import RepositoryApi, patch_call
from prd2pr.github.client.exchange import RestCall

Marked = TypeVar("Marked", Issue, Comment)


def ensure_marked(
    api: RepositoryApi,
    call: RestCall,
    list_ours: Callable[[], tuple[Marked, ...]],
    keep_first: Callable[[tuple[Marked, ...]], Marked | None],
    read: Callable[[Any], Marked],
) -> Marked:
    """Return the existing object with our marker, or create it with `call`.

    Reads may be stale, so this looks twice before creating. If a parallel run created one earlier, that one is
    returned.
    """

    def look() -> Marked | None:
        return keep_first(list_ours())

    there = look() or look()
    if there is not None:
        return there
    made = api.create_or_find(call, look, read)
    listed = list_ours()
    if made.id not in [each.id for each in listed]:
        listed = list_ours()
    return keep_first(listed) or made


def edit_differences(api: RepositoryApi, address: str, missing: Callable[[], dict[str, Any]]) -> None:
    changes = missing()
    if changes:
        api.create_or_find(patch_call(address, changes), lambda: None if missing() else True, lambda _: True)


def find_text_changes(there: Issue | Pull, title: str | None, body: str | None, secrets: Secrets) -> dict[str, Any]:
    """Return the title and body if they differ from the published ones, with secrets removed."""
    changes: dict[str, Any] = {}
    if title is not None and (title := secrets.scrub(title)) != there.title:
        changes["title"] = title
    if body is not None and not is_same_text(body := secrets.scrub(body), there.body):
        changes["body"] = body
    return changes
