"""The run on the code host, killed before and after each of its calls, and what the next run makes of it.

    python -m kill.hub_battery [--flow 1] [--really 20] [--loops 5] [--seed 7]

Each flow runs once without a kill. From each moment that a kill could leave, the next scheduled run must lead to
exactly the code, steps and published objects of that first run. `--really`: so many runs of each flow are killed by
SIGKILL at a random call, to check that they leave what was recorded. `--loops`: so many turns are killed several times.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fakes.github.events import Event
from github_runner import Ending
from github_world import GitHubWorld
from kill.hub_flows import FLOWS, Flow
from kill.hub_moments import Moment, Point, Recorder, When, world_at
from kill.hub_program import copied_program
from kill.hub_published import Published, read_published

KILLS_IN_A_ROW = 6
Trial = tuple[str, Callable[[Path], list[str]]]  # what is tried, and what was different then


@dataclass(frozen=True)
class Turn:
    """One turn of the run that was never killed."""

    event: Event
    asked: Moment  # when people have done their part, and the workflow has not started
    moments: tuple[Moment, ...]
    ended: Published
    calls: int


@dataclass(frozen=True)
class Course:
    """A flow that was never killed, and its world."""

    world: GitHubWorld
    turns: tuple[Turn, ...]
    env: Mapping[str, str]

    @property
    def moments(self) -> list[Moment]:
        return [moment for turn in self.turns for moment in turn.moments]

    @property
    def points(self) -> list[Point]:
        return [point for moment in self.moments for point in moment.points]


@contextmanager
def record_course(flow: Flow, root: Path, env: Mapping[str, str]) -> Iterator[Course]:
    env = {**env, **flow.env}
    with flow.world(root / "never-killed") as world:
        yield Course(world, tuple(take_turn(flow, world, number, env) for number in range(len(flow.turns))), env)


def take_turn(flow: Flow, world: GitHubWorld, number: int, env: Mapping[str, str]) -> Turn:
    flow.turns[number](world)
    (event,) = world.pending
    recorder = Recorder(world, number)
    asked = recorder.now()
    with recorder.listening():
        wrong = settle_and_collect_errors(world, env)
    assert not wrong, wrong
    return Turn(event, asked, tuple(recorder.moments.values()), read_published(world), recorder.calls)


def settle_and_collect_errors(world: GitHubWorld, env: Mapping[str, str]) -> list[str]:
    acted = world.settle(env=env)
    return [*(f"status {each.status}: {each.output}" for each in acted if each.status), *world.fake.violations]


# --- a kill, and the next run -----------------------------------------------------------------------------------------


def after_kill(it: Course, moment: Moment, root: Path) -> list[str]:
    """What is different once the schedule has run; empty if nothing is."""
    with world_at(moment, it.world, root) as world:
        return differences_after_schedule(it, moment.points[0].turn, world)


def differences_after_schedule(it: Course, turn: int, world: GitHubWorld) -> list[str]:
    """The event died with the run that was killed; the schedule comes again."""
    world.tick()
    wrong = settle_and_collect_errors(world, it.env)
    return [*wrong, *it.turns[turn].ended.differences(read_published(world))]


def kill_for_real(it: Course, point: Point, root: Path) -> list[str]:
    """SIGKILL at that call: what is left is what was recorded; the same event, delivered again, completes it."""
    moment = next(each for each in it.moments if point in each.points)
    turn = it.turns[point.turn]
    with world_at(moment, it.world, root / "taken-down") as taken:
        expected = read_published(taken)
    with world_at(turn.asked, it.world, root / "killed") as world:
        acted = world.act(turn.event, env=it.env, ending=Ending(point.call, point.when, signal.SIGKILL))
        if acted.status != -signal.SIGKILL:
            return [f"the run was not killed: {acted.status}, {acted.output}"]
        left = [f"left behind, {each}" for each in expected.differences(read_published(world))]
        world.pending.append(turn.event)
        wrong = settle_and_collect_errors(world, it.env)
        return [*left, *wrong, *turn.ended.differences(read_published(world))]


def kill_repeatedly(it: Course, turn: int, seed: int, root: Path, kills: int = KILLS_IN_A_ROW) -> list[str]:
    """Several kills in a row, of runs that the schedule starts."""
    chance = random.Random(seed)
    whens: tuple[When, ...] = ("before", "after")
    with world_at(it.turns[turn].asked, it.world, root) as world:
        for _ in range(kills):
            ending = Ending(chance.randrange(8, 60), chance.choice(whens), signal.SIGKILL)
            if world.act(world.tick(), env=it.env, ending=ending).status != -signal.SIGKILL:
                break  # it was done before that call
            world.pending.clear()
        world.pending.clear()
        return differences_after_schedule(it, turn, world)


# --- all of it --------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    points: int = 0
    moments: int = 0
    kills: int = 0
    failed: list[str] = field(default_factory=list)

    def note(self, what: str, found: list[str]) -> None:
        if found:
            self.failed.append(what)
        print(f"{'DIFFERENT' if found else 'same'}: {what}", flush=True)
        for each in found:
            print("    " + each.replace("\n", "\n        "), flush=True)


def battery(flow: Flow, tally: Tally, options: argparse.Namespace, env: Mapping[str, str]) -> None:
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as scratch, record_course(flow, Path(scratch), env) as it:
        points = it.points
        print(f"{flow.name}: {len(points)} points to be killed at, {len(it.moments)} different moments", flush=True)
        sample = sorted(chance.sample(points, min(options.really, len(points))), key=points.index)
        loops = [(chance.randrange(len(it.turns)), chance.randrange(1000)) for _ in range(options.loops)]
        tally.points += len(points)
        tally.moments += len(it.moments)
        tally.kills += len(sample) + len(loops)
        trials = [*moments(it), *kills(it, sample), *crash_loops(it, loops)]
        places = [Path(scratch) / f"trial-{number}" for number in range(len(trials))]
        with ThreadPoolExecutor(options.workers) as pool:
            found = pool.map(lambda trial, place: trial[1](place), trials, places)
            for (what, _), differences in zip(trials, found, strict=True):
                tally.note(f"{flow.name}: {what}", differences)


def moments(it: Course) -> Iterator[Trial]:
    for moment in it.moments:
        more = f" and {len(moment.points) - 1} more points" if len(moment.points) > 1 else ""
        yield f"{moment.points[0]}{more}", lambda root, moment=moment: after_kill(it, moment, root)


def kills(it: Course, sample: list[Point]) -> Iterator[Trial]:
    for point in sample:
        yield f"SIGKILL {point}", lambda root, point=point: kill_for_real(it, point, root)


def crash_loops(it: Course, loops: list[tuple[int, int]]) -> Iterator[Trial]:
    for turn, seed in loops:
        what = f"turn {turn + 1}, killed up to {KILLS_IN_A_ROW} times in a row (seed {seed})"
        yield what, lambda root, turn=turn, seed=seed: kill_repeatedly(it, turn, seed, root)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flow", type=int, choices=range(1, len(FLOWS) + 1), help="only this one")
    parser.add_argument("--really", type=int, default=20)
    parser.add_argument("--loops", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        env = copied_program(Path(scratch))
        for flow in FLOWS if options.flow is None else (FLOWS[options.flow - 1],):
            battery(flow, tally, options, env)
    print(
        f"{tally.points} points before and after calls, {tally.moments} different moments, {tally.kills} real kills or "
        f"crash loops: {len(tally.failed) or 'none'} led to something else"
    )
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
