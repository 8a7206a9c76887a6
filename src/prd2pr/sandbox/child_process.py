"""The process of one test run, with or without a sandbox, and the limits on its disk use."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from prd2pr.domain.results.isolation import NONE
from prd2pr.sandbox.cleanup import walk_files

MAX_BYTES_WRITTEN = 2 << 30  # limit for all directories of a run, without the exported files
MAX_FILES_WRITTEN = 500_000


class DiskUse:
    """The disk use of a run. Files are counted only if the free space shrinks, because counting is slow."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = places
        self._limit = MAX_BYTES_WRITTEN
        self._free, self._inodes = self._free_space()

    def is_exceeded(self) -> bool:
        """Return whether the run has written more than it may."""
        free, inodes = self._free_space()
        if self._free - free <= self._limit and self._inodes - inodes <= MAX_FILES_WRITTEN:
            return False
        used, files = measure_disk_use(self._places)
        return used > self._limit or files > MAX_FILES_WRITTEN

    def _free_space(self) -> tuple[int, int]:
        known = os.statvfs(self._places[0])
        return known.f_bavail * known.f_frsize, known.f_favail


def measure_disk_use(places: Sequence[Path]) -> tuple[int, int]:
    """Return the number of bytes and of files. Links are not followed."""
    used = files = 0
    for place in places:
        for entry in walk_files(place):
            files += 1
            try:
                used += entry.stat(follow_symlinks=False).st_blocks * 512
            except OSError:
                continue  # the file was deleted in the meantime
    return used, files


@dataclass(frozen=True)
class PipeEnds:
    """The child's ends of the pipes to the runner."""

    parameters: int
    output: int
    events: int


class Child(Protocol):
    """A running test process."""

    events_number: int  # descriptor number of the events pipe in the child

    def poll(self) -> int | None:
        """Return the exit status, which is negative for a signal, or None while the process runs."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait until the process has exited, but not longer than `seconds`."""
        ...

    def end(self) -> None:
        """Kill the process and everything it started."""
        ...

    @property
    def sandbox(self) -> str:
        """The protections that were in effect, as named in `domain.results.isolation`."""
        ...

    @property
    def complaint(self) -> str:
        """The reason why the sandbox killed the process or could not start it."""
        ...


ChildStarter = Callable[[PipeEnds], Child]


class UnsupervisedChild:
    """A child without a sandbox on a system other than Linux, in its own session."""

    sandbox = NONE
    complaint = ""

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], ends: PipeEnds) -> None:
        self.events_number = ends.events
        self._process = subprocess.Popen(
            argv,
            stdin=ends.parameters,
            stdout=ends.output,
            stderr=ends.output,
            cwd=cwd,
            env=dict(environment),
            pass_fds=(ends.events,),
            start_new_session=True,
        )

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, seconds: float) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # no process is left
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
