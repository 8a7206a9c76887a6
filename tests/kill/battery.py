"""kill -9 of the demo's whole process group at random moments, then the same command again.

    python tests/kill/battery.py --kills 50 [--per-directory 5] [--seed 7]

After each directory the branch must hold exactly the code tree, and exactly the steps, of a run that was never killed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# The state, and the documents that contain dates and durations.
TIMED = (".orch-state/", "docs/DECISIONS.md", "docs/ESTIMATES.md")


@dataclass(frozen=True)
class Subject:
    """What is killed: a command that continues where it was, in its own directory."""

    branch: str
    command: Callable[[Path], Sequence[str]]
    repository: Callable[[Path], Path]
    started_in: Callable[[Path], Path]
    ends_with: str  # what it prints when all is done
    prepare: Callable[[Path], None]


def nothing_to_prepare(_directory: Path) -> None:
    """The demo creates its directory itself."""


DEMO = Subject(
    branch="prd2pr/loyalty",
    command=lambda directory: [sys.executable, "-m", "prd2pr", "demo", "--dir", str(directory)],
    repository=lambda directory: directory,
    started_in=lambda directory: directory.parent,
    ends_with="all proved",
    prepare=nothing_to_prepare,
)


@dataclass(frozen=True)
class EndState:
    """What a finished demo leaves: the code, and the steps in their order."""

    code_tree: str
    steps: tuple[str, ...]


def git(directory: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True, text=True).stdout


def read_end_state(subject: Subject, directory: Path) -> EndState:
    repository = subject.repository(directory)
    listing = git(repository, "ls-tree", "-r", subject.branch).splitlines()
    code = "\n".join(line for line in listing if not line.split("\t")[1].startswith(TIMED))
    trailers = "--format=%(trailers:key=Tdd-Step,valueonly,separator=%x2C)"
    steps = git(repository, "log", "--reverse", trailers, f"main..{subject.branch}")
    return EndState(code, tuple(steps.split()))


def run_to_the_end(subject: Subject, directory: Path) -> float:
    started = time.monotonic()
    place = subject.started_in(directory)
    done = subprocess.run(subject.command(directory), cwd=place, capture_output=True, text=True, check=False)
    if done.returncode or subject.ends_with not in done.stdout:
        raise SystemExit(f"the run in {directory} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return time.monotonic() - started


def run_and_kill(subject: Subject, directory: Path, after: float) -> bool:
    """Whether it was still running when it was killed."""
    quiet, place = subprocess.DEVNULL, subject.started_in(directory)
    command = subject.command(directory)
    process = subprocess.Popen(command, cwd=place, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def battery(subject: Subject, kills: int, per_directory: int, seed: int) -> int:
    """How many kills really hit a running program."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        reference = Path(scratch) / "never-killed"
        subject.prepare(reference)
        whole = run_to_the_end(subject, reference)
        expected = read_end_state(subject, reference)
        hits = tried = 0
        while hits < kills:
            directory = Path(scratch) / f"killed-{tried}"
            longest = 1.3 * whole / per_directory
            moments = [chance.uniform(0.01, longest) for _ in range(min(per_directory, kills - hits))]
            subject.prepare(directory)
            here = sum(run_and_kill(subject, directory, after) for after in moments)
            run_to_the_end(subject, directory)
            found = read_end_state(subject, directory)
            shown = ", ".join(f"{moment:.2f}" for moment in moments)
            if found != expected:
                raise SystemExit(f"killed after {shown} s, {directory} differs:\n{expected.steps}\n{found.steps}")
            hits, tried = hits + here, tried + 1
            print(f"{hits} of {kills} kills survived (after {shown} s): same code tree, same {len(found.steps)} steps")
    return hits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--per-directory", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    battery(DEMO, options.kills, options.per_directory, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
