"""`prd2pr serve --demo`: one command to a dashboard, on this machine only, that ends cleanly on Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from prd2pr.cli.verbs.serve_modes import demo
from prd2pr.cli.verbs.serve_modes.demo import serve_demo
from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.server.settings import ServerSettings
from world import World

# Everything but the demo run, which takes longer than a test may: a finished repository replaces it.
PLAYED = """
import contextlib, sys
from prd2pr.cli.verbs.serve_modes import demo
from prd2pr.cli.main import main
demo.demo.prepare_sample = lambda *_: None
demo.play_demo = lambda *_: contextlib.nullcontext()
sys.exit(main(sys.argv[1:]))
"""


class DemoServer:
    def __init__(self, log: Path, *command: str) -> None:
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen([sys.executable, *command], stdout=out, stderr=out, env=os.environ)

    def address(self, seconds: float) -> str:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self.process.poll() is None:
            found = re.search(r"Dashboard: +(http://[\d.]+:\d+/)", self.log.read_text())
            if found:
                return found[1]
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(120)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def look(address: str, story: str, seconds: float = 60) -> None:
    with httpx.Client(base_url=address, follow_redirects=True, timeout=120) as browser:
        assert browser.get("/").status_code == 200
        ends = time.monotonic() + seconds
        while story not in (board := browser.get(f"/dashboard/projects/{demo.REPOSITORY}")).text:
            assert time.monotonic() < ends, board.text
            time.sleep(0.2)
        assert board.status_code == 200 and demo.REPOSITORY in browser.get("/").text
        assert browser.get("/tasks").json()["items"], "the API answers whoever looks, too"
        assert browser.get("/health/ready").status_code == 200
        assert browser.post("/circuits/system/reset").status_code in (401, 403, 404, 405)
        assert browser.get("/", headers={"host": "evil.example"}).status_code == 400
        assert browser.post("/webhook", content=b"{}").status_code in (404, 405)


def order(address: str, said: str) -> None:
    """With the token shown in the terminal, by the form of the story's page, until the page shows the result."""
    token = re.search(r"prd2pr_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", said)
    story = f"/dashboard/projects/{demo.REPOSITORY}/stories/calc-1"
    with httpx.Client(base_url=address, follow_redirects=True, timeout=120) as browser:
        assert "Retry" not in browser.get(story).text and "Log in" in browser.get(story).text
        assert token and browser.get("/dashboard/log-in").status_code == 200
        assert browser.post("/dashboard/log-in", data={"token": token[0], "next": story}).url.path == story
        mark = re.search(r'name="csrf" value="([0-9a-f]+)"', browser.get(story).text)
        assert mark
        form = {"csrf": mark[1], "repo": demo.REPOSITORY, "story": "calc-1", "why": "to see it"}
        page = browser.post("/dashboard/stories/retry", data=form)
        assert page.url.path == story and "/tdd retry calc-1" in page.text
        ends = time.monotonic() + 60
        while "executed" not in browser.get(story).text:
            assert time.monotonic() < ends, browser.get(story).text
            time.sleep(0.2)


@pytest.mark.slow
def test_it_shows_the_board_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    for _ in range(2):
        played = world.next()
        assert played.status == 0, played.err
    shown = DemoServer(tmp_path / "log", "-c", PLAYED, "serve", "--demo", str(world.repo), "--port", "0")
    try:
        address = shown.address(250)
        look(address, "calc-1")
        order(address, shown.log.read_text())
        assert shown.interrupt() == 0
        assert "note(calc-1): /tdd retry calc-1 by the token demo" in world.subjects()[-1]
        assert "replayed transcript" in shown.log.read_text() and "error:" not in shown.log.read_text()
    finally:
        shown.end()


@pytest.mark.slow
def test_one_command_leads_from_nothing_to_the_dashboard(tmp_path: Path) -> None:
    shown = DemoServer(tmp_path / "log", "-m", "prd2pr", "serve", "--demo", str(tmp_path / "demo"), "--port", "0")
    try:
        look(shown.address(60), "loyalty-1", seconds=220)
        assert shown.interrupt() == 0
    finally:
        shown.end()


def test_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="only listen on this machine"):
        serve_demo(ServerSettings(host="0.0.0.0"), tmp_path / "demo")
    assert not (tmp_path / "demo").exists()


def test_a_port_in_use_is_reported_before_the_demo_runs(tmp_path: Path) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(SetupProblem, match="cannot listen on port"):
        serve_demo(ServerSettings(port=taken.getsockname()[1]), tmp_path / "demo")
    assert not (tmp_path / "demo").exists()
