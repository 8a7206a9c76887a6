"""Pictures of pages: for which stories they are taken, and which files can be one."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from prd2pr.core.evidence import PagePicture
from prd2pr.core.layout import PrdLayout
from prd2pr.core.paths import matches_any
from prd2pr.core.records import Cycle, Story

MOST_BYTES = 400_000  # of one picture
LONGEST_SIDE = 8000
PNG = b"\x89PNG\r\n\x1a\n"


def is_pictured(globs: Sequence[str], story: Story, cycle: Cycle) -> bool:
    """Whether the story was planned or designed to change what the page is made of; without globs, every story."""
    paths = (*story.source_paths, *(cycle.design.source_paths if cycle.design else ()))
    return not globs or any(matches_any(path, globs) for path in paths)


def wrong_with(data: bytes) -> str:
    """Why this cannot be kept as a picture; empty: it can. What it shows is the project's own doing."""
    if len(data) > MOST_BYTES:
        return f"it has {len(data):,} bytes, and the limit is {MOST_BYTES:,}"
    if not data.startswith(PNG) or data[12:16] != b"IHDR" or len(data) < 33:
        return "it is no PNG"
    width, height = struct.unpack(">II", data[16:24])
    return "" if max(width, height) <= LONGEST_SIDE else f"it is {width} by {height} points"


def record_of(layout: PrdLayout, story: str, number: int, path: str, data: bytes) -> PagePicture:
    return PagePicture(path=path, file=layout.page(story, number), digest=digest_of(data))


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
