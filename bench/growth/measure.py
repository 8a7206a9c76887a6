"""Processor seconds and peak memory of one call of a program.

Curves use processor time, because other programs on the machine hardly affect it. All processes that the call starts
are counted, also those that outlive their parent, such as test runs in a sandbox.
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
# Like an installed package: compiled once, and this interpreter runs the tests.
ENVIRONMENT = {**os.environ, "VIRTUAL_ENV": sys.prefix}
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
LINGERING = 10.0  # seconds to wait for processes that outlive a call


@dataclass(frozen=True)
class Usage:
    processor: float
    megabytes: float


def adopt_orphans() -> None:
    """Become the parent of orphaned processes, so that they are counted. Without system support they are not."""
    try:
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    except (OSError, AttributeError):
        return


def call(*command: str | Path, cwd: Path, fine: Sequence[int] = (0,), env: Mapping[str, str] = ENVIRONMENT) -> Usage:
    """Run a program and measure it. Any other exit status than `fine` ends the benchmark."""
    adopt_orphans()
    known, before = children(), spent()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env=dict(env), stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # already reaped: Popen must not wait for it
        reap_orphans(known)
        if process.returncode not in fine:
            output.seek(0)
            tail = output.read().decode(errors="replace")[-3000:]
            raise SystemExit(f"{' '.join(map(str, command))}: exit {process.returncode}\n{tail}")
    return Usage(spent() - before, usage.ru_maxrss / 1024)


def spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def children() -> frozenset[int]:
    """Return the ids of this process's children."""
    found = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        found |= {int(word) for word in listed.read_text(encoding="ascii").split()}
    return frozenset(found)


def reap_orphans(known: frozenset[int]) -> None:
    """Wait for processes that the call left behind; `known` ones existed before it."""
    until = time.monotonic() + LINGERING
    while time.monotonic() < until:
        left = children() - known
        if not left:
            return
        if not any(os.waitpid(orphan, os.WNOHANG)[0] for orphan in left):
            time.sleep(0.01)


def prd2pr(*arguments: str | Path, cwd: Path, fine: Sequence[int] = (0,)) -> Usage:
    return call(*PRD2PR, *arguments, cwd=cwd, fine=fine)


def least(action: Callable[[], Usage], rounds: int) -> Usage:
    """Return the minimum over `rounds`: other load on the machine can only add to it."""
    taken = [action() for _ in range(rounds)]
    return Usage(min(each.processor for each in taken), min(each.megabytes for each in taken))
