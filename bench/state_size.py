"""State in a pull request ÷ code and tests in it, in lines and bytes: finished, after the last story, and at the
 worst step once two stories are finished; before that there is hardly any code to compare with.

The pull requests are the demo's and, if this file is executed, that of a recorded PRD with twelve requirements.
`--steps` prints every step.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

STATE, NEITHER = ".orch-state/", ("docs/", "prds/", "README.md", "CHANGELOG.md")
SHOP = "loyalty"  # the demo's PRD
TESTS = Path(__file__).resolve().parents[1] / "tests"


@dataclass(frozen=True)
class ChangeSize:
    state_lines: int
    state_bytes: int
    code_lines: int
    code_bytes: int

    @property
    def ratio_lines(self) -> float:
        return self.state_lines / self.code_lines

    @property
    def ratio_bytes(self) -> float:
        return self.state_bytes / self.code_bytes


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


def measure_steps(repo: Path, prd: str) -> list[tuple[str, ChangeSize]]:
    """Measure the change at each step of a finished branch, with the subject of the step."""
    # As the branch's own .gitattributes say, which git reads only if the branch is checked out.
    (repo / ".git" / "info" / "attributes").write_text(".orch-state/prds/*/tdd/held_out/** -diff\n")
    log = git(repo, "log", "--reverse", "--format=%H %s", f"main..prd2pr/{prd}").splitlines()
    return [(subject, measure_change(repo, commit)) for commit, _, subject in (row.partition(" ") for row in log)]


def state_vs_change(repo: Path, prd: str = SHOP) -> dict[str, float]:
    steps = measure_steps(repo, prd)
    done = [place for place, (subject, _) in enumerate(steps) if subject.startswith("integrated(")]
    later = [size for _, size in steps[done[1] :]]
    return {
        "state_vs_change": round(later[-1].ratio_lines, 3),
        "state_vs_change_worst": round(max(each.ratio_lines for each in later), 3),
        "state_vs_change_bytes": round(later[-1].ratio_bytes, 3),
        "state_vs_change_bytes_last_story": round(later[done[-1] - done[1]].ratio_bytes, 3),
        "state_vs_change_bytes_worst": round(max(each.ratio_bytes for each in later), 3),
    }


def run_demo(directory: Path) -> Path:
    command = [sys.executable, "-m", "prd2pr", "demo", "--dir", str(directory)]
    subprocess.run(command, capture_output=True, check=True)
    return directory


def run_recording(directory: Path) -> Path:
    sys.path.insert(0, str(TESTS))
    from recorded_runs import STOCK, replayed

    world, _ = replayed(STOCK, directory, "full")
    return world.repo


def main(*, steps: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        repositories = {SHOP: run_demo(Path(scratch) / "demo"), "stock": run_recording(Path(scratch))}
        for prd, repo in repositories.items():
            sys.stdout.write(json.dumps({"prd": prd, **state_vs_change(repo, prd)}) + "\n")
            for subject, size in measure_steps(repo, prd) if steps else ():
                numbers = (size.state_lines, size.state_bytes, size.code_lines, size.code_bytes)
                sys.stdout.write(" ".join(f"{number:>7}" for number in numbers) + f"  {subject[:60]}\n")


if __name__ == "__main__":
    main(steps="--steps" in sys.argv[1:])
