"""SIGTERM to a real server: not ready at once, what is in flight is finished, then no connection and status 0."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx

SERVER = """
import signal, sys, threading, time
import uvicorn
from fastapi import FastAPI, Response
from prd2pr.entry.verbs.serve import run
from prd2pr.server.stopping import Draining, tell_readiness

from contextlib import asynccontextmanager

@asynccontextmanager
async def lifespan(_):
    yield
    print("let go", flush=True)

app = FastAPI(lifespan=lifespan)
stopping = threading.Event()
tell_readiness(app, stopping)

@app.get("/slow")
def slow():
    print("begun", flush=True)
    stopping.wait(30)
    time.sleep(0.5)
    return "finished"

@app.get("/health/ready")
def ready():
    well = all(check() for check in app.state.checks.values())
    return Response(status_code=200 if well else 503)

run(Draining(uvicorn.Config(app, port=0, log_level="info"), stopping, float(sys.argv[1])))
print("ended", flush=True)
"""


class Served:
    def __init__(self, tmp_path: Path, drain: float) -> None:
        self.log = tmp_path / "log"
        with self.log.open("wb") as out:
            command = [sys.executable, "-c", SERVER, str(drain)]
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ)
        self.url = self.said(r"running on (http://[\d.]+:\d+)")

    def said(self, pattern: str) -> str:
        ends = time.monotonic() + 120
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


def test_it_says_not_ready_finishes_what_is_in_flight_and_lets_go(tmp_path: Path) -> None:
    served = Served(tmp_path, 2.0)
    try:
        got: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: got.append(httpx.get(f"{served.url}/slow", timeout=60)))
        assert httpx.get(f"{served.url}/health/ready").status_code == 200
        asking.start()
        served.said("begun")
        served.process.send_signal(signal.SIGTERM)
        assert httpx.get(f"{served.url}/health/ready").status_code == 503
        asking.join(60)
        assert [answer.json() for answer in got] == ["finished"]
        assert served.process.wait(60) == 0
        words = served.log.read_text()
        assert words.index("begun") < words.index("let go") < words.index("ended")
    finally:
        served.end()


def test_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    served = Served(tmp_path, 300.0)
    try:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(60) == 0
        assert "ended" in served.log.read_text()
    finally:
        served.end()
