"""State in the demo's pull request ÷ code and tests in it, in lines and bytes: when it is finished, and at the worst
step once two stories are finished. Before that there is hardly any code to compare with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

STATE, NEITHER = ".orch-state/", ("docs/", "prds/", "README.md", "CHANGELOG.md")
BRANCH = "main...prd2pr/loyalty"


@dataclass(frozen=True)
class ChangeSize:
    state_lines: int
    state_bytes: int
    code_lines: int
    code_bytes: int


def git(repo: Path, *arguments: str, text: str = "") -> str:
    return subprocess.run(["git", *arguments], cwd=repo, input=text, capture_output=True, text=True, check=True).stdout


def measure_change(repo: Path, head: str) -> ChangeSize:
    """Measure `git diff main...head`: added and removed lines, and the size of the added and changed files."""
    totals = {"state": [0, 0], "code": [0, 0]}
    for row in git(repo, "diff", "--numstat", "--no-renames", f"main...{head}").splitlines():
        added, removed, path = row.split("\t")
        if added != "-" and (kind := classify_file(path)):
            totals[kind][0] += int(added) + int(removed)
    rows = [
        row.split() for row in git(repo, "diff", "--raw", "--abbrev=64", "--no-renames", f"main...{head}").splitlines()
    ]
    present = [(row[3], row[5]) for row in rows if row[4] != "D"]
    sizes = git(
        repo, "cat-file", "--batch-check=%(objectsize)", text="".join(f"{blob}\n" for blob, _ in present)
    ).split()
    for (_, path), size in zip(present, sizes, strict=True):
        if kind := classify_file(path):
            totals[kind][1] += int(size)
    return ChangeSize(*totals["state"], *totals["code"])


def classify_file(path: str) -> str:
    return "state" if path.startswith(STATE) else "" if path.startswith(NEITHER) else "code"


def state_vs_change(repo: Path) -> dict[str, float]:
    """Measure the finished branch of the demo in `repo`."""
    commits = [row.split(" ", 1) for row in git(repo, "log", "--reverse", "--format=%H %s", BRANCH).splitlines()]
    first = next(place for place, (_, subject) in enumerate(commits) if subject.startswith("integrated(loyalty-2)"))
    steps = [measure_change(repo, commit) for commit, _ in commits[first:]]
    return {
        "state_vs_change": round(steps[-1].state_lines / steps[-1].code_lines, 3),
        "state_vs_change_worst": round(max(each.state_lines / each.code_lines for each in steps), 3),
        "state_vs_change_bytes": round(steps[-1].state_bytes / steps[-1].code_bytes, 3),
        "state_vs_change_bytes_worst": round(max(each.state_bytes / each.code_bytes for each in steps), 3),
    }


def run_demo(directory: Path) -> Path:
    command = [sys.executable, "-m", "prd2pr", "demo", "--dir", str(directory)]
    subprocess.run(command, capture_output=True, check=True)
    return directory


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.stdout.write(json.dumps(state_vs_change(run_demo(Path(scratch) / "demo"))) + "\n")
