"""Ids of stories that are added to a plan later."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prd2pr.domain.records import Backlog


def find_last_number(prd: str, names: Iterable[str]) -> int:
    """Return the highest number n among ids of the form `<prd>-<n>`, or 0 if there are none."""
    numbered = re.compile(rf"{re.escape(prd)}-([0-9]+)")
    return max((int(found[1]) for name in names if (found := numbered.fullmatch(name))), default=0)


def find_next_number(prd: str, backlog: Backlog) -> int:
    """Return the number after the highest one. A removed story's number can be reused, since it has no steps."""
    return find_last_number(prd, (story.id for story in backlog.stories)) + 1
