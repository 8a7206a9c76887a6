"""Screenshots of pages: which stories need one, and which files are valid."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from prd2pr.domain.evidence import PageScreenshot
from prd2pr.domain.paths import matches_any
from prd2pr.domain.records import Cycle, Story
from prd2pr.state.layout import PrdLayout

MAX_IMAGE_BYTES = 400_000  # per screenshot
MAX_IMAGE_SIDE = 8000
PNG = b"\x89PNG\r\n\x1a\n"


def needs_screenshot(globs: Sequence[str], story: Story, cycle: Cycle) -> bool:
    """Return whether the story plans to change files that match the globs. Without globs, every story does."""
    paths = (*story.source_paths, *(cycle.design.source_paths if cycle.design else ()))
    return not globs or any(matches_any(path, globs) for path in paths)


def find_image_problem(data: bytes) -> str:
    """Return why the data cannot be stored as a screenshot, or "" if it can. The picture itself is not checked."""
    if len(data) > MAX_IMAGE_BYTES:
        return f"it has {len(data):,} bytes; the limit is {MAX_IMAGE_BYTES:,}"
    if not data.startswith(PNG) or data[12:16] != b"IHDR" or len(data) < 33:
        return "it is not a PNG file"
    width, height = struct.unpack(">II", data[16:24])
    return "" if max(width, height) <= MAX_IMAGE_SIDE else f"it is {width} by {height} pixels"


def build_screenshot_record(layout: PrdLayout, story: str, number: int, path: str, data: bytes) -> PageScreenshot:
    return PageScreenshot(path=path, file=layout.page(story, number), digest=compute_image_digest(data))


def compute_image_digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
