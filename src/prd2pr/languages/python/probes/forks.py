"""Runs a function in a fork of this process and returns its messages, or the reason why there are none.

Runs under the project's own Python, like the launcher, and uses only the standard library.
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

# Saved here because the code under test may replace these functions.
_fork, _exit, _read, _write, _close = os.fork, os._exit, os.read, os.write, os.close
_waitpid, _kill, _monotonic, _dumps, _loads = os.waitpid, os.kill, time.monotonic, json.dumps, json.loads


def run_in_fork(
    work: Callable[[Callable[[dict[str, Any]], None]], None],
    on_message: Callable[[dict[str, Any]], None],
    *,
    cpu: float = 0,
    wall: float,
    close_descriptors: tuple[int, ...] = (),
) -> str:
    """Run `work` in a fork and pass each message it sends to `on_message`.

    Return an empty string if the fork ended normally, otherwise `time` or a description of what happened.
    """
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns when a process with threads forks
        child = _fork()
    if child == 0:
        _run_child(work, theirs, cpu, (ours, *close_descriptors))
    _close(theirs)
    try:
        return _read_messages(child, ours, on_message, _monotonic() + wall)
    finally:
        _close(ours)


def limit_cpu(cpu: float) -> None:
    """Limit this process's CPU time from now on.

    Unlike a limit on elapsed time, it does not depend on the load of the machine.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu)


def _run_child(work: Callable[..., None], channel: int, cpu: float, close_descriptors: tuple[int, ...]) -> None:
    status = CRASHED
    try:
        for descriptor in close_descriptors:
            _close(descriptor)
        if cpu:
            limit_cpu(cpu)

        def reply(facts: dict[str, Any]) -> None:
            line = _dumps(facts).encode() + b"\n"
            while line:
                line = line[_write(channel, line) :]

        work(reply)
        reply({"end": True})
        status = 0
    finally:
        _exit(status)


def _read_messages(child: int, channel: int, on_message: Callable[[dict[str, Any]], None], deadline: float) -> str:
    buffer, ended = b"", False
    while not ended:
        ready = select.select([channel], [], [], max(0.0, min(1.0, deadline - _monotonic())))[0]
        data = _read(channel, 1 << 16) if ready else b""
        if ready and not data:
            break
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            facts = _loads(line)
            if facts == {"end": True}:
                ended = True
            else:
                on_message(facts)
        if not ended and _monotonic() > deadline:
            _kill_child(child)
            return "time"
    return _wait_for_exit(child, ended=ended)


def _wait_for_exit(child: int, *, ended: bool) -> str:
    """Wait for a child that has reported its end or closed its pipe, but not for processes that it left running."""
    until = _monotonic() + 1
    while _monotonic() < until:
        done, status = _waitpid(child, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return "time" if os.WTERMSIG(status) == signal.SIGPROF else f"signal {os.WTERMSIG(status)}"
            return "" if ended and status == 0 else "the test process ended by itself"
        time.sleep(0.0005)
    _kill_child(child)
    return "" if ended else "the test process did not end"


def _kill_child(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        _kill(child, signal.SIGKILL)
    _waitpid(child, 0)
