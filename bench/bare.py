"""The baseline of `cycle_vs_bare`: the same trees, the same pytest runs over the same paths, the same commits.

And nothing else: no gate, no evidence, no fresh checkout, no canary. GREEN runs the story's tests by themselves with
another hash seed, backwards, and with the clock moved, which are three runs here too. The calls that are made again
outside, and the deliberate faults, for which the same tests run some dozens of times, count for nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

BRANCH = "prd2pr/loyalty"
# The cycle loads no plugin that the project does not name; nor does the leaner baseline.
LEAN = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
GIT = ("git", "-c", "user.name=b", "-c", "user.email=b@b", "-c", "gc.auto=0")


@dataclass(frozen=True)
class BareStep:
    commit: str
    subject: str
    runs: tuple[tuple[str, ...], ...]  # paths of each pytest run


def git(repo: Path, *arguments: str) -> str:
    return subprocess.run([*GIT, *arguments], cwd=repo, check=True, capture_output=True, text=True).stdout.strip()


def count_runs(repo: Path) -> int:
    """Each test run that really happened left one file in the cache; what was run beside GREEN's is told in its own."""
    cache = repo / ".git/prd2pr/cache/runs"
    return len(list(cache.glob("*.json"))) + sum(ways_in(path) for path in cache.glob("*.bite"))


def ways_in(path: Path) -> int:
    """Runs of the story's tests in other circumstances, as the trial itself tells them."""
    ways = {way["name"] for way in json.loads(path.read_text())["ways"] if way["outcome"] == "passed"}
    backwards, later = ways & {"reversed", "twice"}, ways & {"clock", "zone"}
    return 1 + bool(backwards) + bool(later)  # one run is backwards and a second time, one is later and elsewhere


def plan(repo: Path, story: str, before: str, runs: int) -> list[BareStep]:
    """What the story's cycle did, read off its commits; `runs` is how many test runs it made."""
    lines = git(repo, "log", "--reverse", "--format=%H %s", f"{before}..{BRANCH}").splitlines()
    steps = []
    for line in lines:
        commit, _, subject = line.partition(" ")
        phase = subject.partition("(")[0]
        steps.append(BareStep(commit, subject, runs_of(phase, story)))
    counted = sum(len(step.runs) for step in steps)
    if counted != runs:
        raise SystemExit(f"the baseline would do {counted} test runs, the cycle did {runs}: mend bench/bare.py")
    return steps


def runs_of(phase: str, story: str) -> tuple[tuple[str, ...], ...]:
    """RED looks at the base once, then at the new tests, at these again in another order, and with stand-ins for what
    is missing; GREEN too."""
    whole: tuple[str, ...] = ()
    own = (f"tests/tdd/{story}",)
    return {
        "red": (whole, whole, own, own),
        "green": (whole, own, own, own),
        "refactor": (whole,),
        "integrated": (whole,),
    }.get(phase, ())


def without_aside(steps: list[BareStep]) -> list[BareStep]:
    """The same, without the runs of the story's tests by themselves that GREEN makes beside that of the suite."""
    return [replace(step, runs=step.runs[:1]) if step.subject.startswith("green(") else step for step in steps]


def perform(steps: list[BareStep], clone: Path, start: str, *, lean: bool = False) -> None:
    """`lean`: without the pytest plugins of this environment, which the cycle does not load either."""
    git(clone, "checkout", "-q", "--detach", start)
    for step in steps:
        git(clone, "read-tree", "-u", "--reset", step.commit)
        for paths in step.runs:
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths],
                cwd=clone,
                capture_output=True,
                check=False,
                env=LEAN if lean else None,
            )
        git(clone, "add", "-A")
        git(clone, "commit", "-q", "--allow-empty", "-m", step.subject)
