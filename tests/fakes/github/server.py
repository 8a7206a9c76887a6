"""The fake over loopback: REST, GraphQL, and git's own smart HTTP by `git http-backend`."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fakes.github.fake import FakeGitHub
from fakes.github.git_http import GIT_PATH, serve_git
from fakes.github.handler import answer, with_faults
from fakes.github.wire import Answer, Dropped, Request


@contextlib.contextmanager
def serve(fake: FakeGitHub, port: int = 0) -> Iterator[str]:
    """The URL is for GITHUB_API_URL and GITHUB_SERVER_URL; GraphQL is under `/graphql`."""
    server = _Server(fake, port)
    url = f"http://127.0.0.1:{server.server_port}"
    before = fake.api_url, fake.server_url
    fake.api_url = fake.server_url = url
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        fake.api_url, fake.server_url = before


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, fake: FakeGitHub, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.fake = fake

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is expected; anything else is a bug in the fake, and must fail the test."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self.fake.violate(f"the fake itself failed: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait for the ACK of the first
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def handle_request(self) -> None:
        request = Request.of(self.command, self.path, dict(self.headers.items()), self._body())
        fake = self.server.fake
        try:
            if GIT_PATH.match(request.path):
                outcome = with_faults(fake, request, lambda _: serve_git(fake, request))
            else:
                outcome = answer(fake, request)
        except Dropped:
            self._hang_up()
        else:
            self._send(outcome)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = handle_request  # noqa: N815

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _send(self, outcome: Answer) -> None:
        body = outcome.body
        self.send_response(outcome.status)
        headers = {"content-type": "application/json; charset=utf-8", **outcome.headers}
        if outcome.status != 204:
            headers["content-length"] = str(len(body))
        for name, words in headers.items():
            self.send_header(name, words)
        self.end_headers()
        if outcome.status != 204:
            self.wfile.write(body)

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
