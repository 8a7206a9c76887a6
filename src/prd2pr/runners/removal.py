"""Taking a run's directories away, whatever the tests have left in them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from pathlib import Path


def remove_tree(place: Path) -> None:
    """Links are removed, never followed. Directories that were closed are opened; nobody is in them any more."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(place, ignore_errors=True)
    if os.path.lexists(place):
        _open_all(place)
        # Directories too deep for Python's own way: it recurses.
        subprocess.run(["rm", "-rf", "--", str(place)], check=False, capture_output=True)


def _open_all(place: Path) -> None:
    waiting = [os.fspath(place)]
    while waiting:
        path = waiting.pop()
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                continue
            os.chmod(path, 0o700)  # noqa: PTH101 names of any bytes
            waiting += [entry.path for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # too long a name, or not ours: `rm` will say so or not
