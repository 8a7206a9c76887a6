"""A piece of work in a fork of this process: what it answers, or why there is no answer.

Executed by the project's own Python, like the launcher: standard library alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

CRASHED = 70

# Kept: the code under test may replace what the names mean.
_fork, _exit, _read, _write, _close = os.fork, os._exit, os.read, os.write, os.close
_waitpid, _kill, _monotonic, _dumps, _loads = os.waitpid, os.kill, time.monotonic, json.dumps, json.loads


def forked(
    work: Callable[[Callable[[dict[str, Any]], None]], None],
    heard: Callable[[dict[str, Any]], None],
    *,
    cpu: float = 0,
    wall: float,
    shut: tuple[int, ...] = (),
) -> str:
    """`work` gets a function to answer with, as often as it likes; each answer is handed to `heard`.

    Empty, when the fork ended by itself and well; else `time` or what happened to it.
    """
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a project that runs threads on import: said of every fork, from 3.12 on
        child = _fork()
    if child == 0:
        _be_the_child(work, theirs, cpu, (ours, *shut))
    _close(theirs)
    try:
        return _listen(child, ours, heard, _monotonic() + wall)
    finally:
        _close(ours)


def limit(cpu: float) -> None:
    """Of this process's own work, from now on: a busy machine makes no time-outs."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu)


def _be_the_child(work: Callable[..., None], channel: int, cpu: float, shut: tuple[int, ...]) -> None:
    status = CRASHED
    try:
        for descriptor in shut:
            _close(descriptor)
        if cpu:
            limit(cpu)

        def answer(facts: dict[str, Any]) -> None:
            line = _dumps(facts).encode() + b"\n"
            while line:
                line = line[_write(channel, line) :]

        work(answer)
        answer({"end": True})
        status = 0
    finally:
        _exit(status)


def _listen(child: int, channel: int, heard: Callable[[dict[str, Any]], None], deadline: float) -> str:
    held, ended = b"", False
    while not ended:
        ready = select.select([channel], [], [], max(0.0, min(1.0, deadline - _monotonic())))[0]
        data = _read(channel, 1 << 16) if ready else b""
        if ready and not data:
            break
        *lines, held = (held + data).split(b"\n")
        for line in lines:
            facts = _loads(line)
            if facts == {"end": True}:
                ended = True
            else:
                heard(facts)
        if not ended and _monotonic() > deadline:
            _end(child)
            return "time"
    return _parting(child, ended=ended)


def _parting(child: int, *, ended: bool) -> str:
    """It has said that it is done, or its end of the channel is closed; whatever it left running keeps nobody."""
    until = _monotonic() + 1
    while _monotonic() < until:
        done, status = _waitpid(child, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return "time" if os.WTERMSIG(status) == signal.SIGPROF else f"signal {os.WTERMSIG(status)}"
            return "" if ended and status == 0 else "the test process ended by itself"
        time.sleep(0.0005)
    _end(child)
    return "" if ended else "the test process did not end"


def _end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        _kill(child, signal.SIGKILL)
    _waitpid(child, 0)
