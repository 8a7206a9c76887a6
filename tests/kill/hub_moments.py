"""What a killed run leaves behind, and worlds that start there.

A job runs on its own machine, which is gone with it: what outlives a SIGKILL at some call is what the code host holds
at that moment, and nothing else. So one run that is never killed shows what a kill before and after each of its calls
would leave, and calls that change nothing leave the same. `test_hub_killed.py` compares that with real kills.
"""

from __future__ import annotations

import pickle
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from fakes.github import serve
from fakes.github.faults import Calls
from github_world import GitHubWorld

When = Literal["before", "after"]
EVERY = 1_000_000  # calls


@dataclass(frozen=True)
class Point:
    """A call of the run on a turn, counted from 1 as `Ending` counts it."""

    turn: int
    call: int
    when: When
    route: str

    def __str__(self) -> str:
        return f"turn {self.turn + 1}, {self.when} call {self.call} ({self.route})"


@dataclass(frozen=True)
class Moment:
    """A state of the code host, and every point of the run at which it has that state."""

    state: bytes = field(repr=False)
    refs: tuple[tuple[str, str], ...]
    points: tuple[Point, ...] = ()


class Recorder:
    """Records the moments around each call of one run."""

    def __init__(self, world: GitHubWorld, turn: int) -> None:
        self.world, self.turn = world, turn
        self.moments: dict[str, Moment] = {}
        self.calls = 0
        self._first = len(world.fake.calls)
        self._under_way = threading.Lock()

    @contextmanager
    def listening(self) -> Iterator[None]:
        each = self.world.fake.faults.add(Calls(self._before, self._after), "*", times=EVERY)
        try:
            yield
        finally:
            self.world.fake.faults.scripted.remove(each)

    def now(self) -> Moment:
        with self.world.fake.lock:
            return Moment(pickle.dumps(self.world.fake.state), self._refs())

    def _refs(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self.world.bare.refs().items()))

    def _before(self) -> None:
        # Two concurrent calls would have moments that no single number names.
        assert self._under_way.acquire(blocking=False), "the program makes one call at a time"
        self.calls += 1
        self._take("before")

    def _after(self) -> None:
        self._take("after")
        self._under_way.release()

    def _take(self, when: When) -> None:
        fake = self.world.fake
        with fake.lock:
            call = fake.calls[self._first + self.calls - 1]
            known = f"{self._refs()}{fake.state.repositories}"
            moment = self.moments.get(known) or self.now()
        point = Point(self.turn, self.calls, when, call.route or f"{call.method} {call.path}")
        self.moments[known] = replace(moment, points=(*moment.points, point))


@contextmanager
def world_at(moment: Moment, like: GitHubWorld, root: Path) -> Iterator[GitHubWorld]:
    """The world at that moment. Git objects that came later exist, but nothing refers to them."""
    world = GitHubWorld(root, answers_of_model=like.answers_of_model, name=like.name, branch=like.branch)
    world.fake.state = pickle.loads(moment.state)
    world.repo = world.runner.repository = world.fake.repo(like.name)
    world.repo.at_work.clear()  # the killed run is not active any more, and GitHub knows that
    world.token = like.token
    shutil.rmtree(world.bare.path)
    shutil.copytree(like.bare.path, world.bare.path)
    for name in world.bare.refs():
        world.bare.delete(name)
    for name, sha in moment.refs:
        world.bare.git("update-ref", name, sha)
    with serve(world.fake) as world.url:
        yield world
