"""SIGTERM to a real server: not ready at once, requests in flight are finished, then no connection and status 0."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from prd2pr.cli.verbs.serve import GRACE_SECONDS
from prd2pr.server.api.tokens import create_token
from prd2pr.server.database import open_database
from prd2pr.server.token_scopes import Scope

SERVER = """
import signal, sys, threading, time
import uvicorn
from fastapi import FastAPI, Response
from prd2pr.cli.verbs.serve import run_server
from prd2pr.server.shutdown import DrainingServer, register_readiness_check

from contextlib import asynccontextmanager

@asynccontextmanager
async def lifespan(_):
    yield
    print("let go", flush=True)

app = FastAPI(lifespan=lifespan)
stopping = threading.Event()
register_readiness_check(app, stopping)

@app.get("/slow")
def slow():
    print("begun", flush=True)
    stopping.wait(120)
    time.sleep(0.5)
    return "finished"

@app.get("/health/ready")
def ready():
    well = all(check() for check in app.state.checks.values())
    return Response(status_code=200 if well else 503)

run_server(DrainingServer(uvicorn.Config(app, port=0, log_level="info"), stopping, float(sys.argv[1])))
print("ended", flush=True)
"""


class Served:
    def __init__(self, tmp_path: Path, *command: str) -> None:
        self.log = tmp_path / "log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen([sys.executable, *command], stdout=out, stderr=out, env=os.environ)
        try:
            self.url = self.said(r"running on (http://[\d.]+:\d+)")
        except AssertionError:
            self.end()
            raise

    def said(self, pattern: str) -> str:
        ends = time.monotonic() + 250
        while time.monotonic() < ends and self.process.poll() is None:
            found = re.search(pattern, self.log.read_text())
            if found:
                return found[found.lastindex or 0]
            time.sleep(0.02)
        raise AssertionError(self.log.read_text())

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def test_it_reports_not_ready_finishes_requests_in_flight_and_exits(tmp_path: Path) -> None:
    served = Served(tmp_path, "-c", SERVER, "5")
    try:
        got: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: got.append(httpx.get(f"{served.url}/slow", timeout=120)))
        assert httpx.get(f"{served.url}/health/ready").status_code == 200
        asking.start()
        served.said("begun")
        served.process.send_signal(signal.SIGTERM)
        assert httpx.get(f"{served.url}/health/ready").status_code == 503
        asking.join(60)
        assert [answer.json() for answer in got] == ["finished"]
        assert served.process.wait(120) == 0
        words = served.log.read_text()
        assert words.index("begun") < words.index("let go") < words.index("ended")
    finally:
        served.end()


@pytest.mark.slow
def test_the_server_disconnects_event_listeners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with closing(open_database(url)) as database:
        token = create_token(database, "a test", Scope.READ, ("*",), days=1, now=datetime.now(UTC)).token
    monkeypatch.setenv("PRD2PR_DRAIN_SECONDS", "1")
    monkeypatch.chdir(tmp_path)
    served = Served(tmp_path, "-m", "prd2pr", "serve", "--port", "0", "--database", url)
    try:
        assert httpx.get(f"{served.url}/health/ready", timeout=120).status_code == 200
        bearer = {"Authorization": f"Bearer {token}"}
        with httpx.stream("GET", f"{served.url}/events", headers=bearer, timeout=120) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("retry:")
            served.process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            assert httpx.get(f"{served.url}/health/ready", timeout=120).status_code == 503
            assert list(lines) is not None, "the stream is ended, and not cut off"
        assert served.process.wait(120) == 0
        assert time.monotonic() - began < GRACE_SECONDS, "nobody waited for a listener"
    finally:
        served.end()


@pytest.mark.slow
def test_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    served = Served(tmp_path, "-c", SERVER, "300")
    try:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(120) == 0
        assert "ended" in served.log.read_text()
    finally:
        served.end()
