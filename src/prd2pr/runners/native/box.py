"""What the programs that build and run compiled tests share. Started by path, with the standard library alone.

They stand between the launcher and the project: a test binary is their child, has neither their pipe nor their secret,
and can say what it likes on its output. What it says there is passed on whole and judged elsewhere.
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

NOT_DUMPABLE = (4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody of the same user may look into this process
CHUNK = 1 << 16
HEAD, TAIL = 600_000, 300_000  # bytes of an output that are kept
BEAT = 10.0  # seconds between two words of a build that goes on
LEFT_OPEN = 1.0  # seconds for which an output is read on after its program has ended


class Told:
    """The way out: by a pipe, each line behind a secret."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(*NOT_DUMPABLE)
        given = json.load(sys.stdin)
        self._pipe, self._secret = int(given["pipe"]), str(given["secret"])
        os.set_inheritable(self._pipe, False)  # noqa: FBT003 the call has no other way
        self.order: dict[str, Any] = json.loads(given["order"])

    def building(self) -> None:
        self(event="building")

    def __call__(self, **facts: Any) -> None:
        data = f"{self._secret} {json.dumps(facts)}\n".encode()
        while data:
            data = data[os.write(self._pipe, data) :]


class Ran:
    def __init__(self, status: int, output: str, seconds: float, *, hung: bool) -> None:
        self.status, self.output, self.seconds, self.hung = status, output, seconds, hung

    def facts(self) -> dict[str, Any]:
        return {"status": self.status, "output": self.output, "seconds": round(self.seconds, 4), "hung": self.hung}


def run(
    argv: list[str],
    directory: str,
    environment: dict[str, str],
    *,
    quiet: float,
    head: int = HEAD,
    still: Callable[[], None] | None = None,
) -> Ran:
    """Both of its outputs as one. It is stopped when it prints nothing for `quiet` seconds.

    `still`: said now and then of a compiler, which works long and says nothing, to whoever waits for news.
    """
    began = heard = told = time.monotonic()
    hung = False
    pieces = _Pieces(head)
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
                heard = time.monotonic()
                if not data:
                    selector.unregister(output)
            now = time.monotonic()
            if not selector.get_map():
                break
            if still is not None and now - told > BEAT:
                told = now
                still()
            if process.poll() is not None:
                ended = ended or now
                if now - ended > LEFT_OPEN:
                    break  # somebody whom it left behind holds it open
            elif now - heard > quiet:
                hung = True
                _end(process.pid)
        status = process.wait()
        _end(process.pid)
    return Ran(status, pieces.text(), time.monotonic() - began, hung=hung)


class _Pieces:
    """The beginning and the end of an output, however long it is."""

    def __init__(self, most: int) -> None:
        self._most, self._head, self._tail, self._lost = most, bytearray(), bytearray(), False

    def add(self, data: bytes) -> None:
        room = max(self._most - len(self._head), 0)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > TAIL:
            self._lost = True
            del self._tail[: len(self._tail) - TAIL]

    def text(self) -> str:
        between = b"\n[...]\n" if self._lost else b""
        return bytes(self._head + between + self._tail).decode("utf-8", "replace")


def _end(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


class Binaries:
    """What was built, known again by its digest: a test that is run must not rewrite the next one."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def keep(self, path: str) -> None:
        self._digests[path] = _digest(path)

    def changed(self, *paths: str) -> list[str]:
        return [path for path in paths or self._digests if _digest(path) != self._digests[path]]


def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""
