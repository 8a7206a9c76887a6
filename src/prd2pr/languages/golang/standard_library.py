"""Build Go's standard library once for each Go version. Since 1.20, installations do not include it prebuilt.

It is built outside the sandbox and only from Go's own source, so that no project can influence it. Runs see it
read-only and build everything else themselves.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from prd2pr.domain.stack import Stack
from prd2pr.languages.golang.runner import ISOLATED_ENVIRONMENT
from prd2pr.languages.project.dependencies import COMPLETE_MARKER
from prd2pr.languages.project.installation import INSTALL_SECONDS, hold_install_lock, kill_process_group
from prd2pr.languages.project.toolchain import Toolchain

CACHE = "go-build"
_PACKAGES_FILE = "packages.json"
_BASE_PACKAGES = frozenset({"testing", "testing/internal/testdeps", "os", "reflect"})  # linked into every test binary
_ONE = re.compile(r'^import\s+(?:[\w.]+\s+)?"([^"\n]+)"', re.MULTILINE)
_MANY = re.compile(r"^import\s*\((.*?)^\)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r'"([^"\n]+)"')
_STANDARD = re.compile(r"[a-z0-9]+(/[a-z0-9]+)*")  # has no host name and no dots
_IMPORT_CHARACTERS = 20_000  # length of the start of a file that must contain its imports


def build_standard_library(checkout: Path, directory: Path, tools: Toolchain, stack: Stack) -> Path:
    """Build the packages of the standard library that the project imports, and return the build cache."""
    place = directory / f"go-{hashlib.sha256(repr((tools.version, tools.root)).encode()).hexdigest()[:24]}"
    wanted = {
        name for name in _find_imports(checkout / stack.root) if (tools.root / "src" / name).is_dir()
    } | _BASE_PACKAGES
    if not wanted <= _read_built(place):
        directory.mkdir(parents=True, exist_ok=True)
        with hold_install_lock(directory / f".{place.name}.lock", stack):
            known = _read_built(place)
            if not wanted <= known:
                _build_packages(place, wanted | known, tools)
    os.utime(place / COMPLETE_MARKER)
    return place / CACHE


def _find_imports(root: Path) -> Iterator[str]:
    """Yield the standard packages that the project and its `vendor` directory import."""
    for path in sorted(root.rglob("*.go")):
        if path.is_file() and not path.is_symlink():
            text = path.read_text(encoding="utf-8", errors="replace")[:_IMPORT_CHARACTERS]
            names = [*_ONE.findall(text), *(name for block in _MANY.findall(text) for name in _QUOTED.findall(block))]
            yield from (name for name in names if _STANDARD.fullmatch(name))


def _read_built(place: Path) -> frozenset[str]:
    try:
        return frozenset(json.loads((place / _PACKAGES_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return frozenset()


def _build_packages(place: Path, packages: set[str] | frozenset[str], tools: Toolchain) -> None:
    """Build packages into the cache. The run that needs a package reports failures.

    An interrupted build leaves usable results that are not recorded, so that the next run continues.
    """
    cache = place / CACHE
    cache.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)  # readable by the user that runs tests
    environment = {**ISOLATED_ENVIRONMENT, "GOCACHE": str(cache), "HOME": str(place), "PATH": tools.path}
    process = subprocess.Popen(
        [str(tools.root / "bin" / "go"), "build", *sorted(packages)],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(timeout=INSTALL_SECONDS)
        (place / _PACKAGES_FILE).write_text(json.dumps(sorted(packages)), encoding="utf-8")
    except subprocess.TimeoutExpired:
        pass  # the machine is slow
    finally:
        kill_process_group(process)
    (place / COMPLETE_MARKER).touch()
