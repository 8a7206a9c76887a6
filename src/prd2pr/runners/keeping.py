"""prd2pr's side of the sandbox: one keeper for each door, and one leash for each run."""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from prd2pr.core.isolation import NONE, described
from prd2pr.errors import SetupProblem
from prd2pr.runners.child import Ends
from prd2pr.runners.jail.plan import EVENTS, Door, Plan

SOURCE = Path(__file__).resolve().parents[2]
HOW = "namespaces"
_BEGIN = "import sys; sys.path.insert(0, sys.argv[1]); from prd2pr.runners.jail.keeper import main; main()"
_LARGEST = 1 << 16
_PATIENCE = 20.0  # seconds for a sandbox to be made or to end; a crowded machine needs a while


class Keeper:
    """A process that makes sandboxes on request. It ends when its socket is closed, and so with this program."""

    def __init__(self, door: Door) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        before = ["sudo", "-n", "--"] if door == "sudo" else []
        with theirs:
            self._process = subprocess.Popen(
                [*before, sys.executable, "-I", "-S", "-B", "-c", _BEGIN, str(SOURCE)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath, "LANG": "C.UTF-8"},
                start_new_session=True,
            )

    def ask(self, plan: Plan, ends: Ends) -> JailedChild:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            passed = [ends.parameters, ends.output, ends.events, theirs.fileno()]
            with self._lock:
                socket.send_fds(self._socket, [marshal.dumps(dict(plan))], passed)
        return JailedChild(ours)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)


class JailedChild:
    """A child in a sandbox, known by its leash alone: no signal reaches where the tests are."""

    events_number = EVENTS

    def __init__(self, leash: socket.socket) -> None:
        self._leash = leash
        self._had: list[str] | None = None
        self._status: int | None = None
        self.complaint = ""

    @property
    def sandbox(self) -> str:
        self.greeted()
        return NONE if self._had is None else described(HOW, self._had)

    def greeted(self) -> bool:
        """Wait until the sandbox stands; False when it could not be made."""
        deadline = time.monotonic() + _PATIENCE
        while self._had is None and self._status is None and not self.complaint and time.monotonic() < deadline:
            self._hear(deadline - time.monotonic())
        return self._had is not None and not self.complaint

    def poll(self) -> int | None:
        while self._status is None and self._hear(0):
            continue
        return self._status

    def wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._status is None and (left := deadline - time.monotonic()) > 0:
            self._hear(left)

    def end(self) -> None:
        if self._leash.fileno() < 0:
            return
        if self._status is None:
            with contextlib.suppress(OSError):  # the other side may have gone
                self._leash.shutdown(socket.SHUT_WR)
            self.wait(_PATIENCE)
        self._leash.close()
        if self._status is None:
            raise SetupProblem(
                "a test run could not be ended",
                where="the sandbox does not answer",
                remedy="look for processes of this run that hang in the kernel; `prd2pr doctor` tries the sandbox",
            )

    def _hear(self, seconds: float) -> bool:
        """Take in one message, if there is one."""
        self._leash.settimeout(max(seconds, 0))
        try:
            data = self._leash.recv(_LARGEST)
        except (TimeoutError, BlockingIOError):
            return False
        except ConnectionError:
            data = b""
        self._take(marshal.loads(data) if data else ("ended", 9, ""))  # noqa: S302 our own words
        return True

    def _take(self, message: tuple[Any, ...]) -> None:
        if message[0] == "had":
            self._had = [str(each) for each in message[1]]
        elif message[0] == "failed":
            self.complaint = self.complaint or f"the sandbox could not be set up: {message[1]}"
        elif self._status is None:
            self._status = os.waitstatus_to_exitcode(message[1])
            self.complaint = self.complaint or str(message[2])


_keepers: dict[Door, Keeper] = {}
_making = threading.Lock()


def keeper_of(door: Door) -> Keeper:
    """The one of this program; made when first asked for, and anew if it has gone."""
    with _making:
        kept = _keepers.get(door)
        if kept is None or not kept.is_alive():
            kept = _keepers[door] = Keeper(door)
        return kept


@atexit.register
def _close_all() -> None:
    while _keepers:
        _keepers.popitem()[1].close()
