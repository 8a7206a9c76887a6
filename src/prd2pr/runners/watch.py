"""One child process under watch: its own session, bounded output, a watchdog, and nothing left alive at the end."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

OUTPUT_KEPT = 64_000  # bytes of the end: pytest's own complaints stand there
EVENTS_LIMIT = 128_000_000  # bytes; a run that tells more is flooding
_TICK = 0.05  # seconds
_PAUSE = 0.004

Killed = Literal["", "stalled", "timed out", "flooded"]


@dataclass(frozen=True)
class Watched:
    events: bytes
    output: str
    exit_status: int | None  # None: killed by us
    killed: Killed
    seconds: float


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

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._ended = False
        self._events, self._events_end = os.pipe()
        output, output_end = os.pipe()
        self._streams = _Streams(self._events, output)
        for descriptor in (self._events, output):
            os.set_blocking(descriptor, False)
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=output_end,
                stderr=output_end,
                cwd=cwd,
                env=dict(environment),
                pass_fds=(self._events_end,),
                start_new_session=True,
            )
        except BaseException:
            _close(self._events, output)
            raise
        finally:
            _close(self._events_end, output_end)

    def send(self, parameters: Mapping[str, Any]) -> None:
        """From here on the child runs; the number of its events pipe is among the parameters."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({**parameters, "events": self._events_end}).encode())
            self._process.stdin.close()
        except BrokenPipeError:
            return  # it has ended already: its exit status and its output say why

    def follow(self, *, timeout_seconds: float, stall_seconds: float) -> Watched:
        started = self._streams.last_news = time.monotonic()
        try:
            killed = _follow(self._process, self._streams, started + timeout_seconds, stall_seconds)
        finally:
            self.end()
        status = None if killed else self._process.returncode
        printed = self._streams.printed.decode(errors="replace")
        return Watched(bytes(self._streams.told), printed, status, killed, time.monotonic() - started)

    def end(self) -> None:
        """Nothing of it is left alive. It may have been ended before."""
        if self._ended:
            return
        self._ended = True
        _end(self._process, self._environment)
        _drain(self._streams)
        _close(self._streams.events, self._streams.output)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _follow(process: subprocess.Popen[bytes], streams: _Streams, deadline: float, stall: float) -> Killed:
    with selectors.DefaultSelector() as selector:
        for descriptor in (streams.events, streams.output):
            selector.register(descriptor, selectors.EVENT_READ)
        while process.poll() is None:
            for key, _ in selector.select(_TICK):
                streams.pump(key.fd)
                if key.fd in streams.closed:
                    selector.unregister(key.fd)
            if not selector.get_map():
                _wait_briefly(process)  # both ends are closed: it is about to exit
            if verdict := _overdue(streams, deadline, stall):
                return verdict
            time.sleep(_PAUSE)  # not to wake for every line: on few cores that costs the tests their time
    return ""


def _wait_briefly(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_TICK)
    except subprocess.TimeoutExpired:
        return


def _overdue(streams: _Streams, deadline: float, stall: float) -> Killed:
    now = time.monotonic()
    if len(streams.told) > EVENTS_LIMIT:
        return "flooded"
    if now > deadline:
        return "timed out"
    return "stalled" if now - streams.last_news > stall else ""


def _drain(streams: _Streams) -> None:
    """What was written before the end is still in the pipes."""
    for descriptor in {streams.events, streams.output} - streams.closed:
        while streams.pump(descriptor) and len(streams.told) <= EVENTS_LIMIT:
            continue


def _end(process: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
    _kill_group(process.pid)
    process.wait()
    for escaped in _escaped(environment):
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
