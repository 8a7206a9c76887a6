"""Comments and reactions."""

from __future__ import annotations

from typing import Any

from prd2pr.domain.forge import Actor, BotIdentities, Comment, Reaction, is_same_text
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import RepositoryApi, check_response, has_marker, patch_call, post_call, with_marker
from prd2pr.github.client.exchange import ApiResponse


def list_comments(api: RepositoryApi, number: int, after: int) -> tuple[Comment, ...]:
    found = (json_reader.read_comment(each, number) for each in api.pages(api.path("issues", number, "comments")))
    return tuple(sorted((each for each in found if each.id > after), key=lambda each: each.id))


def find_marked_comment(api: RepositoryApi, ours: BotIdentities, number: int, marker: str) -> Comment | None:
    return keep_first_comment(api, list_marked_comments(api, ours, number, marker))


def list_marked_comments(api: RepositoryApi, ours: BotIdentities, number: int, marker: str) -> tuple[Comment, ...]:
    """Return those that we can certainly edit first, then by age."""
    names = [actor.id for actor in ours]
    there = [
        each for each in list_comments(api, number, 0) if each.author.id in names and has_marker(each.body, marker)
    ]
    return tuple(sorted(there, key=lambda each: (names.index(each.author.id), each.id)))


def keep_first_comment(api: RepositoryApi, there: tuple[Comment, ...]) -> Comment | None:
    """Return the first. Two parallel runs may both have posted: the later one is deleted."""
    for twin in there[1:]:
        api.delete(api.path("issues", "comments", twin.id))
    return there[0] if there else None


def ensure_comment(api: RepositoryApi, ours: BotIdentities, number: int, body: str, marker: str) -> Comment:
    def look() -> Comment | None:
        return find_marked_comment(api, ours, number, marker)

    def read(found: Any) -> Comment:
        return json_reader.read_comment(found, number)

    call = post_call(api.path("issues", number, "comments"), {"body": with_marker(body, marker)})
    # Look twice before posting, because a read may be stale.
    return look() or look() or drop_duplicate_comments(api, ours, api.create_or_find(call, look, read), marker)


def drop_duplicate_comments(api: RepositoryApi, ours: BotIdentities, made: Comment, marker: str) -> Comment:
    """Return the new comment, or another run's earlier one. A list without the new one is stale."""
    there = list_marked_comments(api, ours, made.number, marker)
    if made.id not in [each.id for each in there]:
        there = list_marked_comments(api, ours, made.number, marker)
    return keep_first_comment(api, there) or made


def edit_comment(api: RepositoryApi, me: Actor, comment: int, body: str) -> bool:
    """Edit. False: it is not ours to edit, and a new one was posted instead."""
    address = api.path("issues", "comments", comment)

    def there() -> bool | None:
        return True if is_same_text(json_reader.read_text(api.get(address).get("body")), body) else None

    if there():
        return True
    call = patch_call(address, {"body": body})
    done = api.send_checked(call, there)
    if not isinstance(done, ApiResponse):
        return True
    if done.status == 403:
        found = api.get(address)
        if json_reader.read_actor(found.get("user")).id != me.id:
            number = int(str(found["issue_url"]).rpartition("/")[2])
            ensure_comment(api, (me,), number, body, body.lstrip().splitlines()[0])
            return False
    check_response(call, done)
    return True


def has_reaction(api: RepositoryApi, ours: BotIdentities, address: str, reaction: Reaction) -> bool:
    names = {actor.id for actor in ours}
    return any(json_reader.read_actor(each.get("user")).id in names for each in api.pages(address, content=reaction))


def add_reaction(api: RepositoryApi, me: Actor, address: str, reaction: Reaction) -> None:
    """React to the comment or issue at `address`; it may be gone meanwhile."""

    def look() -> bool | None:
        found = api.pages(address, content=reaction)
        return True if any(json_reader.read_actor(each.get("user")).id == me.id for each in found) else None

    call = post_call(address, {"content": reaction})
    done = api.send_checked(call, look)
    if isinstance(done, ApiResponse) and done.status not in {404, 410}:
        check_response(call, done)
