"""The job's side of GitHub Actions: what the runner tells us by environment, and what a step may tell the runner."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from prd2pr.core.outcome import Ending
from prd2pr.core.waves import StoryOrder, Wave, read_order, read_wave
from prd2pr.errors import SetupProblem, UsageProblem

Mode = Literal["work", "plan", "story", "integrate"]
SUMMARY_LIMIT = 1_000_000  # bytes; GitHub takes 1 MiB a step
# What must never leave: in no comment, no log and no prompt.
SECRET_NAMES = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL|NOTIFY_URLS|(?<![A-Z])PAT(?![A-Z])", re.IGNORECASE)

# `prds/a.md:3`, `.prd2pr.yml: models.roles`; neither an address nor a file outside of the repository
PLACE = re.compile(r"(?!\w+://)(?P<file>[^\s:,/][^\s:,]*\.\w+)(?::(?P<line>\d+))?(?::? |$)")


@dataclass(frozen=True)
class Job:
    """One run of `prd2pr action`."""

    env: Mapping[str, str]

    def _needs(self, name: str) -> str:
        value = self.env.get(name, "").strip()
        if not value:
            raise SetupProblem(
                "prd2pr action runs inside GitHub Actions",
                where=f"{name} is not set",
                remedy="on your own machine: prd2pr run PRD",
            )
        return value

    @property
    def event_name(self) -> str:
        return self._needs("GITHUB_EVENT_NAME")

    @property
    def repository(self) -> str:
        return self._needs("GITHUB_REPOSITORY")

    @property
    def api_url(self) -> str:
        return self.env.get("GITHUB_API_URL") or "https://api.github.com"

    @property
    def graphql_url(self) -> str:
        return self.env.get("GITHUB_GRAPHQL_URL", "")

    @property
    def server_url(self) -> str:
        return (self.env.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/")

    @property
    def workspace(self) -> str:
        return self.env.get("GITHUB_WORKSPACE") or "."

    @property
    def git_url(self) -> str:
        return f"{self.server_url}/{self.repository}.git"

    @property
    def run_url(self) -> str:
        run = self.env.get("GITHUB_RUN_ID", "")
        return f"{self.server_url}/{self.repository}/actions/runs/{run}" if run.isdigit() else ""

    @property
    def workflow(self) -> str:
        """The file's name, out of `owner/repo/.github/workflows/prd2pr.yml@refs/heads/main`."""
        return self.env.get("GITHUB_WORKFLOW_REF", "").partition("@")[0].rpartition("/")[2]

    @property
    def minutes(self) -> float | None:
        text = self.env.get("PRD2PR_MAX_MINUTES", "").strip()
        if not text:
            return None
        try:
            minutes = float(text)
        except ValueError:
            minutes = 0.0
        if not 0 < minutes < 10_000:
            raise UsageProblem(f"{text!r} is no number of minutes", where="max-minutes", remedy="write, say, 50")
        return minutes

    @property
    def mode(self) -> Mode:
        """What the workflow wants of this job, by the Action's input."""
        said = self.env.get("PRD2PR_MODE", "").strip() or "work"
        for mode in get_args(Mode):
            if said == mode:
                return cast("Mode", mode)
        raise UsageProblem(f"{said!r} is no mode", where="mode", remedy=f"one of {', '.join(get_args(Mode))}")

    @property
    def order(self) -> StoryOrder:
        """Mode story."""
        return read_order(*map(self._given, ("prd", "story", "share")))

    @property
    def wave(self) -> Wave:
        """Mode integrate."""
        return read_wave(*map(self._given, ("prd", "wave")))

    def _given(self, name: str) -> str:
        value = self.env.get(f"PRD2PR_{name.upper()}", "").strip()
        if not value:
            raise UsageProblem(
                f"the mode {self.mode} needs the input {name}",
                where=name,
                remedy="hand on what the job in mode plan says, as `prd2pr init` writes it",
            )
        return value

    def payload(self) -> object:
        path = Path(self._needs("GITHUB_EVENT_PATH"))
        try:
            return json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as problem:
            raise SetupProblem(
                "the event's payload cannot be read", where=str(path), remedy=f"the runner wrote it: {problem}"
            ) from None

    def secrets(self) -> list[str]:
        return [value for name, value in self.env.items() if value and SECRET_NAMES.search(name)]

    # --- to the runner ------------------------------------------------------------------------------------------------

    def put(self, values: Mapping[str, str]) -> None:
        """Outputs of the step, between delimiters that nobody can guess: a value cannot add another output."""
        self._append("GITHUB_OUTPUT", "".join(map(delimited, values, values.values())))

    def summarise(self, text: str) -> None:
        data = text.encode("utf-8", "replace")[:SUMMARY_LIMIT]
        self._append("GITHUB_STEP_SUMMARY", data.decode("utf-8", "ignore") + "\n")

    def _append(self, name: str, text: str) -> None:
        path = self.env.get(name, "")
        if path:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)

    def report(self, endings: tuple[Ending, ...]) -> str:
        """A JSON file for later steps; its path."""
        directory = Path(self.env.get("RUNNER_TEMP") or self.env.get("GITHUB_WORKSPACE") or ".")
        path = directory / "prd2pr-report.json"
        path.write_text(json.dumps([as_json(ending) for ending in endings], indent=2) + "\n", encoding="utf-8")
        return str(path)


def as_json(ending: Ending) -> dict[str, Any]:
    return {
        "outcome": ending.ended,
        "reason": ending.reason,
        "next": ending.next,
        "prd": ending.prd,
        "branch": ending.branch,
        "pr": ending.pull,
        "story": ending.story,
        "phase": ending.phase,
        "steps": ending.steps,
        "tokens": ending.tokens,
        "stories": list(ending.wave.stories) if ending.wave else [],
        "usd": ending.usd,
    }


def delimited(name: str, value: str) -> str:
    mark = f"prd2pr-{secrets.token_hex(16)}"
    return f"{name}<<{mark}\n{value}\n{mark}\n"


def command(kind: str, text: str, where: str = "") -> None:
    """A workflow command. What would end it or begin another one is escaped."""
    told = [f"{name}={in_property(value)}" for name, value in annotated(kind, where).items()]
    sys.stdout.write(f"::{kind}{' ' if told else ''}{','.join(told)}::{escaped(text)}\n")
    sys.stdout.flush()


def annotated(kind: str, where: str) -> dict[str, str]:
    """GitHub shows an annotation at the file and line that it names."""
    if kind not in ("error", "warning", "notice"):
        return {}
    found = PLACE.match(where)
    place = {"file": found["file"], "line": found["line"] or "1"} if found else {}
    return {**place, "title": "prd2pr"}


def escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def in_property(text: str) -> str:
    return escaped(text).replace(":", "%3A").replace(",", "%2C")


def mask(secret: str) -> None:
    for line in secret.splitlines():
        if line.strip():
            command("add-mask", line)


def job_of(env: Mapping[str, str] | None = None) -> Job:
    return Job(dict(os.environ if env is None else env))
