"""Code shared by the programs that build and run compiled tests.

It is loaded by path and uses only the standard library.

These programs run between the launcher and the project. A test binary is their child process and has no access to their
pipe or secret. Its output is not trusted: it is forwarded unchanged and judged elsewhere.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOT_DUMPABLE = (4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: processes of the same user may not inspect this one
CHUNK = 1 << 16
HEAD_BYTES, TAIL_BYTES = 600_000, 300_000  # number of bytes kept from the start and the end of an output
BEAT_SECONDS = 10.0  # time between two heartbeats of a build
DRAIN_SECONDS = 1.0  # time to read an output after its program has exited


class ResultPipe:
    """A pipe for reporting results. Each line starts with a secret."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(*NOT_DUMPABLE)
        given = json.load(sys.stdin)
        self._pipe, self._secret = int(given["pipe"]), str(given["secret"])
        os.set_inheritable(self._pipe, False)  # noqa: FBT003 this argument is positional-only
        self.order: dict[str, Any] = json.loads(given["order"])

    def report_building(self) -> None:
        self(event="building")

    def __call__(self, **facts: Any) -> None:
        data = f"{self._secret} {json.dumps(facts)}\n".encode()
        while data:
            data = data[os.write(self._pipe, data) :]


class ProcessResult:
    def __init__(self, status: int, output: str, seconds: float, *, hung: bool) -> None:
        self.status, self.output, self.seconds, self.hung = status, output, seconds, hung

    def facts(self) -> dict[str, Any]:
        return {"status": self.status, "output": self.output, "seconds": round(self.seconds, 4), "hung": self.hung}


def run_process(
    argv: list[str],
    directory: str,
    environment: dict[str, str],
    *,
    quiet: float,
    head: int = HEAD_BYTES,
    still: Callable[[], None] | None = None,
) -> ProcessResult:
    """Run a command with stdout and stderr combined. It is stopped if it prints nothing for `quiet` seconds.

    `still` is called periodically, as a heartbeat for compilers that print nothing for a long time.
    """
    started = last_output = last_beat = time.monotonic()
    hung = False
    pieces = _OutputBuffer(head)
    with (
        subprocess.Popen(
            argv,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
        selectors.DefaultSelector() as selector,
    ):
        output = process.stdout.fileno()  # type: ignore[union-attr]
        os.set_blocking(output, False)
        selector.register(output, selectors.EVENT_READ)
        ended = 0.0
        while True:
            for _ in selector.select(0.05):
                data = os.read(output, CHUNK)
                pieces.add(data)
                last_output = time.monotonic()
                if not data:
                    selector.unregister(output)
            now = time.monotonic()
            if not selector.get_map():
                break
            if still is not None and now - last_beat > BEAT_SECONDS:
                last_beat = now
                still()
            if process.poll() is not None:
                ended = ended or now
                if now - ended > DRAIN_SECONDS:
                    break  # a child process keeps the output open
            elif now - last_output > quiet:
                hung = True
                _kill_group(process.pid)
        status = process.wait()
        _kill_group(process.pid)
    return ProcessResult(status, pieces.text(), time.monotonic() - started, hung=hung)


class _OutputBuffer:
    """A buffer that keeps the beginning and the end of an output."""

    def __init__(self, most: int) -> None:
        self._most, self._head, self._tail, self._lost = most, bytearray(), bytearray(), False

    def add(self, data: bytes) -> None:
        room = max(self._most - len(self._head), 0)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > TAIL_BYTES:
            self._lost = True
            del self._tail[: len(self._tail) - TAIL_BYTES]

    def text(self) -> str:
        between = b"\n[...]\n" if self._lost else b""
        return bytes(self._head + between + self._tail).decode("utf-8", "replace")


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


class BinaryDigests:
    """Digests of built binaries, to detect tests that rewrite the next binary."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def keep(self, path: str) -> None:
        self._digests[path] = _hash_file(path)

    def changed(self, *paths: str) -> list[str]:
        return [path for path in paths or self._digests if _hash_file(path) != self._digests[path]]


def _hash_file(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""
