"""A server that has an address before it starts and logs only warnings."""

from __future__ import annotations

import signal
import socket
import threading

import uvicorn
from fastapi import FastAPI

from prd2pr.errors import SetupProblem
from prd2pr.server.settings import ServerSettings
from prd2pr.server.shutdown import DrainingServer, register_readiness_check

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
GRACE_SECONDS = 5


def open_listener(settings: ServerSettings) -> socket.socket:
    """Bind the socket before anything else, so that a port in use is reported immediately."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen()  # connections made before the server is ready wait instead of failing
    except OSError as error:
        listener.close()
        raise SetupProblem(
            f"cannot listen on port {settings.port} of {settings.host}: {error.strerror}",
            where="--host, --port",
            remedy="choose another port; 0 picks a free one",
        ) from None
    return listener


def make_listener_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_quiet_server(app: FastAPI) -> uvicorn.Server:
    """Return a server that closes event streams when it stops instead of waiting for them."""
    stopping = threading.Event()
    register_readiness_check(app, stopping)
    config = uvicorn.Config(
        app, access_log=False, server_header=False, log_level="warning", timeout_graceful_shutdown=GRACE_SECONDS
    )
    return DrainingServer(config, stopping, drain_seconds=0)


def serve_until_stopped(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until Ctrl-C. uvicorn raises the signal again after its shutdown, which is not a failure."""
    handlers = {
        signal_number: signal.signal(signal_number, lambda *_: None)
        for signal_number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        server.run(sockets=[listener])
    finally:
        for signal_number, handler in handlers.items():
            signal.signal(signal_number, handler)
