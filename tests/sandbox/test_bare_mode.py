"""Runs without a sandbox: no process of a run outlives it, whatever it does to its environment and parents."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time

import pytest
from bait_world import alive, processes
from small_projects import run_files

from prd2pr.config import TestRun

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")

DAEMON = """
    import os, signal, sys, time

    def become_daemon(name):
        '''Leave session, group, environment and parent, as an attacker would.'''
        if os.fork():
            return
        os.setsid()
        if os.fork():
            os._exit(0)
        os.setsid() if os.getpid() == os.getsid(0) else None
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", name], {{}})

    def test_daemon():
        become_daemon({name!r})
        time.sleep(0.5)
        {then}
    """


@pytest.fixture
def name():
    name = f"prd2pr-daemon-{secrets.token_hex(6)}"
    yield name
    for process in processes(name):
        os.kill(process, signal.SIGKILL)


def is_gone(name: str) -> bool:
    deadline = time.monotonic() + 5
    while alive(name) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(name)


@pytest.mark.parametrize(
    "then",
    [
        pytest.param("pass", id="finishes"),
        pytest.param("os.abort()", id="crashes"),
        pytest.param("time.sleep(300)", id="stalls"),
        pytest.param("os.kill(os.getppid(), 9); time.sleep(300)", id="kills-its-supervisor"),
    ],
)
def test_no_daemon_outlives_a_run(name: str, then: str) -> None:
    """Without a supervisor that adopts orphans, every one of these daemons survives."""
    report = run_files(
        {"test_daemon.py": DAEMON.format(name=name, then=then)}, sandboxed=False, settings=TestRun(stall_seconds=3)
    )
    assert report.sandbox == "none"
    assert report.honest == (then == "pass")
    assert is_gone(name)


def test_no_process_outlives_a_killed_prd2pr(name: str) -> None:
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from small_projects import run_files
from textwrap import dedent
run_files({{"test_daemon.py": {DAEMON.format(name=name, then="time.sleep(300)")!r}}}, sandboxed=False)
"""
    running = subprocess.Popen([sys.executable, "-c", program])
    try:
        deadline = time.monotonic() + 20
        while not alive(name) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert alive(name)
    finally:
        running.kill()
        running.wait()
    assert is_gone(name)


def test_a_bare_run_reports_the_signal_that_ended_it() -> None:
    fatal = "import os, signal\n\ndef test_a():\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    report = run_files({"test_a.py": fatal}, sandboxed=False)
    assert report.exit_status == -11
