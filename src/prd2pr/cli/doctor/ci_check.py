"""Check that the repository's CI runs the tests that finished stories add."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from prd2pr.cli.doctor.checkup import SetupCheck
from prd2pr.github.setup.workflow_file import SCHEDULE_PATH, VERIFY_PATH, WORKFLOW_PATH
from prd2pr.livingdocs.readers.pipelines import CiPipeline, detect_pipeline_kind, read_pipeline
from prd2pr.state.git import Git

RUNS_TESTS = re.compile(
    r"\b(?:pytest|py\.test|tox|nox|unittest|vitest|jest|go test|cargo (?:nex)?test|mvnw?|gradlew?"
    r"|(?:npm|pnpm|yarn|bun)(?: run)? test\S*|(?:make|just) \S*(?:test|check|ci)\S*)\b"
)
PROMOTED = ("tests/unit", "tests/integration")  # where the tests of finished stories are (`domain.paths.promote`)
EXAMPLE = (
    "add .github/workflows/tests.yml with `on: [push, pull_request]` and a job that checks out, installs the "
    "project and runs its test command"
)


def run_ci_check(git: Git) -> SetupCheck:
    """Report whether a CI job runs the tests, and whether it is limited to other directories."""
    pipelines = [each for each in read_pipelines(git) if each.path not in (WORKFLOW_PATH, SCHEDULE_PATH, VERIFY_PATH)]
    if not pipelines:
        return SetupCheck("ci", "warning", "no CI runs the tests that stories add to this repository", EXAMPLE)
    commands = [
        (each.path, command)
        for each in pipelines
        for job in each.jobs
        for command in job.commands
        if RUNS_TESTS.search(command)
    ]
    unread = [each.kind for each in pipelines if not each.jobs]
    if not commands and unread:
        return SetupCheck("ci", "unchecked", f"not checked: the jobs of {', '.join(unread)} cannot be read")
    if not commands:
        names = ", ".join(each.path for each in pipelines[:3])
        return SetupCheck("ci", "warning", f"no job of {names} runs tests, judging by its commands", EXAMPLE)
    complete = [(path, command) for path, command in commands if not find_narrow_paths(command)]
    if not complete:
        path, command = commands[0]
        only = " ".join(find_narrow_paths(command))
        promoted = " and ".join(PROMOTED)
        return SetupCheck(
            "ci",
            "warning",
            f"{path} runs only {only}; the tests of finished stories are in {promoted}",
            f"add {' '.join(PROMOTED)} to `{command}`, or leave out the paths",
        )
    path, command = complete[0]
    return SetupCheck("ci", "ok", f"{path} runs `{command}`")


def read_pipelines(git: Git) -> Iterator[CiPipeline]:
    for entry in git.entries("HEAD"):
        if entry.kind == "blob" and detect_pipeline_kind(entry.path):
            content = git.read("HEAD", entry.path) or b""
            yield read_pipeline(entry.path, content.decode("utf-8", "replace"))


def find_narrow_paths(command: str) -> tuple[str, ...]:
    """Return the paths that limit pytest to directories without the tests of finished stories, or nothing."""
    _, found, rest = command.partition("pytest")
    if not found:
        return ()
    try:
        words = shlex.split(rest)
    except ValueError:
        return ()
    paths = tuple(word.rstrip("/").removeprefix("./") for word in words if "/" in word and not word.startswith("-"))
    covered = any(path == each or each.startswith(f"{path}/") for path in paths for each in PROMOTED)
    return () if covered else paths
