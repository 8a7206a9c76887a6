"""Eight independent stories, sequentially and by two workers: wall times of the same PRD.

The model's answers are scripted; git, pytest, sandbox and gates are real. A real model takes seconds per answer, so
this one takes two (`paced/`). A second measurement with no delay shows the gain without any waiting, when a single
story already uses both cores most of the time. Both runs must end with the same code and living docs, except for
documents that contain dates and durations.

    python bench/parallel.py [SECONDS …]        prints one JSON object; SECONDS: delay of each answer
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACED = ROOT / "bench" / "paced"
sys.path.insert(0, str(ROOT / "tests"))

from parallel_world import start_parallel_world  # noqa: E402 - from the tests
from world import World  # noqa: E402

STORIES, WORKERS = 8, 2
ANSWER_SECONDS = 2.0
TIMED = ("docs/DECISIONS.md", "docs/ESTIMATES.md")  # contain dates and durations of this run


def timed(directory: Path, workers: int, pause: float) -> tuple[World, float]:
    """Run the PRD; return the finished world and the seconds."""
    world = start_parallel_world(directory, STORIES, cold=True)
    model = f"plugin:paced:{pause}:{world.transcript()}" if pause else f"replay:{world.transcript()}"
    started = time.perf_counter()
    done = world.program(
        "run", "prds/calc.md", "--model", model, "--workers", str(workers), env={"PYTHONPATH": str(PACED)}
    )
    took = time.perf_counter() - started
    if done.status:
        raise SystemExit(f"{workers} workers: exit {done.status}\n{done.out}\n{done.err}")
    return world, took


def code_of(world: World) -> list[str]:
    """List the branch's files with their blobs, except for the state and documents with dates or durations."""
    listed = world.git("ls-tree", "-r", world.branch).splitlines()
    return [line for line in listed if not line.partition("\t")[2].startswith((".orch-state/", *TIMED))]


def parallel_vs_sequential(scratch: Path, pause: float = ANSWER_SECONDS) -> dict[str, float]:
    """Return the seconds of both runs; exit with an error if their code differs."""
    alone, one_by_one = timed(scratch / f"sequential-{pause}", 1, pause)
    together, side_by_side = timed(scratch / f"parallel-{pause}", WORKERS, pause)
    if code_of(alone) != code_of(together):
        raise SystemExit(f"the two runs end with different code:\n{difference(alone, together)}")
    return {"sequential": one_by_one, "parallel": side_by_side}


def difference(one: World, other: World) -> str:
    one.git("fetch", "-q", str(other.repo), f"{other.branch}:refs/heads/other")
    return one.git("diff", one.branch, "other", "--", ".", ":!.orch-state")


def main() -> None:
    os.environ["VIRTUAL_ENV"] = sys.prefix
    pauses = [float(word) for word in sys.argv[1:]] or [ANSWER_SECONDS, 0.0]
    with tempfile.TemporaryDirectory() as scratch:
        took = {pause: parallel_vs_sequential(Path(scratch), pause) for pause in pauses}
    report = {
        "parallel_vs_sequential": {
            f"{pause:g} s": round(each["parallel"] / each["sequential"], 3) for pause, each in took.items()
        },
        "same_code_but_for": TIMED,
        "seconds": {
            f"{pause:g} s": {name: round(value, 2) for name, value in each.items()} for pause, each in took.items()
        },
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
