"""Ids of what is added to a plan later."""

from __future__ import annotations

import re

from prd2pr.core.records import Backlog


def next_number(prd: str, backlog: Backlog) -> int:
    """After the highest. A story that was removed has left no step that could be taken for the new one's."""
    pattern = re.compile(rf"{re.escape(prd)}-(\d+)")
    return max((int(found[1]) for story in backlog.stories if (found := pattern.fullmatch(story.id))), default=0) + 1
