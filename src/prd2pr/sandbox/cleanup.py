"""Walk and delete the directories of a run, whatever the tests left in them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path


def walk_files(root: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every entry below a root, except directories. Unreadable directories are skipped."""
    pending = [os.fspath(root)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                yield entry


def remove_tree(place: Path) -> None:
    """Delete a directory.

    Links are removed but never followed, and inaccessible directories are made accessible first.
    """
    with contextlib.suppress(RecursionError):
        shutil.rmtree(place, ignore_errors=True)
    if os.path.lexists(place):
        _make_accessible(place)
        # `rm` handles directories that are too deep for Python's recursive implementation.
        subprocess.run(["rm", "-rf", "--", str(place)], check=False, capture_output=True)


def _make_accessible(place: Path) -> None:
    pending = [os.fspath(place)]
    while pending:
        path = pending.pop()
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                continue
            os.chmod(path, 0o700)  # noqa: PTH101 names may contain any bytes
            pending += [entry.path for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # name too long or not permitted; `rm` handles it
