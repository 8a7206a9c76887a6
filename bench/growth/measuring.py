"""One call of a program: seconds of processor, and the most memory that one process had.

Processor time is what curves are made of: another program on the machine makes a call wait, and hardly makes it work
more. Whatever the call starts counts, also what outlives its parent, as test runs in a sandbox do.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PRD2PR = (sys.executable, "-m", "prd2pr")
# As an installed package is: compiled once, and tests run by this interpreter.
ENVIRONMENT = {**os.environ, "VIRTUAL_ENV": sys.prefix}
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
LINGERING = 10.0  # seconds that are waited for what a call leaves behind


@dataclass(frozen=True)
class Taken:
    processor: float
    megabytes: float


def adopt_orphans() -> None:
    """Where the system cannot, what outlives its parent is not counted."""
    try:
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    except (OSError, AttributeError):
        return


def call(*command: str | Path, cwd: Path, fine: Sequence[int] = (0,), env: Mapping[str, str] = ENVIRONMENT) -> Taken:
    """Of a real process. Anything but the expected exit status ends the bench: no curve is made of failures."""
    adopt_orphans()
    known, before = children(), spent()
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env=dict(env), stdout=told, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # it is gone: nobody has to wait for it again
        reap_orphans(known)
        if process.returncode not in fine:
            told.seek(0)
            said = told.read().decode(errors="replace")[-3000:]
            raise SystemExit(f"{' '.join(map(str, command))}: exit {process.returncode}\n{said}")
    return Taken(spent() - before, usage.ru_maxrss / 1024)


def spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def children() -> frozenset[int]:
    """Processes whose parent this one is."""
    found = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        found |= {int(word) for word in listed.read_text(encoding="ascii").split()}
    return frozenset(found)


def reap_orphans(known: frozenset[int]) -> None:
    """What a call has left behind; those that this process had before it are none of its business."""
    until = time.monotonic() + LINGERING
    while time.monotonic() < until:
        left = children() - known
        if not left:
            return
        if not any(os.waitpid(orphan, os.WNOHANG)[0] for orphan in left):
            time.sleep(0.01)


def prd2pr(*arguments: str | Path, cwd: Path, fine: Sequence[int] = (0,)) -> Taken:
    return call(*PRD2PR, *arguments, cwd=cwd, fine=fine)


def least(action: Callable[[], Taken], rounds: int) -> Taken:
    """Whatever else a machine does can only add to it."""
    taken = [action() for _ in range(rounds)]
    return Taken(min(each.processor for each in taken), min(each.megabytes for each in taken))
