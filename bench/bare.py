"""The baseline of `cycle_vs_bare`: the same trees, the same pytest runs over the same paths, the same commits.

There is no gate, evidence, fresh checkout or canary. GREEN runs the story's tests separately with another hash seed,
in reverse order and with a shifted clock, so the baseline has these three runs too. It replays no calls and tests no
mutants, for which the cycle runs the same tests dozens of times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

BRANCH = "prd2pr/loyalty"
# The cycle loads only plugins that the project names; so does the lean baseline.
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
    """Count the test runs: one cache file each, and the variations of GREEN's tests in the mutation results."""
    cache = repo / ".git/prd2pr/cache"
    return len(list(cache.glob("*.json"))) + sum(count_variations(path) for path in cache.glob("*.mutation"))


def count_variations(path: Path) -> int:
    """Count the runs of the story's tests in other circumstances."""
    ways = {way["name"] for way in json.loads(path.read_text())["ways"] if way["outcome"] == "passed"}
    backwards, later = ways & {"reversed", "twice"}, ways & {"clock", "zone"}
    return 1 + bool(backwards) + bool(later)  # reversed and repeated are one run; so are clock and time zone


def plan(repo: Path, story: str, before: str, runs: int) -> list[BareStep]:
    """Return the steps of the story's cycle, from its commits. `runs`: how many test runs it made."""
    lines = git(repo, "log", "--reverse", "--format=%H %s", f"{before}..{BRANCH}").splitlines()
    steps = []
    for line in lines:
        commit, _, subject = line.partition(" ")
        phase = subject.partition("(")[0]
        steps.append(BareStep(commit, subject, runs_of(phase, story)))
    counted = sum(len(step.runs) for step in steps)
    if counted != runs:
        raise SystemExit(f"the baseline would do {counted} test runs, the cycle did {runs}: update bench/bare.py")
    return steps


def runs_of(phase: str, story: str) -> tuple[tuple[str, ...], ...]:
    """Return the paths of each test run of a phase.

    RED runs the base, the new tests, these again in another order, and with stubs for missing code.
    """
    whole: tuple[str, ...] = ()
    own = (f"tests/tdd/{story}",)
    return {
        "red": (whole, whole, own, own),
        "green": (whole, own, own, own),
        "refactor": (whole,),
        "integrated": (whole,),
    }.get(phase, ())


def without_variations(steps: list[BareStep]) -> list[BareStep]:
    """Return the steps with only the run of the whole suite in GREEN."""
    return [replace(step, runs=step.runs[:1]) if step.subject.startswith("green(") else step for step in steps]


def perform(steps: list[BareStep], clone: Path, start: str, *, lean: bool = False) -> None:
    """Do the same runs and commits. `lean`: without this environment's pytest plugins, as in the cycle."""
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
