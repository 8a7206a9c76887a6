"""How much a run has written: no limit of the kernel's counts a whole directory, so it is looked at from outside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from prd2pr.runners.walking import files_below

LIMIT = 2 << 30  # bytes in all directories of a run, beside what was exported into them
FILES_LIMIT = 500_000


class DiskUse:
    """The file system's free space is asked first, which costs nothing; only when that shrinks are files counted."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = places
        self._limit = LIMIT
        self._free, self._inodes = self._left()

    def is_too_much(self) -> bool:
        free, inodes = self._left()
        if self._free - free <= self._limit and self._inodes - inodes <= FILES_LIMIT:
            return False
        used, files = used_by(self._places)
        return used > self._limit or files > FILES_LIMIT

    def _left(self) -> tuple[int, int]:
        known = os.statvfs(self._places[0])
        return known.f_bavail * known.f_frsize, known.f_favail


def used_by(places: Sequence[Path]) -> tuple[int, int]:
    """Bytes and files. Links are not followed."""
    used = files = 0
    for place in places:
        for entry in files_below(place):
            files += 1
            try:
                used += entry.stat(follow_symlinks=False).st_blocks * 512
            except OSError:
                continue  # gone meanwhile
    return used, files
