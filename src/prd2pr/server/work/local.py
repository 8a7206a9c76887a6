"""Work on this machine: `prd2pr action` as a process of its own, in a fresh clone, a few at a time.

It is told of each delivery as a job of Actions is told of its event, and does what that job would do; doing it twice
changes nothing. It gets a token for its one repository, and neither the App's key nor any other secret of the server.
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

from prd2pr.core.hub import Actor
from prd2pr.errors import Prd2prError
from prd2pr.forges.github.tokens import TokenSource
from prd2pr.repo.git import Git
from prd2pr.server.database import Database
from prd2pr.server.settings import FROM_FILE, PREFIX, ServerSettings
from prd2pr.server.work import claims
from prd2pr.server.work.claims import Claim
from prd2pr.server.work.effects import Ask
from prd2pr.server.work.hubs import Hubs

log = logging.getLogger(__name__)

# The end of a run that a person has to look at is an end. These are not: it is tried again.
UNFINISHED = frozenset({"error"})
# Dies with the server: whoever goes on with the claim must be alone.
TIED = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit(9)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
MARGIN_MINUTES = 10
GRACE_SECONDS = 30


class LocalRunFailed(Prd2prError):
    """The process ended without having done its work."""


class Local:
    settles_in = 0.0

    def __init__(self, settings: ServerSettings, database: Database, hubs: Hubs) -> None:
        self.settings, self.database, self.hubs = settings, database, hubs
        self._places = threading.BoundedSemaphore(settings.local_workers)
        self._processes: set[subprocess.Popen[bytes]] = set()

    def stop(self) -> None:
        """What they have proved is pushed already; the rest is gone on with by whoever takes the claim up."""
        for each in tuple(self._processes):
            each.send_signal(signal.SIGTERM)

    def find(self, claim: Claim, turn: int) -> str | None:
        """A former holder's processes died with it, and pushed what they had proved."""
        del claim, turn
        return None

    def begin(self, claim: Claim, turn: int, ask: Ask) -> str:
        """The whole work: it has ended when this returns."""
        del turn
        with self._places, tempfile.TemporaryDirectory(dir=self._room(), prefix="run-") as scratch:
            place = Path(scratch)
            tokens, base = self.hubs.tokens_of(claim.lane), self.hubs.of(claim.lane).default_branch()
            clone(place / "work", f"{self.settings.github_url.rstrip('/')}/{claim.lane}.git", base, tokens)
            me = self.hubs.of(claim.lane).me()
            ended = []
            for event, body in claims.payloads(self.database, claim.id):
                ask()
                ended.append(self._run(place, claim.lane, tokens, event, signed(body, me)))
        return f"{len(ended)} run here: {', '.join(dict.fromkeys(ended))}"

    def has_begun(self, claim: Claim, mark: str) -> bool:
        del claim, mark
        return True

    def _tied(self, env: Mapping[str, str], place: Path, said: Path) -> int:
        """Exit status. The process gets SIGTERM when its time is up, and is killed where that does not help."""
        command = [sys.executable, "-c", TIED, str(os.getpid()), "-m", "prd2pr", "action"]
        with said.open("wb") as out:
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

    def _room(self) -> Path:
        room = Path(self.settings.local_directory).absolute()
        room.mkdir(parents=True, exist_ok=True)
        return room

    def _run(self, place: Path, repository: str, tokens: TokenSource, event: str, body: bytes) -> str:
        payload, report = place / "event.json", place / "prd2pr-report.json"
        payload.write_bytes(body)
        report.unlink(missing_ok=True)
        given = {
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
        said = place / "said.txt"
        status = self._tied(clean_environment(os.environ) | given, place, said)
        outcomes = ended_as(report)
        if status not in (0, 1) or not outcomes or UNFINISHED & set(outcomes):
            raise LocalRunFailed(
                f"`prd2pr action` ended with {status}: {', '.join(outcomes) or 'no report'}",
                where=f"{repository}, {event}",
                remedy=said.read_text(encoding="utf-8", errors="replace")[-1500:],
            )
        return "/".join(outcomes)


def signed(body: bytes, me: Actor) -> bytes:
    """What is not GitHub's own delivery is ours: whoever reads it is told so, as Actions would tell it."""
    payload = json.loads(body)
    payload.setdefault("sender", {"login": me.login, "id": me.id, "type": "Bot" if me.bot else "User"})
    return json.dumps(payload).encode()


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Ours, without the server's settings, secrets among them."""
    own = {PREFIX + name.upper() for name in ServerSettings.model_fields}
    return {name: words for name, words in environment.items() if name.removesuffix(FROM_FILE) not in own}


def clone(path: Path, url: str, base: str, tokens: TokenSource) -> None:
    """The default branch, in a repository of its own without any remote. A stale lock is left to nobody."""
    git = shutil.which("git") or "git"
    subprocess.run([git, "init", "-q", "-b", base, str(path)], check=True, capture_output=True)
    with Git.open(path) as repository:
        remote = repository.remote(url, tokens.token)
        head = remote.head(base)
        if head is None:
            raise LocalRunFailed(f"the default branch {base} is not there", where=url)
        remote.fetch(head, base)
        repository.set_branch(base, head)
    command = [git, "-c", "core.hooksPath=/dev/null", "-C", str(path), "reset", "-q", "--hard", head]
    subprocess.run(command, check=True, capture_output=True)


def ended_as(report: Path) -> list[str]:
    try:
        return [str(each["outcome"]) for each in json.loads(report.read_bytes())]
    except (OSError, ValueError, KeyError, TypeError):
        return []
