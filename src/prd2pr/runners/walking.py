"""All files below a directory, however deep somebody made it: no recursion, no link followed, no complaint."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def files_below(root: Path) -> Iterator[os.DirEntry[str]]:
    """Whatever is not a directory. What is closed to us is passed over."""
    waiting = [os.fspath(root)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                yield entry
