"""The commands that install what tests need: one run at a time, with an end, and with words for whoever mends it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from prd2pr.core.stacks.stack import Stack
from prd2pr.core.wording import complaint_in
from prd2pr.errors import SetupProblem

SECONDS = 900
_WORDS = 500
_BETWEEN_LOOKS = 0.2


@contextlib.contextmanager
def alone(path: Path, stack: Stack) -> Iterator[int]:
    """The lock is the kernel's: whoever dies lets go of it. What it started holds it too, so a killed run's installer
    is not disturbed by the next run."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(lock, path, stack)
        try:
            yield lock
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # also for whatever was forked meanwhile and has it still
    finally:
        os.close(lock)


def _wait_for(lock: int, path: Path, stack: Stack) -> None:
    until = time.monotonic() + SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise SetupProblem(
                    f"another run has been installing what the tests of {stack.name} need for {SECONDS} seconds",
                    where=str(path),
                    remedy="end that run, and try again",
                ) from None
            time.sleep(_BETWEEN_LOOKS)
        else:
            return


def install(stack: Stack, given: Mapping[str, bytes], place: Path, lock: int) -> None:
    """In its place from the beginning: what some installers write (a virtual environment) cannot be moved."""
    shutil.rmtree(place, ignore_errors=True)
    try:
        for name, data in given.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
        place.mkdir(exist_ok=True)
        place.chmod(0o755)  # the user that tests run as reads it
        for command in stack.setup:
            _do(command, place, stack, lock)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _do(command: tuple[str, ...], directory: Path, stack: Stack, lock: int) -> None:
    """What it says goes to a file: a daemon that it leaves behind would hold a pipe open."""
    shown = " ".join(command)
    with tempfile.TemporaryFile() as said:
        process = _started(command, directory, stack, lock, said)
        try:
            process.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise _failed(stack, shown, f"it did not end within {SECONDS} seconds") from None
        finally:
            end_with_children(process)
        if process.returncode != 0:
            said.seek(0)
            told = _why(said.read().decode("utf-8", "replace"))
            raise _failed(stack, shown, f"it ended with status {process.returncode}: {told}")


def _started(
    command: tuple[str, ...], directory: Path, stack: Stack, lock: int, said: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=_environment(),
            start_new_session=True,
            pass_fds=(lock,),
            umask=0o022,  # the user that tests run as reads it
        )
    except OSError as problem:
        raise SetupProblem(
            f"`{command[0]}` cannot be started ({problem.strerror}); it installs what the tests of {stack.name} need",
            where=f"`{' '.join(command)}`",
            remedy=f"install {command[0]}; or set `setup` of the stack in .prd2pr.yml to what the project uses",
        ) from None


def end_with_children(process: subprocess.Popen[bytes]) -> None:
    """With whatever it has started: nothing goes on writing into what is thrown away."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _failed(stack: Stack, command: str, why: str) -> SetupProblem:
    place = "the root of the repository" if stack.root == "." else f"{stack.root}/"
    files = f" ({', '.join(stack.manifests)})" if stack.manifests else ""
    return SetupProblem(
        f"what the tests of {stack.name} need could not be installed: {why}",
        where=f"`{command}`{files}",
        remedy=f"run it in {place} of a fresh checkout and mend that first; nothing of it was kept. "
        "`setup` of the stack in .prd2pr.yml names other commands",
    )


def _why(text: str) -> str:
    """On one line, and without what stands before the `@` of an address: a user's name and password."""
    return complaint_in(re.sub(r"//[^/\s@]+@", "//", text), _WORDS)


def _environment() -> dict[str, str]:
    """That of whoever runs prd2pr, for registries and proxies, without the keys of models and code hosts.

    yarn is to make `node_modules`, where runners are looked for, and is not to start a program of the repository's own:
    nothing of a story's commit runs outside of the sandbox.
    """
    secret = ("ANTHROPIC", "OPENAI", "GITHUB_TOKEN", "GH_TOKEN", "PRD2PR", "ACTIONS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(secret)}
    return {**kept, "YARN_NODE_LINKER": "node-modules", "YARN_IGNORE_PATH": "1"}
