"""A fast stub of the GitHub API that a dispatch needs: it records every workflow start and its time.

The stateful fake (`fakes.github`) is the one to test behaviour with; this one is fast enough for a flood. It runs in
its own process, since the servers beside it are killed.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RUNS_SHOWN = 100
REPOSITORY = r"/repos/([^/]+/[^/]+)"


class DispatchStub:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.strange: list[str] = []

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        for verb, pattern, handler in self.routes():
            found = re.fullmatch(pattern, path.partition("?")[0])
            if verb == method and found:
                with self.lock:
                    return handler(*found.groups(), body)
        self.strange.append(f"{method} {path}")
        return 404, {"message": "Not Found"}

    def routes(self) -> list[tuple[str, str, Any]]:
        return [
            ("GET", f"{REPOSITORY}/installation", lambda _repo, _: (200, {"id": 1})),
            ("POST", "/app/installations/1/access_tokens", lambda _: (201, {"token": "t", "expires_at": HOUR})),
            ("GET", REPOSITORY, lambda repo, _: (200, {"full_name": repo, "default_branch": "main"})),
            ("GET", f"{REPOSITORY}/actions/workflows/prd2pr.yml/runs", self.list_runs),
            ("POST", f"{REPOSITORY}/actions/workflows/prd2pr.yml/dispatches", self.dispatch),
            ("GET", f"{REPOSITORY}/actions/runs/([0-9]+)", self.get_run),
            ("GET", "/app/hook/deliveries", lambda _: (200, [])),
            ("GET", "/app/installations", lambda _: (200, [])),
            ("GET", "/desk", lambda _: (200, {"runs": self.runs, "strange": self.strange})),
        ]

    def list_runs(self, repo: str, _: bytes) -> tuple[int, Any]:
        return 200, {"workflow_runs": self.runs[repo][: -RUNS_SHOWN - 1 : -1]}

    def dispatch(self, repo: str, body: bytes) -> tuple[int, Any]:
        given = json.loads(body)["inputs"]
        number = sum(map(len, self.runs.values())) + 1
        self.runs[repo].append({"id": number, "display_title": given["delivery"], "at": time.time()})
        return 200, {"workflow_run_id": number}

    def get_run(self, repo: str, run: str, _: bytes) -> tuple[int, Any]:
        found = next((each for each in self.runs[repo] if each["id"] == int(run)), None)
        return (200, found) if found else (404, {"message": "Not Found"})


HOUR = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stub: DispatchStub

    def log_message(self, *_: object) -> None:
        pass

    def handle_request(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionResetError("killed before its request was whole")
        status, said = self.stub.answer(self.command, self.path, body)
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = handle_request  # noqa: N815


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client killed in the middle of a call is expected here."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def dispatch_stub() -> Iterator[str]:
    """Start the stub in its own process; yields its URL."""
    process = subprocess.Popen([sys.executable, str(Path(__file__))], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def recorded_calls(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/desk", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


if __name__ == "__main__":
    Handler.stub = DispatchStub()
    server = QuietServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
