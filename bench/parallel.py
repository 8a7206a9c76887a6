"""Eight stories that know nothing of each other, one after the other and by two workers: wall times of the same PRD.

The model's words are scripted and cost no time; git, pytest, sandbox and gates are real. Both runs must end with the
same code, living docs included.

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


def code_tree(world: World) -> str:
    """The branch's tree without the state."""
    lines = [line for line in world.git("ls-tree", world.branch).splitlines() if not line.endswith("\t.orch-state")]
    return world.git_input("mktree", "\n".join(lines) + "\n")


def parallel_vs_sequential(scratch: Path) -> dict[str, object]:
    alone, one_by_one, cpu_alone = timed(scratch / "sequential", 1)
    beside_each_other, side_by_side, cpu_beside = timed(scratch / "parallel", WORKERS)
    same = code_tree(alone) == code_tree(beside_each_other)
    if not same:
        took = f"{one_by_one:.1f} s and {side_by_side:.1f} s"
        raise SystemExit(f"{took}; the two end with different code:\n{difference(alone, beside_each_other)}")
    return {
        "parallel_vs_sequential": round(side_by_side / one_by_one, 3),
        "parallel_same_code_tree": same,
        "parallel_seconds": {"sequential": round(one_by_one, 2), f"{WORKERS} workers": round(side_by_side, 2)},
        "parallel_cpu_seconds": {"sequential": round(cpu_alone, 2), f"{WORKERS} workers": round(cpu_beside, 2)},
    }


def difference(one: World, other: World) -> str:
    one.git("fetch", "-q", str(other.repo), f"{other.branch}:refs/heads/other")
    return one.git("diff", one.branch, "other", "--", ".", ":!.orch-state")


def main() -> None:
    os.environ["VIRTUAL_ENV"] = sys.prefix
    with tempfile.TemporaryDirectory() as scratch:
        sys.stdout.write(json.dumps(parallel_vs_sequential(Path(scratch)), indent=2) + "\n")


if __name__ == "__main__":
    main()
