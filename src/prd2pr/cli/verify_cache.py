"""Cache of test results for `prd2pr verify`, so that a second run is fast.

The cache belongs to the user and is outside every repository, so that a clone cannot contain forged results. Code in a
sandbox cannot write there, and verify ignores entries written since it started (`state/cache.py`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import prd2pr.languages
import prd2pr.sandbox


def find_results_store(env: Mapping[str, str]) -> Path | None:
    """Return the cache directory, or None if there is no directory that only this user can write to."""
    home = env.get("XDG_CACHE_HOME") or (str(Path(env["HOME"]) / ".cache") if env.get("HOME") else "")
    if not Path(home).is_absolute():
        return None
    directory = Path(home) / "prd2pr" / "verified" / make_runner_fingerprint()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory if all(map(is_private, (directory, directory.parent, directory.parent.parent))) else None
    except OSError:
        return None


def is_private(path: Path) -> bool:
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def make_runner_fingerprint() -> str:
    """Return a digest of the runners' sources, because another version may interpret the same run differently."""
    packages = (prd2pr.languages, prd2pr.sandbox)
    sources = sorted(path for package in packages for path in Path(str(package.__file__)).parent.glob("**/*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:16]
