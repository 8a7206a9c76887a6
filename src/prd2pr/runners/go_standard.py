"""Go's standard library, built once for each Go: since 1.20 no installation brings it along built.

Built outside of the sandbox, from Go's own source alone, so that nothing of a project can get into it. A run sees it
and cannot write there; everything else it builds for itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from prd2pr.core.other.golang.runner import NOTHING_OF_OTHERS
from prd2pr.core.stacks.stack import Stack
from prd2pr.runners.dependencies import COMPLETE
from prd2pr.runners.installing import SECONDS, alone, end_with_children
from prd2pr.runners.toolchain import Toolchain

CACHE = "go-build"
_BUILT = "packages.json"
_ALWAYS = frozenset({"testing", "testing/internal/testdeps", "os", "reflect"})  # what every test binary has
_ONE = re.compile(r'^import\s+(?:[\w.]+\s+)?"([^"\n]+)"', re.MULTILINE)
_MANY = re.compile(r"^import\s*\((.*?)^\)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r'"([^"\n]+)"')
_STANDARD = re.compile(r"[a-z0-9]+(/[a-z0-9]+)*")  # no host, no dots
_HEAD = 20_000  # characters in which a file says what it imports


def standard_in(checkout: Path, directory: Path, tools: Toolchain, stack: Stack) -> Path:
    """What this project imports of the standard library, built; kept in `directory`, and more is added as it is asked
    for."""
    place = directory / f"go-{hashlib.sha256(repr((tools.version, tools.root)).encode()).hexdigest()[:24]}"
    wanted = {name for name in _imported(checkout / stack.root) if (tools.root / "src" / name).is_dir()} | _ALWAYS
    if not wanted <= _built(place):
        directory.mkdir(parents=True, exist_ok=True)
        with alone(directory / f".{place.name}.lock", stack):
            known = _built(place)
            if not wanted <= known:
                _build(place, wanted | known, tools)
    os.utime(place / COMPLETE)
    return place / CACHE


def _imported(root: Path) -> Iterator[str]:
    """Also by what lies in `vendor`."""
    for path in sorted(root.rglob("*.go")):
        if path.is_file() and not path.is_symlink():
            text = path.read_text(encoding="utf-8", errors="replace")[:_HEAD]
            names = [*_ONE.findall(text), *(name for block in _MANY.findall(text) for name in _QUOTED.findall(block))]
            yield from (name for name in names if _STANDARD.fullmatch(name))


def _built(place: Path) -> frozenset[str]:
    try:
        return frozenset(json.loads((place / _BUILT).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return frozenset()


def _build(place: Path, packages: set[str] | frozenset[str], tools: Toolchain) -> None:
    """What cannot be built here is built, and told, by the run that wants it. Who is stopped on the way leaves a part,
    which Go can use: it is not said to be built, so that the next run goes on with it."""
    cache = place / CACHE
    cache.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)  # the user that tests run as reads it
    environment = {**NOTHING_OF_OTHERS, "GOCACHE": str(cache), "HOME": str(place), "PATH": tools.path}
    building = subprocess.Popen(
        [str(tools.root / "bin" / "go"), "build", *sorted(packages)],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        building.wait(timeout=SECONDS)
        (place / _BUILT).write_text(json.dumps(sorted(packages)), encoding="utf-8")
    except subprocess.TimeoutExpired:
        pass  # on a machine as slow as this
    finally:
        end_with_children(building)
    (place / COMPLETE).touch()
