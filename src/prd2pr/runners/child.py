"""The process of one test run, with or without a sandbox: how to learn of its end, and how to bring it about."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from prd2pr.core.isolation import NONE


@dataclass(frozen=True)
class Ends:
    """The child's ends of the pipes that join it to the runner."""

    parameters: int
    output: int
    events: int


class Child(Protocol):
    events_number: int  # by which number the child knows its events pipe

    def poll(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        ...

    def wait(self, seconds: float) -> None:
        """Until it has ended, but no longer than this."""
        ...

    def end(self) -> None:
        """Nothing of it is left alive."""
        ...

    @property
    def sandbox(self) -> str:
        """What it really had, in the words of `core.isolation`."""
        ...

    @property
    def complaint(self) -> str:
        """Why it was ended, or could not begin, by the sandbox's own account."""
        ...


Starter = Callable[[Ends], Child]


class BareChild:
    """A child without a sandbox: a session of its own, and what leaves it is found by its environment."""

    sandbox = NONE
    complaint = ""

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], ends: Ends) -> None:
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
        for escaped in _escaped(self._environment):
            _kill_group(escaped)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # nobody left


def _escaped(environment: Mapping[str, str]) -> list[int]:
    """Process groups that left the session but still carry this run's HOME, which no other process has."""
    marker = f"HOME={environment['HOME']}".encode()
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if marker in (place / "environ").read_bytes().split(b"\0"):
                found.add(os.getpgid(int(place.name)))
        except (OSError, ValueError):
            continue  # gone meanwhile, or not ours to read
    return sorted(found - {os.getpgrp()})
