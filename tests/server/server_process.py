"""The server as a process, and GitHub's side of a webhook."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

SECRET = "a secret of the test"


@dataclass
class ServerProcess:
    process: subprocess.Popen[bytes]
    url: str
    log: Path

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


def start_server(database: str, *, port: int = 0, **settings: object) -> ServerProcess:
    """Start `prd2pr serve` on a free port, with the settings in its environment."""
    place = Path(tempfile.mkdtemp(prefix="prd2pr-serve-"))
    given = {"webhook_secret": SECRET, "database": database, "mirrors_directory": place / "mirrors", **settings}
    env = {name: words for name, words in os.environ.items() if not name.startswith("PRD2PR_")}
    env |= {f"PRD2PR_{name.upper()}": str(words) for name, words in given.items()}
    log = place / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "prd2pr", "serve", "--port", str(port)], stdout=out, stderr=out, env=env
        )
    return ServerProcess(process, wait_for_url(process, log), log)


def wait_for_url(process: subprocess.Popen[bytes], log: Path) -> str:
    import time

    while process.poll() is None:
        found = re.search(rb"running on (http://[\d.]+:\d+)", log.read_bytes())
        if found:
            return found[1].decode()
        time.sleep(0.02)
    raise RuntimeError(f"the server ended with {process.returncode}:\n{log.read_text()}")


@contextlib.contextmanager
def running_server(database: str, **settings: object) -> Iterator[ServerProcess]:
    served = start_server(database, **settings)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.kill()
        shutil.rmtree(served.log.parent)


def sign(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def headers_of(body: bytes, guid: str, event: str, secret: str = SECRET) -> dict[str, str]:
    return {
        "X-GitHub-Delivery": guid,
        "X-GitHub-Event": event,
        "X-Hub-Signature-256": sign(body, secret),
        "Content-Type": "application/json",
    }


def deliver(
    client: httpx.Client, url: str, guid: str, event: str, payload: Mapping[str, Any], secret: str = SECRET
) -> httpx.Response:
    body = json.dumps(payload).encode()
    return client.post(f"{url}/webhook", content=body, headers=headers_of(body, guid, event, secret))


def comment_payload(
    repository: str, number: int, text: str, *, title: str = "A title", body: str = "A body"
) -> dict[str, Any]:
    """A comment by a person, as GitHub delivers it, reduced to the fields that are read."""
    user = {"login": "ada", "id": 7, "type": "User"}
    return {
        "action": "created",
        "issue": {"number": number, "title": title, "body": body},
        "comment": {"id": 1000 + number, "user": user, "body": text, "created_at": "2026-01-01T00:00:00Z"},
        "repository": {"full_name": repository, "default_branch": "main"},
        "sender": user,
    }
