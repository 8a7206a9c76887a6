"""The process of one test run, with or without a sandbox, and the limits on its disk use."""

from __future__ import annotations

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


class UnsandboxedChild:
    """A child without a sandbox, in its own session.

    Processes that leave the session are found by their environment.
    """

    sandbox = NONE
    complaint = ""

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], ends: PipeEnds) -> None:
        self._environment = environment
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
        _kill_group(self._process.pid)
        self._process.wait()
        for escaped in _find_escaped_groups(self._environment):
            _kill_group(escaped)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # no process is left


def _find_escaped_groups(environment: Mapping[str, str]) -> list[int]:
    """Return the process groups that left the session but still have this run's HOME, which is unique."""
    marker = f"HOME={environment['HOME']}".encode()
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if marker in (place / "environ").read_bytes().split(b"\0"):
                found.add(os.getpgid(int(place.name)))
        except (OSError, ValueError):
            continue  # exited in the meantime, or not readable
    return sorted(found - {os.getpgrp()})
