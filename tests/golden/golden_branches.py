"""Branches made by an earlier version, the program as a subprocess, and comparison with expected files.

This module does not import `prd2pr`, so it survives any move of modules.
`PRD2PR_UPDATE_GOLDEN=1 pytest tests/golden` rewrites the expected files; review the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

import warm_starts

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
EVENTS = HERE / "events"
STOPPED_CLOCK = {"PYTHONPATH": os.pathsep.join(filter(None, (str(HERE / "clock"), os.environ.get("PYTHONPATH"))))}
# Set by CI or by a user's shell, and read by the program.
NOT_INHERITED = ("GITHUB_", "ANTHROPIC_", "OPENAI_", "PRD2PR_", "GIT_", "FORCE_COLOR")
FIXED = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC"}


@dataclass(frozen=True)
class Branch:
    bundle: str
    prd: str

    @property
    def name(self) -> str:
        return f"prd2pr/{self.prd}"

    @property
    def path(self) -> str:
        return f"prds/{self.prd}.md"

    @property
    def model(self) -> str:
        return f"replay:{HERE / 'transcripts' / self.prd}.jsonl"

    def clone(self, directory: Path, *, checkout: str = "main") -> Path:
        """Restore all branches into `directory/shop`. The directory's name is fixed because some output shows it."""
        place = directory / "shop"
        place.mkdir(parents=True)
        git(place, "init", "--quiet", "--initial-branch=nothing")
        git(place, "fetch", "--quiet", str(HERE / "branches" / f"{self.bundle}.bundle"), "refs/heads/*:refs/heads/*")
        git(place, "switch", "--quiet", checkout)
        return place


FINISHED = Branch("finished", "loyalty")  # the whole Python demo: 6 stories, 26 steps
HALF_WAY = Branch("half_way", "loyalty")  # the same demo, stopped when the second story had its RED commit
JAVASCRIPT = Branch("javascript", "slugs")  # the whole JavaScript demo: 2 stories, 10 steps
PACKED = Branch("packed", "loyalty")  # the Python demo with its records packed, as its last step stored them once
BRANCHES = (FINISHED, HALF_WAY, JAVASCRIPT)


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def text(self) -> str:
        """Everything a caller can observe, in one text."""
        err = f"--- stderr\n{self.err}" if self.err else ""
        status = f"--- exit status {self.status}\n" if self.status else ""
        return f"{self.out}{err}{status}"


@dataclass(frozen=True)
class Continued:
    place: Path
    ended: Ended


def git(place: Path, *arguments: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *arguments], cwd=place, env=clean, capture_output=True, text=True, check=True)
    return done.stdout


def program(place: Path, *arguments: str, env: Mapping[str, str] | None = None, warm: bool = False) -> Ended:
    """`prd2pr ARGUMENTS` in `place`.

    With `warm`, a call that only reads is forked from the test suite's loaded program, which saves a second.
    `PRD2PR_GOLDEN_COLD=1` starts a new interpreter for these calls too.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    whole = {**inherited, **FIXED, **(env or {})}
    if warm and not os.environ.get("PRD2PR_GOLDEN_COLD") and warm_starts.can_serve(whole):
        ended = warm_starts.run(arguments, place, whole)
        return Ended(ended.status, ended.out, ended.err)
    command = [sys.executable, "-m", "prd2pr", *arguments]
    done = subprocess.run(command, cwd=place, env=whole, capture_output=True, text=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def without_place(text: str, place: Path) -> str:
    """Replace the temporary directory of the clone."""
    return text.replace(str(place), "<clone>")


def without_durations(text: str) -> str:
    """Replace times that were measured now, such as `0.7 s` and `2 min`. The columns beside them keep their text."""
    return re.sub(r"(?m)(^| +)(\d+(\.\d)? s\b|\d+ min(?= of runner time| \|))", " <time>", text)


def check(name: str, made: str) -> None:
    """Compare with the expected file, or rewrite it when asked to."""
    path = EXPECTED / name
    if os.environ.get("PRD2PR_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert path.is_file(), f"{path} is missing; PRD2PR_UPDATE_GOLDEN=1 writes it"
    expected = path.read_text(encoding="utf-8")
    differences = unified_diff(expected.splitlines(), made.splitlines(), name, "made", lineterm="")
    assert made == expected, "\n".join(differences)


def steps(place: Path, branch: Branch) -> dict[str, str]:
    """The commit of each step on the branch, oldest first."""
    form = "--format=%(trailers:key=Tdd-Step,valueonly,separator=%x2C) %H"
    lines = git(place, "log", "--reverse", form, f"main..{branch.name}").splitlines()
    return dict(line.split(" ") for line in lines)


def code_tree(place: Path, commit: str) -> str:
    """The files of a commit with their modes and blobs, without the state directory."""
    lines = git(place, "ls-tree", "-r", commit).splitlines(keepends=True)
    return "".join(line for line in lines if not line.partition("\t")[2].startswith(".orch-state/"))
