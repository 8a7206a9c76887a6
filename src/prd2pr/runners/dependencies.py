"""What a project's tests need from elsewhere: installed once for each state of its manifests, outside the sandbox."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from prd2pr.core.stacks.stack import Stack
from prd2pr.errors import SetupProblem

SECONDS = 900
MODULES = "node_modules"
_LAST_WORDS = 600
# Read by installers beside the manifests. Scripts of packages are not run, so nothing else can matter.
_BESIDE = (".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml")


class Dependencies:
    """Kept in the project's private cache. A run gets a link to them, and can only read what it leads to."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def link(self, stack: Stack, checkout: Path) -> None:
        """Into a fresh checkout, in the place of whatever is committed there."""
        if not stack.setup:
            return
        installed = self.installed(stack, checkout)
        place = checkout / _home(stack) / MODULES
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        if (installed / MODULES).is_dir():
            place.symlink_to(installed / MODULES)

    def places(self, stack: Stack, checkout: Path) -> tuple[Path, ...]:
        """What a run must be able to read."""
        return (self.installed(stack, checkout),) if stack.setup else ()

    def installed(self, stack: Stack, checkout: Path) -> Path:
        return self.prepare(stack, _given(stack, checkout))

    def prepare(self, stack: Stack, given: dict[str, bytes]) -> Path:
        """`given`: manifests and what else installers read, by their names there."""
        place = self._directory / _key(stack, given)
        if not place.is_dir():
            self._install(stack, given, place)
        return place

    def _install(self, stack: Stack, given: dict[str, bytes], place: Path) -> None:
        """Beside its place, and moved there when it is whole: a run that is killed leaves nothing half done."""
        self._directory.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=self._directory, prefix="."))
        try:
            for name, data in given.items():
                (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
                (unfinished / name).write_bytes(data)
            for command in stack.setup:
                _do(command, unfinished, stack)
            unfinished.chmod(0o755)
            if not place.is_dir():
                unfinished.rename(place)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


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


def _key(stack: Stack, given: dict[str, bytes]) -> str:
    parts = [
        list(map(list, stack.setup)),
        sorted((name, hashlib.sha256(data).hexdigest()) for name, data in given.items()),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _do(command: tuple[str, ...], directory: Path, stack: Stack) -> None:
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=SECONDS, check=False, env=_environment()
        )
        told = (done.stderr or done.stdout).strip()[-_LAST_WORDS:]
        failed = done.returncode != 0
    except OSError as problem:
        failed, told = True, str(problem)
    except subprocess.TimeoutExpired:
        failed, told = True, f"did not end within {SECONDS} seconds"
    if failed:
        raise SetupProblem(
            f"what the tests of {stack.name} need could not be installed: {told}",
            where=" ".join(command),
            remedy="run it by hand in a fresh checkout and mend that first; `setup` of the stack names another command",
        )


def _environment() -> dict[str, str]:
    """That of whoever runs prd2pr, for registries and proxies, without the keys of models and code hosts."""
    secret = ("ANTHROPIC", "OPENAI", "GITHUB_TOKEN", "GH_TOKEN", "PRD2PR", "ACTIONS_")
    return {name: value for name, value in os.environ.items() if not name.startswith(secret)}
