"""One child process under watch: its own session, bounded output, a watchdog, and nothing left alive at the end."""

from __future__ import annotations

import json
import os
import selectors
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from prd2pr.runners.child import Child, Ends, Starter

OUTPUT_KEPT = 64_000  # bytes of the end: pytest's own complaints stand there
EVENTS_LIMIT = 128_000_000  # bytes; a run that tells more is flooding
_TICK = 0.05  # seconds
_PAUSE = 0.004
_DISK_SECONDS = 0.5

Killed = Literal["", "stalled", "timed out", "flooded", "wrote too much", "was given up"]


@dataclass(frozen=True)
class Watched:
    events: bytes
    output: str
    exit_status: int | None  # None: killed by us
    killed: Killed
    seconds: float
    sandbox: str
    complaint: str  # of the sandbox


@dataclass
class _Streams:
    """What has come so far, from the events pipe and from the child's output."""

    events: int
    output: int
    told: bytearray = field(default_factory=bytearray)
    printed: bytearray = field(default_factory=bytearray)
    last_news: float = field(default_factory=time.monotonic)
    closed: set[int] = field(default_factory=set)

    def pump(self, descriptor: int) -> bool:
        """Read once; False when there is nothing to read now or ever."""
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self.closed.add(descriptor)
            return False
        if descriptor == self.events:
            self.told += data
            self.last_news = time.monotonic()
        else:
            self.printed += data
            del self.printed[:-OUTPUT_KEPT]
        return True


class Started:
    """A child that has been started and waits for its parameters, which it reads as JSON from its standard input.

    A child that never gets any sees the end of its input and leaves by itself, also when this process is killed.
    """

    def __init__(self, start: Starter) -> None:
        self._ended = False
        theirs, self._parameters = os.pipe()
        events, events_end = os.pipe()
        output, output_end = os.pipe()
        self._streams = _Streams(events, output)
        for descriptor in (events, output):
            os.set_blocking(descriptor, False)
        try:
            self._child = start(Ends(theirs, output_end, events_end))
        except BaseException:
            _close(self._parameters, events, output)
            raise
        finally:
            _close(theirs, events_end, output_end)

    def send(self, parameters: Mapping[str, Any]) -> None:
        """From here on the child runs; the number of its events pipe is among the parameters."""
        told = json.dumps({**parameters, "events": self._child.events_number}).encode()
        try:
            with open(self._parameters, "wb", closefd=False) as pipe:
                pipe.write(told)
        except BrokenPipeError:
            pass  # it has ended already: its exit status and its output say why
        self._close_parameters()

    def follow(
        self,
        *,
        timeout_seconds: float,
        stall_seconds: float,
        full: Callable[[], bool] | None = None,
        given_up: threading.Event | None = None,
    ) -> Watched:
        """`full`: whether the run has written more than it may. `given_up`: set once nobody wants it any more."""
        started = self._streams.last_news = time.monotonic()
        try:
            patience = Patience(started + timeout_seconds, stall_seconds, full, given_up)
            killed = _follow(self._child, self._streams, patience)
        finally:
            self.end()
        return Watched(
            events=bytes(self._streams.told),
            output=self._streams.printed.decode(errors="replace"),
            exit_status=None if killed else self._child.poll(),
            killed=killed,
            seconds=time.monotonic() - started,
            sandbox=self._child.sandbox,
            complaint=self._child.complaint,
        )

    def end(self) -> None:
        """Nothing of it is left alive. It may have been ended before."""
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


class Patience:
    """When a run is no longer waited for."""

    def __init__(
        self, deadline: float, stall: float, full: Callable[[], bool] | None, given_up: threading.Event | None = None
    ) -> None:
        self._deadline, self._stall, self._full, self._given_up = deadline, stall, full, given_up
        self._look_again = time.monotonic() + _DISK_SECONDS

    def over(self, streams: _Streams) -> Killed:
        now = time.monotonic()
        if self._given_up is not None and self._given_up.is_set():
            return "was given up"
        if len(streams.told) > EVENTS_LIMIT:
            return "flooded"
        if now > self._deadline:
            return "timed out"
        if self._full is not None and now > self._look_again:
            self._look_again = now + _DISK_SECONDS
            if self._full():
                return "wrote too much"
        return "stalled" if now - streams.last_news > self._stall else ""


def _follow(child: Child, streams: _Streams, patience: Patience) -> Killed:
    with selectors.DefaultSelector() as selector:
        for descriptor in (streams.events, streams.output):
            selector.register(descriptor, selectors.EVENT_READ)
        while child.poll() is None:
            for key, _ in selector.select(_TICK):
                streams.pump(key.fd)
                if key.fd in streams.closed:
                    selector.unregister(key.fd)
            if not selector.get_map():
                child.wait(_TICK)  # both ends are closed: it is about to exit
            if verdict := patience.over(streams):
                return verdict
            time.sleep(_PAUSE)  # not to wake for every line: on few cores that costs the tests their time
    return ""


def _drain(streams: _Streams) -> None:
    """What was written before the end is still in the pipes."""
    for descriptor in {streams.events, streams.output} - streams.closed:
        while streams.pump(descriptor) and len(streams.told) <= EVENTS_LIMIT:
            continue
