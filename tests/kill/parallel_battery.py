"""kill -9 of workers, of the process that forks them, of the run itself or of all, then the same command again.

    python tests/kill/parallel_battery.py --kills 40 [--stories 6] [--workers 2] [--per-directory 4] [--seed 7]

After each directory the branch must hold exactly the code, and exactly the steps, of a run that worked on one story
after the other and was never killed; no story branch may be left, and every step and merge must be verified.
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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from parallel_world import start_parallel_world
from world import World, show_runs

# Documents that contain dates and durations.
TIMED = (".orch-state/", "docs/DECISIONS.md", "docs/ESTIMATES.md")
KINDS = ("one worker", "all workers", "the nursery", "the run", "all")
CALLS_OF_A_STORY = 3  # design, tests, code: by its metrics nothing is worth a refactoring


@dataclass(frozen=True)
class EndState:
    code: str
    steps: tuple[str, ...]


def read_end_state(world: World) -> EndState:
    listing = world.git("ls-tree", "-r", world.branch).splitlines()
    code = "\n".join(line for line in listing if not line.split("\t")[1].startswith(TIMED))
    steps = world.git("log", "--format=%(trailers:key=Tdd-Step,valueonly,separator=%x2C)", f"main..{world.branch}")
    return EndState(code, tuple(sorted(steps.split())))


def children(pid: int) -> list[int]:
    with suppress(OSError):
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return [int(each) for each in found if is_ours(int(each))]
    return []


def is_ours(pid: int) -> bool:
    """A fork of the program, and not something that it started."""
    with suppress(OSError):
        return b"prd2pr\0run" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def victims(run: int, kind: str, chance: random.Random) -> Iterator[int]:
    nurseries = children(run)
    workers = [worker for nursery in nurseries for worker in children(nursery)]
    match kind:
        case "one worker":
            yield from chance.sample(workers, min(1, len(workers)))
        case "all workers":
            yield from workers
        case "the nursery":
            yield from nurseries
        case "the run":
            yield run
        case _:
            yield from (run, *nurseries, *workers)


def command(world: World, workers: int) -> list[str]:
    model = f"replay:{world.transcript()}"
    return [sys.executable, "-m", "prd2pr", "run", "prds/calc.md", "--model", model, "--workers", str(workers)]


@dataclass(frozen=True)
class Moment:
    """A moment in terms of the output of the run: seconds mean something else on every machine."""

    lines: int
    seconds: float  # after the last of them
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.seconds} s after line {self.lines}"


def kill_at(world: World, workers: int, moment: Moment, chance: random.Random) -> bool:
    """Whether anything was there to be killed."""
    process = subprocess.Popen(
        command(world, workers),
        cwd=world.repo,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    for _ in range(moment.lines):
        process.stdout.readline()
    time.sleep(moment.seconds)
    hit = [pid for pid in victims(process.pid, moment.kind, chance) if kill(pid)] if process.poll() is None else []
    process.stdout.read()  # it continues, or ends
    process.wait()
    wait_for_orphans(process.pid)
    return bool(hit)


def kill(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def wait_for_orphans(session: int) -> None:
    """Workers notice by their pipes that their parent is gone."""
    deadline = time.monotonic() + 20
    while subprocess.run(["pgrep", "-s", str(session), "-f", "prd2pr run"], capture_output=True, check=False).stdout:
        if time.monotonic() > deadline:
            raise SystemExit("workers go on although nobody is there any more")
        time.sleep(0.05)


def check(world: World, expected: EndState, kills: int, stories: int) -> None:
    found = read_end_state(world)
    if found != expected:
        raise SystemExit(f"{world.repo} differs:\n{expected.steps}\n{found.steps}\n{expected.code}\n{found.code}")
    left = world.git("branch", "--list", "prd2pr-stories/*")
    if left:
        raise SystemExit(f"left over in {world.repo}: {left}")
    calls = sum(each["spend"]["calls"] for each in show_runs(world.repo, world.branch))
    wanted = 1 + CALLS_OF_A_STORY * stories
    if not wanted <= calls <= wanted + 2 * kills:
        raise SystemExit(f"{calls} calls are on record, and {wanted} were needed; {kills} kills")
    proof = world.verify(world.branch)
    if proof.status or "all proved" not in proof.out:
        raise SystemExit(f"{world.repo}: {proof.out}\n{proof.err}")


def some_moment(chance: random.Random, stories: int) -> Moment:
    """Anywhere in the run; a continued run prints less before its end."""
    return Moment(chance.randrange(5 * stories), round(chance.uniform(0, 1.5), 2), chance.choice(KINDS))


def battery(options: argparse.Namespace) -> None:
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        reference = start_parallel_world(Path(scratch) / "never-killed", options.stories, cold=True)
        assert reference.run("--workers", "1").status == 0
        expected = read_end_state(reference)
        started = time.monotonic()
        never = start_parallel_world(Path(scratch) / "beside", options.stories, cold=True)
        assert never.run("--workers", str(options.workers)).status == 0
        whole = time.monotonic() - started
        check(never, expected, 0, options.stories)
        print(f"never killed: the same code and steps side by side as one after the other ({whole:.0f} s)", flush=True)
        hits = tried = 0
        while hits < options.kills:
            world = start_parallel_world(Path(scratch) / f"killed-{tried}", options.stories, cold=True)
            moments = [some_moment(chance, options.stories) for _ in range(options.per_directory)]
            here = sum(kill_at(world, options.workers, moment, chance) for moment in moments)
            last = world.run("--workers", str(options.workers))
            if last.status:
                raise SystemExit(f"killed at {moments}, {world.repo}: {last.out}\n{last.err}")
            check(world, expected, len(moments), options.stories)
            hits, tried = hits + here, tried + 1
            shown = ", ".join(map(str, moments))
            print(f"{hits} of {options.kills} kills survived ({shown}): same code, same steps, all proved", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kills", 40), ("stories", 6), ("workers", 2), ("per-directory", 4), ("seed", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    battery(parser.parse_args())
    return 0


if __name__ == "__main__":
    sys.exit(main())
