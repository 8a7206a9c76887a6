"""Runs the program in a process forked from one that has already loaded it: saves half a second per start.

As after a normal start, it has its own arguments, environment, directory and streams, and exits by itself. A fork
cannot change what an interpreter reads at start-up: `can_serve` reports that, and the caller starts a new process.
Results of honest test runs are kept for the whole session (`kept_runs`): the same code is tested once, not in each of
the many worlds that start with it.

Its `/proc/PID/environ` and command line are the server's. Kill tests, the entry point and everything run by act use
real starts and real runs, and so does anything that a test starts `cold`.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SERVER = Path(__file__).with_name("warm_server.py")
SETTLED_AT_THE_START = ("PYTHON", "LANG", "LC_")
KEPT_RUNS: list[Path] = []  # the directory shared by all test processes, once known
OF_NO_ACCOUNT = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str
    in_time: bool = True


def can_serve(env: Mapping[str, str]) -> bool:
    return _settled(env) == _settled(os.environ)


def _settled(env: Mapping[str, str]) -> dict[str, str]:
    named = {name: value for name, value in env.items() if name.startswith(SETTLED_AT_THE_START)}
    return {
        name: value
        for name, value in named.items()
        if name not in OF_NO_ACCOUNT and not value.upper().endswith(("UTF-8", "UTF8"))
    }


def run(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float | None = None) -> Ended:
    """`prd2pr ARGUMENTS`. After the timeout its whole process group is killed."""
    request = json.dumps({"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}).encode()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _connected() as connection:
        socket.send_fds(connection, [struct.pack("!I", len(request))], [out.fileno(), err.fileno()])
        connection.sendall(request)
        with connection.makefile("r") as answers:
            process = int(answers.readline())
            connection.settimeout(timeout)
            in_time = True
            try:
                line = answers.readline()
            except TimeoutError:
                in_time = False
        if not in_time:
            os.killpg(process, signal.SIGKILL)
        status = int(line) if in_time else -signal.SIGKILL
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return Ended(status, texts[0], texts[1], in_time)


def _connected() -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(_address())
    return connection


@cache
def _address() -> str:
    """The address of this process's server, which ends with it because its standard input is closed."""
    place = tempfile.TemporaryDirectory(prefix="warm-")
    address = f"{place.name}/socket"
    env = {name: value for name, value in os.environ.items() if name not in OF_NO_ACCOUNT}
    command = [sys.executable, str(SERVER), address, *map(str, KEPT_RUNS)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True)
    assert server.stdin is not None and server.stdout is not None
    ready = server.stdout.readline()
    assert ready == b"ready\n", ready

    def end() -> None:
        server.stdin.close()
        server.wait()
        place.cleanup()

    atexit.register(end)
    return address
