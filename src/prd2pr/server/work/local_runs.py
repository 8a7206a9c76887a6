"""An effect that runs `prd2pr action` in processes on this machine, each in a fresh clone, a few at a time.

The process receives each delivery as an Actions job receives its event and does what that job would do; repeating it is
safe. It gets a token for its repository, but not the App's key or any other secret of the server.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from prd2pr.domain.forge import Actor
from prd2pr.errors import Prd2prError
from prd2pr.github.client.tokens import TokenSource
from prd2pr.server.database import Database
from prd2pr.server.settings import ENV_PREFIX, FILE_SUFFIX, ServerSettings
from prd2pr.server.work.batches import Batch, read_payloads
from prd2pr.server.work.effects import RecordRequest
from prd2pr.server.work.hubs import HubPool
from prd2pr.state.git import Git

log = logging.getLogger(__name__)

# Runs with these outcomes are retried; a run that needs a person is finished.
RETRIED_OUTCOMES = frozenset({"error"})
# The child dies with the server, so that no two processes work on the same batch.
CHILD_LAUNCHER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit(9)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
MARGIN_MINUTES = 10
GRACE_SECONDS = 30


class LocalRunFailed(Prd2prError):
    """The process ended without doing its work."""


class LocalEffect:
    settles_in = 0.0

    def __init__(self, settings: ServerSettings, database: Database, hubs: HubPool) -> None:
        self.settings, self.database, self.hubs = settings, database, hubs
        self._slots = threading.BoundedSemaphore(settings.local_workers)
        self._processes: set[subprocess.Popen[bytes]] = set()

    def stop(self) -> None:
        """Terminate the processes. Proved work is already pushed, and the next attempt continues from there."""
        for each in tuple(self._processes):
            each.send_signal(signal.SIGTERM)

    def find(self, batch: Batch) -> str | None:
        """Return None, because the processes of a killed server died with it."""
        del batch
        return None

    def begin(self, batch: Batch, turn: int, ask: RecordRequest) -> str:
        """Do all the work; it is finished when this returns."""
        del turn
        with self._slots, tempfile.TemporaryDirectory(dir=self._make_clones_directory(), prefix="run-") as scratch:
            place = Path(scratch)
            tokens, base = self.hubs.get_tokens(batch.lane), self.hubs.get_hub(batch.lane).default_branch()
            clone_default_branch(
                place / "work", f"{self.settings.github_url.rstrip('/')}/{batch.lane}.git", base, tokens
            )
            me = self.hubs.get_hub(batch.lane).me()
            outcomes = []
            for event, body in read_payloads(self.database, batch.id):
                ask()
                outcomes.append(self._run_action(place, batch.lane, tokens, event, add_missing_sender(body, me)))
        return f"{len(outcomes)} run here: {', '.join(dict.fromkeys(outcomes))}"

    def has_started(self, batch: Batch, mark: str) -> bool:
        del batch, mark
        return True

    def _run_process(self, env: Mapping[str, str], place: Path, output: Path) -> int:
        """Run the process and return its exit status. After the time limit it receives SIGTERM, then SIGKILL."""
        command = [sys.executable, "-c", CHILD_LAUNCHER, str(os.getpid()), "-m", "prd2pr", "action"]
        with output.open("wb") as out:
            process = subprocess.Popen(
                command, env=env, cwd=place, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._processes.add(process)
        try:
            return process.wait(self.settings.local_minutes * 60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            return process.wait(GRACE_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            self._processes.discard(process)

    def _make_clones_directory(self) -> Path:
        directory = Path(self.settings.local_directory).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def _run_action(self, place: Path, repository: str, tokens: TokenSource, event: str, body: bytes) -> str:
        payload, report = place / "event.json", place / "prd2pr-report.json"
        payload.write_bytes(body)
        report.unlink(missing_ok=True)
        variables = {
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_REPOSITORY": repository,
            "GITHUB_API_URL": self.settings.github_api_url,
            "GITHUB_SERVER_URL": self.settings.github_url,
            "GITHUB_WORKSPACE": str(place / "work"),
            "RUNNER_TEMP": str(place),
            "GITHUB_TOKEN": tokens.token(),
            "PRD2PR_BOT_LOGIN": tokens.login(),
            "PRD2PR_MAX_MINUTES": str(max(1.0, self.settings.local_minutes - MARGIN_MINUTES)),
        }
        output = place / "output.txt"
        status = self._run_process(strip_server_settings(os.environ) | variables, place, output)
        outcomes = read_outcomes(report)
        if status not in (0, 1) or not outcomes or RETRIED_OUTCOMES & set(outcomes):
            raise LocalRunFailed(
                f"`prd2pr action` exited with {status}: {', '.join(outcomes) or 'no report'}",
                where=f"{repository}, {event}",
                remedy=output.read_text(encoding="utf-8", errors="replace")[-1500:],
            )
        return "/".join(outcomes)


def add_missing_sender(body: bytes, me: Actor) -> bytes:
    """Set the App as the sender of a delivery that GitHub did not send."""
    payload = json.loads(body)
    payload.setdefault("sender", {"login": me.login, "id": me.id, "type": "Bot" if me.bot else "User"})
    return json.dumps(payload).encode()


def strip_server_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the server's settings and secrets."""
    own = {ENV_PREFIX + name.upper() for name in ServerSettings.model_fields}
    return {name: value for name, value in environment.items() if name.removesuffix(FILE_SUFFIX) not in own}


def clone_default_branch(path: Path, url: str, base: str, tokens: TokenSource) -> None:
    """Fetch and check out the default branch in a new repository without a remote."""
    git = shutil.which("git") or "git"
    subprocess.run([git, "init", "-q", "-b", base, str(path)], check=True, capture_output=True)
    with Git.open(path) as repository:
        remote = repository.remote(url, tokens.token)
        head = remote.head(base)
        if head is None:
            raise LocalRunFailed(f"the default branch {base} does not exist", where=url)
        remote.fetch(head, base)
        repository.set_branch(base, head)
    command = [git, "-c", "core.hooksPath=/dev/null", "-C", str(path), "reset", "-q", "--hard", head]
    subprocess.run(command, check=True, capture_output=True)


def read_outcomes(report: Path) -> list[str]:
    try:
        return [str(each["outcome"]) for each in json.loads(report.read_bytes())]
    except (OSError, ValueError, KeyError, TypeError):
        return []
