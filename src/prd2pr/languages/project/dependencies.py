"""Install the dependencies of a project's tests once for each version of its manifests."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from prd2pr.domain.paths import is_installer_setting
from prd2pr.domain.stack import Stack
from prd2pr.languages.project.installation import Installer, hold_install_lock

MODULES = "node_modules"
COMPLETE_MARKER = ".prd2pr-complete"  # written last; an installation without it is incomplete
KEEP_DAYS = 30  # days since the last use
# Files that installers read besides the manifests. Package scripts are not run, so no other file matters.
_INSTALLER_FILES = (".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", ".pnpmfile.cjs", "bunfig.toml")


class Dependencies:
    """The installations in the project's private cache. Runs get read-only links to them.

    `read_base` returns a file of the base commit. The settings of installers are read from there, because they
    determine the source of packages and the data that is sent to it.
    """

    def __init__(
        self,
        directory: Path,
        installer: Installer | None = None,
        read_base: Callable[[str], bytes | None] = lambda _: None,
    ) -> None:
        self.directory = directory
        self.installer = installer or Installer()
        self._read_base = read_base

    def link(self, stack: Stack, checkout: Path) -> None:
        """Link the dependencies into a fresh checkout, replacing a committed `node_modules`."""
        if not stack.setup:
            return
        inputs = self._read_inputs(stack, checkout)
        installed, home = self.prepare(stack, inputs), checkout / _find_install_directory(stack)
        _remove(home / MODULES)
        if (installed / MODULES).is_dir():
            link_modules(installed.resolve(), home, _list_members(inputs))
        for made in sorted(_list_created(installed, inputs)):
            if not os.path.lexists(home / made.name):
                (home / made.name).symlink_to(made)

    def list_readable_paths(self, stack: Stack, checkout: Path) -> tuple[Path, ...]:
        """Return the paths that a run must be able to read."""
        return (self.prepare(stack, self._read_inputs(stack, checkout)),) if stack.setup else ()

    def prepare(self, stack: Stack, inputs: Mapping[str, bytes]) -> Path:
        """Install the dependencies if needed and return their directory. `inputs` are the files that installers read.

        Concurrent runs install only once. Incomplete and failed installations are discarded.
        """
        key = _make_key(stack, inputs)
        place = self.directory / key
        if not _is_complete(place):
            self.directory.mkdir(parents=True, exist_ok=True)
            with hold_install_lock(self.directory / f".{key}.lock", stack):
                if not _is_complete(place):
                    self.installer.install(stack, inputs, place)
                    _remove(place / COMPLETE_MARKER)  # it could be a link
                    (place / COMPLETE_MARKER).write_bytes(b"")
                    self._delete_old()
        os.utime(place / COMPLETE_MARKER)
        return place

    def _read_inputs(self, stack: Stack, checkout: Path) -> dict[str, bytes]:
        home = _find_install_directory(stack)
        names = [*stack.manifests, *(f"{home}/{name}" if home else name for name in _INSTALLER_FILES)]
        found = {}
        for name in dict.fromkeys(names):
            data = self._read_base(name) if is_installer_setting(name) else _read_regular(checkout / name)
            if data is not None:
                found[name.removeprefix(f"{home}/") if home else name] = data
        return found

    def _delete_old(self) -> None:
        oldest = time.time() - KEEP_DAYS * 24 * 3600
        for mark in self.directory.glob(f"*/{COMPLETE_MARKER}"):
            if mark.stat().st_mtime < oldest:
                mark.unlink(missing_ok=True)
                shutil.rmtree(mark.parent, ignore_errors=True)


def _list_members(inputs: Mapping[str, bytes]) -> list[str]:
    """Return the directories of workspace members."""
    return [name.rpartition("/")[0] for name in inputs if name.endswith("/package.json")]


def link_modules(installed: Path, home: Path, members: list[str]) -> None:
    """Create `node_modules` in the checkout, with a link for each package.

    The directory itself is not a link because tools write files into it, such as `node_modules/.vite-temp`. Workspace
    members link to the checkout, and each has its own `node_modules` too.
    """
    (home / MODULES).mkdir()
    _link_all(installed / MODULES, home / MODULES, installed, home)
    for member in members:
        if (home / member).is_dir():
            modules = home / member / MODULES
            _remove(modules)
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
        _remove(link)
        link.symlink_to(entry if MODULES in inside.parts else home / inside)


def _is_complete(place: Path) -> bool:
    return (place / COMPLETE_MARKER).is_file()


def _list_created(installed: Path, inputs: Mapping[str, bytes]) -> list[Path]:
    """Return the paths that the commands created."""
    known = {COMPLETE_MARKER, *(name.partition("/")[0] for name in inputs)}
    return [path for path in installed.iterdir() if path.name not in known]


def _remove(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.is_dir():
        shutil.rmtree(place)


def _find_install_directory(stack: Stack) -> str:
    """Return the directory of the lock file: the manifest's directory, or the root of the workspace."""
    return stack.manifests[-1].rpartition("/")[0] if stack.manifests else stack.root


def _read_regular(place: Path) -> bytes | None:
    return place.read_bytes() if place.is_file() and not place.is_symlink() else None


def _make_key(stack: Stack, inputs: Mapping[str, bytes]) -> str:
    parts = [
        list(map(list, stack.setup)),
        sorted((name, hashlib.sha256(data).hexdigest()) for name, data in inputs.items()),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
