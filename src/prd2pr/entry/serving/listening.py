"""A server whose address is known before it serves, and the words that people get instead of its log."""

from __future__ import annotations

import signal
import socket
import threading

import uvicorn
from fastapi import FastAPI

from prd2pr.errors import SetupProblem
from prd2pr.server.settings import ServerSettings
from prd2pr.server.stopping import Draining, tell_readiness

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
GRACE_SECONDS = 5


def bound(settings: ServerSettings) -> socket.socket:
    """Before anything else is done: a port that is taken is said at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
        made.listen()  # whoever opens the address as soon as it is told waits a moment, and is not turned away
    except OSError as error:
        made.close()
        raise SetupProblem(
            f"port {settings.port} of {settings.host} cannot be listened on: {error.strerror}",
            where="--host, --port",
            remedy="name another port; 0 takes a free one",
        ) from None
    return made


def address_of(made: socket.socket) -> str:
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def quiet_server(app: FastAPI) -> uvicorn.Server:
    """Whoever listens to events is let go when it stops, and is not waited for."""
    stopping = threading.Event()
    tell_readiness(app, stopping)
    config = uvicorn.Config(
        app, access_log=False, server_header=False, log_level="warning", timeout_graceful_shutdown=GRACE_SECONDS
    )
    return Draining(config, stopping, drain_seconds=0)


def serve_until_stopped(server: uvicorn.Server, listening: socket.socket) -> None:
    """Ctrl-C is how it is meant to end: uvicorn hands the signal on after it has shut down, and that is no failure."""
    before = {sent: signal.signal(sent, lambda *_: None) for sent in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[listening])
    finally:
        for sent, handler in before.items():
            signal.signal(sent, handler)
