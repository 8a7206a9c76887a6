"""Ids of what is added to a plan later."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prd2pr.core.records import Backlog


def last_number(prd: str, names: Iterable[str]) -> int:
    """The highest of `<prd>-<n>`; 0 where there is none."""
    numbered = re.compile(rf"{re.escape(prd)}-([0-9]+)")
    return max((int(found[1]) for name in names if (found := numbered.fullmatch(name))), default=0)


def next_number(prd: str, backlog: Backlog) -> int:
    """After the highest. A story that was removed has left no step that could be taken for the new one's."""
    return last_number(prd, (story.id for story in backlog.stories)) + 1
