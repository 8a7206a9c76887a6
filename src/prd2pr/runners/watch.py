"""One child process under watch: its own session, bounded output, a watchdog, and nothing left alive at the end."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import tempfile
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


def watch(
    argv: Sequence[str],
    parameters: Mapping[str, Any],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    stall_seconds: float,
) -> Watched:
    """Run `argv` with `parameters` as JSON on stdin, the number of its events pipe among them."""
    started = time.monotonic()
    events, events_end = os.pipe()
    output, output_end = os.pipe()
    try:
        with tempfile.TemporaryFile() as stdin:
            stdin.write(json.dumps({**parameters, "events": events_end}).encode())
            stdin.seek(0)
            process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=output_end,
                stderr=output_end,
                cwd=cwd,
                env=dict(environment),
                pass_fds=(events_end,),
                start_new_session=True,
            )
    except BaseException:
        _close(events, output, events_end, output_end)
        raise
    _close(events_end, output_end)
    streams = _Streams(events, output)
    try:
        killed = _follow(process, streams, started + timeout_seconds, stall_seconds)
    finally:
        _end(process, environment)
        _drain(streams)
        _close(events, output)
    status = None if killed else process.returncode
    return Watched(
        bytes(streams.told), streams.printed.decode(errors="replace"), status, killed, time.monotonic() - started
    )


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _follow(process: subprocess.Popen[bytes], streams: _Streams, deadline: float, stall: float) -> Killed:
    with selectors.DefaultSelector() as selector:
        for descriptor in (streams.events, streams.output):
            os.set_blocking(descriptor, False)
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
