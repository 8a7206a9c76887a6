"""Supervise a child process: its own session, bounded output, a watchdog, and no process left at the end."""

from __future__ import annotations

import json
import os
import selectors
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from prd2pr.sandbox.child_process import Child, ChildStarter, PipeEnds

MAX_OUTPUT_KEPT = 64_000  # bytes kept from the end, where pytest's own errors are
MAX_EVENTS_BYTES = 128_000_000  # a run that reports more is killed
_POLL_SECONDS = 0.05
_PAUSE_SECONDS = 0.004
_DISK_SECONDS = 0.5

KillReason = Literal["", "stalled", "timed out", "flooded", "wrote too much", "was given up"]


@dataclass(frozen=True)
class ProcessRecord:
    """The output of a process, and how it exited."""

    events: bytes
    output: str
    exit_status: int | None  # None if prd2pr killed it
    killed: KillReason
    seconds: float
    sandbox: str
    complaint: str  # problem that the sandbox reports


@dataclass
class _Streams:
    """The data received from the events pipe and from the child's output."""

    events: int
    output: int
    event_data: bytearray = field(default_factory=bytearray)
    printed: bytearray = field(default_factory=bytearray)
    last_event: float = field(default_factory=time.monotonic)
    closed: set[int] = field(default_factory=set)

    def read_once(self, descriptor: int) -> bool:
        """Read once. Return False if there is nothing to read now or the pipe is closed."""
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self.closed.add(descriptor)
            return False
        if descriptor == self.events:
            self.event_data += data
            self.last_event = time.monotonic()
        else:
            self.printed += data
            del self.printed[:-MAX_OUTPUT_KEPT]
        return True


class StartedProcess:
    """A started child that waits for its parameters, which it reads as JSON from standard input.

    A child without parameters sees the end of its input and exits, even if this process is killed.
    """

    def __init__(self, start: ChildStarter) -> None:
        self._ended = False
        parameters_end, self._parameters = os.pipe()
        events, events_end = os.pipe()
        output, output_end = os.pipe()
        self._streams = _Streams(events, output)
        for descriptor in (events, output):
            os.set_blocking(descriptor, False)
        try:
            self._child = start(PipeEnds(parameters_end, output_end, events_end))
        except BaseException:
            _close(self._parameters, events, output)
            raise
        finally:
            _close(parameters_end, events_end, output_end)

    def send(self, parameters: Mapping[str, Any] | None) -> None:
        """Send the parameters, including the number of the events pipe. The child then starts to work.

        With None, the child gets an empty input.
        """
        given = None if parameters is None else {**parameters, "events": self._child.events_number}
        data = b"" if given is None else json.dumps(given).encode()
        try:
            with open(self._parameters, "wb", closefd=False) as pipe:
                pipe.write(data)
        except BrokenPipeError:
            pass  # it has already exited; its status and output show why
        self._close_parameters()

    def follow(
        self,
        *,
        timeout_seconds: float,
        stall_seconds: float,
        full: Callable[[], bool] | None = None,
        given_up: threading.Event | None = None,
    ) -> ProcessRecord:
        """Wait until the process exits, and kill it if necessary.

        `full` is called to check whether the run has written too much. `given_up` is set when the result is no longer
        needed.
        """
        started = self._streams.last_event = time.monotonic()
        try:
            watchdog = Watchdog(started + timeout_seconds, stall_seconds, full, given_up)
            reason = _follow_child(self._child, self._streams, watchdog)
        finally:
            self.end()
        return ProcessRecord(
            events=bytes(self._streams.event_data),
            output=self._streams.printed.decode(errors="replace"),
            exit_status=None if reason else self._child.poll(),
            killed=reason,
            seconds=time.monotonic() - started,
            sandbox=self._child.sandbox,
            complaint=self._child.complaint,
        )

    def end(self) -> None:
        """Kill the child and everything it started. A second call does nothing."""
        if self._ended:
            return
        self._ended = True
        self._close_parameters()
        self._child.end()
        _drain(self._streams)
        _close(self._streams.events, self._streams.output)

    def _close_parameters(self) -> None:
        if self._parameters >= 0:
            _close(self._parameters)
            self._parameters = -1


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class Watchdog:
    """The rules that decide when a run is killed."""

    def __init__(
        self, deadline: float, stall: float, full: Callable[[], bool] | None, given_up: threading.Event | None = None
    ) -> None:
        self._deadline, self._stall, self._full, self._given_up = deadline, stall, full, given_up
        self._next_disk_check = time.monotonic() + _DISK_SECONDS

    def find_reason(self, streams: _Streams) -> KillReason:
        now = time.monotonic()
        if self._given_up is not None and self._given_up.is_set():
            return "was given up"
        if len(streams.event_data) > MAX_EVENTS_BYTES:
            return "flooded"
        if now > self._deadline:
            return "timed out"
        if self._full is not None and now > self._next_disk_check:
            self._next_disk_check = now + _DISK_SECONDS
            if self._full():
                return "wrote too much"
        return "stalled" if now - streams.last_event > self._stall else ""


def _follow_child(child: Child, streams: _Streams, watchdog: Watchdog) -> KillReason:
    with selectors.DefaultSelector() as selector:
        for descriptor in (streams.events, streams.output):
            selector.register(descriptor, selectors.EVENT_READ)
        while child.poll() is None:
            for key, _ in selector.select(_POLL_SECONDS):
                streams.read_once(key.fd)
                if key.fd in streams.closed:
                    selector.unregister(key.fd)
            if not selector.get_map():
                child.wait(_POLL_SECONDS)  # both pipes are closed, so it is about to exit
            if reason := watchdog.find_reason(streams):
                return reason
            time.sleep(_PAUSE_SECONDS)  # waking up for every line would slow down the tests on few cores
    return ""


def _drain(streams: _Streams) -> None:
    """Read the data that was written before the process exited."""
    for descriptor in {streams.events, streams.output} - streams.closed:
        while streams.read_once(descriptor) and len(streams.event_data) <= MAX_EVENTS_BYTES:
            continue
