"""Loads the program and forks for each request; see `warm_starts`. Ends when its standard input is closed."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel

from certificates import read_certificates_once
from prd2pr.cli.main import main, tune_runtime

RUN_ELSEWHERE = (
    "prd2pr.languages.python.probes.launcher",
    "prd2pr.languages.python.probes.guard",
    "prd2pr.__main__",
    "prd2pr.cli.gate_job",
)
LOADED_WHEN_NEEDED = ("certifi", "encodings.idna", "h11", "httpcore")


def load_everything() -> None:
    tune_runtime()
    import prd2pr

    for module in pkgutil.walk_packages(prd2pr.__path__, "prd2pr."):
        if module.name not in RUN_ELSEWHERE:
            importlib.import_module(module.name)
    for name in LOADED_WHEN_NEEDED:
        importlib.import_module(name)
    importlib.import_module("prd2pr.cli.compile_templates").compile_all_templates()
    build_models(BaseModel)
    share_certificates()
    find_out_about_tests()
    gc.freeze()


def build_models(base: type[BaseModel]) -> None:
    """Build the schemas that are built at their first use otherwise."""
    for model in base.__subclasses__():
        if model.__module__.startswith("prd2pr."):
            model.model_rebuild()
        build_models(model)


def share_certificates() -> None:
    """Read them before the fork, for the clients of GitHub and of models."""
    read_certificates_once()
    importlib.import_module("prd2pr.github.client.transport").get_tls_context()
    importlib.import_module("httpx._transports.default").create_ssl_context(verify=True, cert=None, trust_env=True)


def find_out_about_tests() -> None:
    """Find the interpreter of the sample projects and the sandbox for it before the fork."""
    client, detection = (importlib.import_module(f"prd2pr.sandbox.{name}") for name in ("client", "detection"))
    detection.find_sandbox(importlib.import_module("prd2pr.sandbox.interpreter").find_python(None))
    detection._list_visible_paths.cache_clear()  # it depends on HOME
    client._close_all()


def keep_runs_in(directory: Path) -> None:
    from kept_runs import make_kept_runner
    from prd2pr.cli import context

    context.PytestRunner = make_kept_runner(directory)


def serve(listener: socket.socket) -> bool:
    """False in the server when it ends; True in each child, which then runs the request."""
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    while True:
        readable, _, _ = select.select([listener, awake, sys.stdin], [], [])
        if sys.stdin in readable:
            return False
        if awake in readable:
            os.read(awake, 1000)
            answer_ended(running)
        if listener in readable:
            connection, _ = listener.accept()
            request, streams = receive(connection)
            process = os.fork()
            if process == 0:
                for each in (listener, connection, *running.values()):
                    each.detach()  # the descriptor number may soon be reused
                become(request, streams)
                return True
            for stream in streams:
                os.close(stream)
            connection.sendall(f"{process}\n".encode())
            running[process] = connection


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    head, streams, _, _ = socket.recv_fds(connection, 4, 2)
    with connection.makefile("rb") as stream:
        return json.loads(stream.read(struct.unpack("!I", head)[0])), streams


def answer_ended(running: dict[int, socket.socket]) -> None:
    for process in list(running):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            with running.pop(process) as connection:
                try:
                    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                except OSError:
                    continue  # the client has gone


def become(request: dict[str, Any], streams: list[int]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    for target, stream in enumerate([os.open(os.devnull, os.O_RDONLY), *streams]):
        os.dup2(stream, target)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[0] = request["cwd"]
    sys.argv = ["prd2pr", *request["arguments"]]


def run_to_the_end() -> NoReturn:
    """End without freeing the modules, which would copy all memory that is shared with the server."""
    try:
        status = main()
    except SystemExit as exited:
        if not isinstance(exited.code, int):
            raise
        status = exited.code
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    address, *kept = sys.argv[1:]
    load_everything()
    for place in kept:
        keep_runs_in(Path(place))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        forked = serve(listener)
    if forked:
        run_to_the_end()
