"""What a project's tests need from elsewhere: installed once for each state of its manifests, outside the sandbox."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from prd2pr.core.stacks.stack import Stack
from prd2pr.runners.installing import alone, install

MODULES = "node_modules"
COMPLETE = ".prd2pr-complete"  # written last: without it, nothing that lies there counts
KEPT_DAYS = 30  # since somebody needed it
# Read by installers beside the manifests. Scripts of packages are not run, so nothing else can matter.
_BESIDE = (".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml")


class Dependencies:
    """Kept in the project's private cache. A run gets links to them, and can only read what they lead to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def link(self, stack: Stack, checkout: Path) -> None:
        """Into a fresh checkout. `node_modules` takes the place of whatever is committed there."""
        if not stack.setup:
            return
        given = _given(stack, checkout)
        installed, home = self.prepare(stack, given), checkout / _home(stack)
        _clear(home / MODULES)
        if (installed / MODULES).is_dir():
            lay_out(installed.resolve(), home, _members(given))
        for made in sorted(_made(installed, given)):
            if not os.path.lexists(home / made.name):
                (home / made.name).symlink_to(made)

    def places(self, stack: Stack, checkout: Path) -> tuple[Path, ...]:
        """What a run must be able to read."""
        return (self.prepare(stack, _given(stack, checkout)),) if stack.setup else ()

    def prepare(self, stack: Stack, given: Mapping[str, bytes]) -> Path:
        """`given`: manifests and what else installers read, by their names there.

        Two runs at once install it once. What a killed run left half done is thrown away, and what fails is not kept.
        """
        key = _key(stack, given)
        place = self.directory / key
        if not _is_whole(place):
            self.directory.mkdir(parents=True, exist_ok=True)
            with alone(self.directory / f".{key}.lock", stack) as lock:
                if not _is_whole(place):
                    install(stack, given, place, lock)
                    (place / COMPLETE).write_bytes(b"")
                    self._forget_old()
        os.utime(place / COMPLETE)
        return place

    def _forget_old(self) -> None:
        oldest = time.time() - KEPT_DAYS * 24 * 3600
        for mark in self.directory.glob(f"*/{COMPLETE}"):
            if mark.stat().st_mtime < oldest:
                mark.unlink(missing_ok=True)
                shutil.rmtree(mark.parent, ignore_errors=True)


def _members(given: Mapping[str, bytes]) -> list[str]:
    """Directories of packages that are installed together with the one at home."""
    return [name.rpartition("/")[0] for name in given if name.endswith("/package.json")]


def lay_out(installed: Path, home: Path, members: list[str]) -> None:
    """Link by link, in a directory of the checkout's own: tools keep files of theirs there (vite bundles the project's
    configuration into `node_modules/.vite-temp`). In a workspace, a member that another one uses is the checkout's, not
    the bare manifest that it was installed by, and each finds everything in its own directory too, as its commands name
    it."""
    (home / MODULES).mkdir()
    _link_all(installed / MODULES, home / MODULES, installed, home)
    for member in members:
        if (home / member).is_dir():
            modules = home / member / MODULES
            _clear(modules)
            modules.mkdir()
            for source in (installed / MODULES, installed / member / MODULES):
                _link_all(source, modules, installed, home)


def _link_all(source: Path, target: Path, installed: Path, home: Path) -> None:
    for entry in sorted(source.iterdir()) if source.is_dir() else ():
        link = target / entry.name
        if entry.name.startswith("@") and entry.is_dir() and not entry.is_symlink():
            link.mkdir(exist_ok=True)
            _link_all(entry, link, installed, home)
            continue
        real = entry.resolve()
        inside = real.relative_to(installed) if real.is_relative_to(installed) else Path(MODULES)
        _clear(link)
        link.symlink_to(entry if MODULES in inside.parts else home / inside)


def _is_whole(place: Path) -> bool:
    return (place / COMPLETE).is_file()


def _made(installed: Path, given: Mapping[str, bytes]) -> list[Path]:
    """What the commands left there, beside what they were given."""
    known = {COMPLETE, *(name.partition("/")[0] for name in given)}
    return [path for path in installed.iterdir() if path.name not in known]


def _clear(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.is_dir():
        shutil.rmtree(place)


def _home(stack: Stack) -> str:
    """Where the lock file lies: beside the manifest, or at the root of a workspace."""
    return stack.manifests[-1].rpartition("/")[0] if stack.manifests else stack.root


def _given(stack: Stack, checkout: Path) -> dict[str, bytes]:
    home = _home(stack)
    names = [*stack.manifests, *(f"{home}/{name}" if home else name for name in _BESIDE)]
    found = {}
    for name in names:
        place = checkout / name
        if place.is_file() and not place.is_symlink():
            found[name.removeprefix(f"{home}/") if home else name] = place.read_bytes()
    return found


def _key(stack: Stack, given: Mapping[str, bytes]) -> str:
    parts = [
        list(map(list, stack.setup)),
        sorted((name, hashlib.sha256(data).hexdigest()) for name, data in given.items()),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
