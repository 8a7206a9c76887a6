"""Pages of a list: a cursor names the last item that was given, so that nothing comes twice while items come and go."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from typing import TypeVar

from prd2pr.server.api.problems import Denied

T = TypeVar("T")
Place = tuple[str, ...]  # where an item stands in the order

LONGEST_CURSOR = 1000


def page_of(
    items: Iterable[T], place: Callable[[T], Place], cursor: str, limit: int, *, newest_first: bool = False
) -> tuple[tuple[T, ...], str | None]:
    ordered = sorted(items, key=place, reverse=newest_first)
    if cursor:
        last = read_cursor(cursor)
        ordered = [each for each in ordered if (place(each) < last if newest_first else place(each) > last)]
    kept = tuple(ordered[:limit])
    return kept, (write_cursor(place(kept[-1])) if len(ordered) > limit else None)


def write_cursor(place: Place) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> Place:
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = json.loads(data)
    except (binascii.Error, ValueError, RecursionError):
        raise unknown_cursor() from None
    if not isinstance(place, list) or not all(isinstance(part, str) for part in place):
        raise unknown_cursor()
    return tuple(place)


def unknown_cursor() -> Denied:
    return Denied(422, "`cursor` is none of this list's.", remedy="Send `next` of the page before, or leave it out.")
