"""The GitHub Actions job: read its environment, and write outputs, summary, report and workflow commands."""

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

from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.github.outcome import PrdOutcome
from prd2pr.github.wave import StoryJobInput, Wave, parse_story_job, parse_wave

Mode = Literal["work", "plan", "story", "integrate"]
SUMMARY_LIMIT = 1_000_000  # bytes; GitHub accepts 1 MiB per step
# The values of these variables must not appear in any comment, log or prompt.
SECRET_NAMES = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL|NOTIFY_URLS|(?<![A-Z])PAT(?![A-Z])", re.IGNORECASE)

# `prds/a.md:3` or `.prd2pr.yml: models.roles`, but not a URL or a file outside the repository
LOCATION = re.compile(r"(?!\w+://)(?P<file>[^\s:,/][^\s:,]*\.\w+)(?::(?P<line>\d+))?(?::? |$)")


@dataclass(frozen=True)
class ActionsJob:
    """One run of `prd2pr action`."""

    env: Mapping[str, str]

    def _require(self, name: str) -> str:
        value = self.env.get(name, "").strip()
        if not value:
            raise SetupProblem(
                "prd2pr action runs only inside GitHub Actions",
                where=f"{name} is not set",
                remedy="on your own machine, use: prd2pr run PRD",
            )
        return value

    @property
    def event_name(self) -> str:
        return self._require("GITHUB_EVENT_NAME")

    @property
    def repository(self) -> str:
        return self._require("GITHUB_REPOSITORY")

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
        """Return the workflow's file name from `owner/repo/.github/workflows/prd2pr.yml@refs/heads/main`."""
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
            raise UsageProblem(
                f"{text!r} is not a valid number of minutes", where="max-minutes", remedy="for example: max-minutes: 50"
            )
        return minutes

    @property
    def mode(self) -> Mode:
        name = self.env.get("PRD2PR_MODE", "").strip() or "work"
        for mode in get_args(Mode):
            if name == mode:
                return cast("Mode", mode)
        raise UsageProblem(f"unknown mode {name!r}", where="mode", remedy=f"use one of: {', '.join(get_args(Mode))}")

    @property
    def story_input(self) -> StoryJobInput:
        """Return the story to work on in mode `story`."""
        return parse_story_job(*map(self._require_input, ("prd", "story", "share")))

    @property
    def wave(self) -> Wave:
        """Return the stories to integrate in mode `integrate`."""
        return parse_wave(*map(self._require_input, ("prd", "wave")))

    def _require_input(self, name: str) -> str:
        value = self.env.get(f"PRD2PR_{name.upper()}", "").strip()
        if not value:
            raise UsageProblem(
                f"mode {self.mode} requires the input {name}",
                where=name,
                remedy="pass on the output of the job in mode plan, as in the workflow that `prd2pr init` writes",
            )
        return value

    def read_payload(self) -> object:
        path = Path(self._require("GITHUB_EVENT_PATH"))
        try:
            return json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as problem:
            raise SetupProblem(
                "the event payload cannot be read", where=str(path), remedy=f"the runner wrote this file: {problem}"
            ) from None

    def secrets(self) -> list[str]:
        return [value for name, value in self.env.items() if value and SECRET_NAMES.search(name)]

    # --- written for the runner ---------------------------------------------------------------------------------------

    def write_outputs(self, values: Mapping[str, str]) -> None:
        """Write step outputs between random delimiters, so that a value cannot inject another output."""
        self._append("GITHUB_OUTPUT", "".join(map(format_output, values, values.values())))

    def write_summary(self, text: str) -> None:
        data = text.encode("utf-8", "replace")[:SUMMARY_LIMIT]
        self._append("GITHUB_STEP_SUMMARY", data.decode("utf-8", "ignore") + "\n")

    def _append(self, name: str, text: str) -> None:
        path = self.env.get(name, "")
        if path:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)

    def write_report(self, outcomes: tuple[PrdOutcome, ...]) -> str:
        """Write a JSON report for later steps and return its path."""
        directory = Path(self.env.get("RUNNER_TEMP") or self.env.get("GITHUB_WORKSPACE") or ".")
        path = directory / "prd2pr-report.json"
        path.write_text(
            json.dumps([build_report_entry(outcome) for outcome in outcomes], indent=2) + "\n", encoding="utf-8"
        )
        return str(path)


def build_report_entry(outcome: PrdOutcome) -> dict[str, Any]:
    return {
        "outcome": outcome.status,
        "reason": outcome.reason,
        "next": outcome.next,
        "prd": outcome.prd,
        "branch": outcome.branch,
        "pr": outcome.pull,
        "story": outcome.story,
        "phase": outcome.phase,
        "steps": outcome.steps,
        "tokens": outcome.tokens,
        "stories": list(outcome.wave.stories) if outcome.wave else [],
        "usd": outcome.usd,
    }


def format_output(name: str, value: str) -> str:
    delimiter = f"prd2pr-{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def write_workflow_command(kind: str, text: str, where: str = "") -> None:
    """Print a workflow command, escaping characters that would end it or start another one."""
    properties = [
        f"{name}={escape_property(value)}" for name, value in format_annotation_properties(kind, where).items()
    ]
    sys.stdout.write(f"::{kind}{' ' if properties else ''}{','.join(properties)}::{escape_data(text)}\n")
    sys.stdout.flush()


def format_annotation_properties(kind: str, where: str) -> dict[str, str]:
    """Return the file, line and title, so that GitHub shows the annotation at the location given by `where`."""
    if kind not in ("error", "warning", "notice"):
        return {}
    match = LOCATION.match(where)
    position = {"file": match["file"], "line": match["line"] or "1"} if match else {}
    return {**position, "title": "prd2pr"}


def escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def mask_secret(secret: str) -> None:
    for line in secret.splitlines():
        if line.strip():
            write_workflow_command("add-mask", line)


def read_job(env: Mapping[str, str] | None = None) -> ActionsJob:
    return ActionsJob(dict(os.environ if env is None else env))


def read_pull_sha(pull: Mapping[str, Any], side: str) -> str:
    """Return the commit of one side (`base` or `head`) of the payload's pull request."""
    found = pull.get(side)
    sha = found.get("sha") if isinstance(found, dict) else None
    if not isinstance(sha, str) or not sha.isalnum() or len(sha) not in (40, 64):
        raise SetupProblem("the event payload names no commit", where=f"pull_request.{side}.sha")
    return sha
