"""Where `prd2pr verify` keeps the results of test runs, so that a second look is quick.

They are the user's own, outside of every repository: nobody can hand over a clone that brings its results along. Code
in a sandbox cannot write there, and a verify does not believe what was written since it began (`runners/cache.py`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from prd2pr import runners

MOST_KEPT = 2000


def results_store(env: Mapping[str, str]) -> Path | None:
    """None where there is no place that only this user can write."""
    home = env.get("XDG_CACHE_HOME") or (str(Path(env["HOME"]) / ".cache") if env.get("HOME") else "")
    if not Path(home).is_absolute():
        return None
    place = Path(home) / "prd2pr" / "verified" / made_by()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place if all(map(own, (place, place.parent, place.parent.parent))) else None
    except OSError:
        return None


def own(place: Path) -> bool:
    about = place.stat()
    return about.st_uid == os.getuid() and not about.st_mode & 0o022


def made_by() -> str:
    """Another runner may read another result out of the same run."""
    sources = sorted(Path(runners.__file__).parent.glob("**/*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def prune(store: Path, keep: int = MOST_KEPT) -> None:
    """The oldest go first."""
    found = sorted(store.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in found[keep:]:
        path.unlink(missing_ok=True)
