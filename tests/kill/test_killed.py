"""The short form of the kill battery, on two small stories; `make kill-battery` kills the demo at 50 moments."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kill.battery import Subject, battery
from world import World


def prepare(directory: Path) -> None:
    directory.mkdir()
    World(directory).start().transcript()


def command(directory: Path) -> list[str]:
    """The program itself, in its own process."""
    order = ["run", "prds/calc.md", "--model", f"replay:{directory / 'transcript.jsonl'}"]
    return [sys.executable, "-m", "prd2pr", *order]


STORIES = Subject(
    branch="prd2pr/calc",
    command=command,
    repository=lambda directory: directory / "repo",
    started_in=lambda directory: directory / "repo",
    ends_with="10 of 10 steps proved",
    prepare=prepare,
)


@pytest.mark.timeout(600)
def test_a_killed_run_continues_where_it_was():
    assert battery(STORIES, kills=1, per_directory=1, seed=11) >= 1
