"""`emulate`, an independent GitHub emulator, installed by npm beside GitHub's description and run on loopback."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from contract.openapi import FETCHING, HOME, Unavailable

PACKAGE = "emulate@0.12.2"
PLACE = HOME / "emulate-0.12.2"
TOKEN = "second-opinion"
STARTING = 20.0  # seconds
PROGRAM = """
import { createEmulator } from 'emulate'
import { readFileSync } from 'node:fs'
const [seed, port] = [readFileSync(0, 'utf8'), process.argv[1]]
await createEmulator({ service: 'github', port: Number(port), seed: JSON.parse(seed) })
"""
SEED = {
    "tokens": {TOKEN: {"login": "ada", "scopes": ["repo"]}},
    "github": {"users": [{"login": "ada"}], "repos": [{"owner": "ada", "name": "calc", "auto_init": True}]},
}


def install() -> Path:
    if PLACE.exists():
        return PLACE
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise Unavailable("node and npm are not installed")
    HOME.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=HOME))
    (scratch / "package.json").write_text('{"private": true}', encoding="utf-8")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=FETCHING, check=False)
    if done.returncode:
        shutil.rmtree(scratch)
        raise Unavailable(f"npm install {PACKAGE} failed: {(done.stderr or done.stdout).strip()[-300:]}")
    try:
        scratch.rename(PLACE)
    except OSError:  # another test process came first
        shutil.rmtree(scratch)
    return PLACE


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Run it; yields its URL."""
    place, port = install(), _free_port()
    command = ["node", "--input-type=module", "--eval", PROGRAM, str(port)]
    with subprocess.Popen(
        command, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        process.stdin.write(json.dumps(SEED))
        process.stdin.close()
        process.stdin = None
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, process)
            yield url
        finally:
            process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + STARTING
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Unavailable(f"emulate does not start: {process.stderr.read()[-300:] if process.stderr else ''}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/repos/ada/calc", timeout=1):
            return
        time.sleep(0.05)
    raise Unavailable(f"emulate does not answer after {STARTING} seconds")
