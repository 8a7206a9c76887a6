"""Run the commands that install test dependencies, one at a time, with a time limit and useful errors."""

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

from prd2pr.domain.stack import Stack
from prd2pr.domain.wording import extract_error_line
from prd2pr.errors import SetupProblem

INSTALL_SECONDS = 900
_MAX_REASON = 500
_POLL_SECONDS = 0.2


@contextlib.contextmanager
def hold_install_lock(path: Path, stack: Stack) -> Iterator[int]:
    """Hold a kernel lock, which is released if the process dies.

    Child processes inherit it, so that the next run does not disturb the installer of a killed run.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(lock, path, stack)
        try:
            yield lock
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # also releases it for forked children that still hold it
    finally:
        os.close(lock)


def _acquire(lock: int, path: Path, stack: Stack) -> None:
    until = time.monotonic() + INSTALL_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise SetupProblem(
                    f"another run is still installing the test dependencies of {stack.name} after {INSTALL_SECONDS} s",
                    where=str(path),
                    remedy="stop that run and try again",
                ) from None
            time.sleep(_POLL_SECONDS)
        else:
            return


def install_dependencies(stack: Stack, given: Mapping[str, bytes], place: Path, lock: int) -> None:
    """Install directly into the final directory, because a virtual environment, for example, cannot be moved."""
    shutil.rmtree(place, ignore_errors=True)
    try:
        for name, data in given.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
        place.mkdir(exist_ok=True)
        place.chmod(0o755)  # readable by the user that runs tests
        for command in stack.setup:
            _run_command(command, place, stack, lock)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _run_command(command: tuple[str, ...], directory: Path, stack: Stack, lock: int) -> None:
    """Run a command. Its output goes to a file, because a daemon left behind would keep a pipe open."""
    shown = " ".join(command)
    with tempfile.TemporaryFile() as output:
        process = _start_command(command, directory, stack, lock, output)
        try:
            process.wait(timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise _make_problem(stack, shown, f"no result within {INSTALL_SECONDS} seconds") from None
        finally:
            kill_process_group(process)
        if process.returncode != 0:
            output.seek(0)
            reason = _extract_reason(output.read().decode("utf-8", "replace"))
            raise _make_problem(stack, shown, f"exit status {process.returncode}: {reason}")


def _start_command(
    command: tuple[str, ...], directory: Path, stack: Stack, lock: int, output: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_make_environment(),
            start_new_session=True,
            pass_fds=(lock,),
            umask=0o022,  # readable by the user that runs tests
        )
    except OSError as problem:
        raise SetupProblem(
            f"`{command[0]}` cannot be started ({problem.strerror}); it installs the test dependencies of {stack.name}",
            where=f"`{' '.join(command)}`",
            remedy=f"install {command[0]}, or set `setup` of the stack in .prd2pr.yml to the project's command",
        ) from None


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its children, so that nothing writes into a discarded directory."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _make_problem(stack: Stack, command: str, why: str) -> SetupProblem:
    place = "the root of the repository" if stack.root == "." else f"{stack.root}/"
    files = f" ({', '.join(stack.manifests)})" if stack.manifests else ""
    return SetupProblem(
        f"the test dependencies of {stack.name} could not be installed: {why}",
        where=f"`{command}`{files}",
        remedy=f"run the command in {place} of a fresh checkout and fix the failure; the incomplete "
        "installation was deleted. `setup` of the stack in .prd2pr.yml can name other commands",
    )


def _extract_reason(text: str) -> str:
    """Return the error on one line, without credentials in URLs."""
    return extract_error_line(re.sub(r"//[^/\s@]+@", "//", text), _MAX_REASON)


def _make_environment() -> dict[str, str]:
    """Return the user's environment, for registries and proxies, without the keys for models and GitHub.

    yarn must create `node_modules`, where runners look for packages, and must not start a program of the repository: no
    code of a story's commit runs outside the sandbox.
    """
    secret = ("ANTHROPIC", "OPENAI", "GITHUB_TOKEN", "GH_TOKEN", "PRD2PR", "ACTIONS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(secret)}
    return {**kept, "YARN_NODE_LINKER": "node-modules", "YARN_IGNORE_PATH": "1"}
