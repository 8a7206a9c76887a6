"""Eight stories that know nothing of each other, one after the other and by two workers: wall times of the same PRD.

The model's words are scripted and cost no time; git, pytest, sandbox and gates are real. Both runs must end with the
same code, living docs included, but for those that tell when something was decided and how long it took.

    python bench/parallel.py        prints one JSON object
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from side_by_side_world import beside  # noqa: E402 - the tests' own world
from world import World  # noqa: E402

STORIES, WORKERS = 8, 2
TIMED = ("docs/DECISIONS.md", "docs/ESTIMATES.md")  # dates and minutes of this very run


def timed(directory: Path, workers: int) -> tuple[World, float, float]:
    """The finished world, the seconds that the run took, and those of all processors."""
    world = beside(directory, STORIES, cold=True)
    used = cpu()
    started = time.perf_counter()
    done = world.run("--workers", str(workers))
    took = time.perf_counter() - started
    if done.status:
        raise SystemExit(f"{workers} workers: exit {done.status}\n{done.out}\n{done.err}")
    return world, took, cpu() - used


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def code_of(world: World) -> list[str]:
    """Every file of the branch with its blob, but for the state and for documents that tell how long work took."""
    listed = world.git("ls-tree", "-r", world.branch).splitlines()
    return [line for line in listed if not line.partition("\t")[2].startswith((".orch-state/", *TIMED))]


def parallel_vs_sequential(scratch: Path) -> dict[str, float]:
    """Seconds of both, by the clock and of all processors; it ends with an error where they end with other code."""
    alone, one_by_one, cpu_alone = timed(scratch / "sequential", 1)
    together, side_by_side, cpu_together = timed(scratch / "parallel", WORKERS)
    if code_of(alone) != code_of(together):
        raise SystemExit(f"the two end with different code:\n{difference(alone, together)}")
    return {
        "sequential": one_by_one,
        "parallel": side_by_side,
        "sequential_cpu": cpu_alone,
        "parallel_cpu": cpu_together,
    }


def difference(one: World, other: World) -> str:
    one.git("fetch", "-q", str(other.repo), f"{other.branch}:refs/heads/other")
    return one.git("diff", one.branch, "other", "--", ".", ":!.orch-state")


def main() -> None:
    os.environ["VIRTUAL_ENV"] = sys.prefix
    with tempfile.TemporaryDirectory() as scratch:
        took = parallel_vs_sequential(Path(scratch))
    ratio = round(took["parallel"] / took["sequential"], 3)
    told = {
        "parallel_vs_sequential": ratio,
        "same_code_but_for": TIMED,
        "seconds": {name: round(value, 2) for name, value in took.items()},
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
