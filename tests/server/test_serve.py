"""`prd2pr serve` as a process."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest


def test_it_serves_and_stops_cleanly_on_request(tmp_path):
    command = [sys.executable, "-m", "prd2pr", "serve", "--port", "0", "--database", f"sqlite:///{tmp_path}/s.db"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert server.stderr is not None
        address = next(found[0] for line in server.stderr if (found := re.search(r"http://[\d.:]+", line)))
        assert httpx.get(f"{address}/nothing-here").status_code == 404
    finally:
        server.send_signal(signal.SIGTERM)
    assert server.wait(120) == 0


@pytest.mark.slow
def test_missing_libraries_are_reported_with_the_install_command(tmp_path):
    code = "import sys; sys.modules['fastapi'] = None; from prd2pr.cli.main import main; sys.exit(main(['serve']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1 and "pip install 'prd2pr[server]'" in done.stderr


@pytest.mark.slow
def test_a_port_in_use_is_reported_and_is_no_crash(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "prd2pr", "serve", "--port", port, "--database", f"sqlite:///{tmp_path}/s.db"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "address already in use" in done.stderr and "could not start" in done.stderr


@pytest.mark.slow
def test_late_imports_of_the_worker_leave_nothing_half_loaded():
    """dbos imports SQLAlchemy's ORM in a thread: a request that read the database meanwhile failed with 500."""
    code = (
        "import prd2pr.server.work.service, sys; sys.exit('sqlalchemy.orm' not in sys.modules or 'dbos' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
