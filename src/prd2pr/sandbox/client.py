"""The client of the sandbox server, with one server process per privilege mode and one control socket per run."""

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

from prd2pr.domain.results.isolation import NONE, format_sandbox
from prd2pr.errors import SetupProblem
from prd2pr.sandbox.child_process import PipeEnds
from prd2pr.sandbox.jail.plan import EVENTS_DESCRIPTOR, Privilege, SandboxPlan

SOURCE_ROOT = Path(__file__).resolve().parents[2]
METHOD = "namespaces"
_SERVER_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from prd2pr.sandbox.jail.server import main; main()"
_MAX_MESSAGE = 1 << 16
_WAIT_SECONDS = 20.0  # time for a sandbox to start or stop, even on a busy machine


class SandboxClient:
    """A server process that creates sandboxes on request. It exits when its socket closes, and so with this program."""

    def __init__(self, privilege: Privilege | None) -> None:
        self._lock = threading.Lock()
        self._socket, server_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sudo = ["sudo", "-n", "--"] if privilege == "sudo" else []
        with server_socket:
            self._process = subprocess.Popen(
                [*sudo, sys.executable, "-I", "-S", "-B", "-c", _SERVER_PROGRAM, str(SOURCE_ROOT)],
                stdin=server_socket.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath, "LANG": "C.UTF-8"},
                start_new_session=True,
            )

    def start_child(self, plan: SandboxPlan, ends: PipeEnds) -> SandboxedChild:
        """Start a process in a new sandbox."""
        control, server_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with server_control:
            descriptors = [ends.parameters, ends.output, ends.events, server_control.fileno()]
            with self._lock:
                socket.send_fds(self._socket, [marshal.dumps(dict(plan))], descriptors)
        return SandboxedChild(control)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)


class SandboxedChild:
    """A child in a sandbox, reached only through its control socket, because signals do not reach the tests."""

    events_number = EVENTS_DESCRIPTOR

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._protections: list[str] | None = None
        self._status: int | None = None
        self.complaint = ""

    @property
    def sandbox(self) -> str:
        self.wait_until_ready()
        return NONE if self._protections is None else format_sandbox(METHOD, self._protections)

    def wait_until_ready(self) -> bool:
        """Wait until the sandbox is set up. Return False if that failed."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while self._protections is None and self._status is None and not self.complaint and time.monotonic() < deadline:
            self._receive(deadline - time.monotonic())
        return self._protections is not None and not self.complaint

    def poll(self) -> int | None:
        while self._status is None and self._receive(0):
            continue
        return self._status

    def wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._status is None and (remaining := deadline - time.monotonic()) > 0:
            self._receive(remaining)

    def end(self) -> None:
        if self._control.fileno() < 0:
            return
        if self._status is None:
            with contextlib.suppress(OSError):  # the server may have closed it
                self._control.shutdown(socket.SHUT_WR)
            self.wait(_WAIT_SECONDS)
        self._control.close()
        if self._status is None:
            raise SetupProblem(
                "a test run could not be stopped",
                where="the sandbox does not respond",
                remedy="look for processes of this run that hang in the kernel; `prd2pr doctor` checks the sandbox",
            )

    def _receive(self, seconds: float) -> bool:
        """Receive a message if one is available. Return whether one was received."""
        self._control.settimeout(max(seconds, 0))
        try:
            data = self._control.recv(_MAX_MESSAGE)
        except (TimeoutError, BlockingIOError):
            return False
        except ConnectionError:
            data = b""
        self._handle_message(marshal.loads(data) if data else ("ended", 9, ""))  # noqa: S302 data from our server
        return True

    def _handle_message(self, message: tuple[Any, ...]) -> None:
        if message[0] == "had":
            self._protections = [str(each) for each in message[1]]
        elif message[0] == "failed":
            self.complaint = self.complaint or f"the sandbox could not be set up: {message[1]}"
        elif self._status is None:
            self._status = os.waitstatus_to_exitcode(message[1])
            self.complaint = self.complaint or str(message[2])


_clients: dict[Privilege | None, SandboxClient] = {}
_clients_lock = threading.Lock()


def get_sandbox_client(privilege: Privilege | None) -> SandboxClient:
    """Return this program's client. It is started on first use, and restarted if its server has exited."""
    with _clients_lock:
        client = _clients.get(privilege)
        if client is None or not client.is_alive():
            client = _clients[privilege] = SandboxClient(privilege)
        return client


@atexit.register
def _close_all() -> None:
    while _clients:
        _clients.popitem()[1].close()
