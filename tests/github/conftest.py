"""Prepared worlds. Common starting points are made once, by the real program, and copied for each test."""

from __future__ import annotations

import contextlib
import pickle
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from github_world import GitHubWorld
from world import PRD, World

New = Callable[..., GitHubWorld]


@dataclass(frozen=True)
class Saved:
    root: Path
    state: bytes
    token: str


@pytest.fixture
def new(tmp_path: Path) -> Iterator[New]:
    """A fresh repository: `new(files={...})`. Afterwards no call may be one that GitHub does not know."""
    with contextlib.ExitStack() as stack:

        def make(**settings: Any) -> GitHubWorld:
            root = tmp_path / f"world-{len(worlds)}"
            root.mkdir()
            worlds.append(stack.enter_context(GitHubWorld(root, **settings)))
            return worlds[-1]

        worlds: list[GitHubWorld] = []
        yield make
        for world in worlds:
            assert world.fake.violations == []


def save(world: GitHubWorld) -> Saved:
    with world.fake.lock:
        return Saved(world.root, pickle.dumps(world.fake.state), world.token)


def restore(new: New, saved: Saved) -> GitHubWorld:
    world = new()
    world.fake.state = pickle.loads(saved.state)
    world.repo = world.runner.repository = world.fake.repo(world.name)
    world.token = saved.token
    for place in ("github", "desk"):
        shutil.rmtree(world.root / place)
        shutil.copytree(saved.root / place, world.root / place)
    return world


@pytest.fixture(scope="session")
def planned_once(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    with GitHubWorld(tmp_path_factory.mktemp("planned")) as world:
        world.push_prd("prds/calc.md", PRD)
        acted = world.act()
        assert acted.outputs["outcome"] == "waiting", acted.output
        return save(world)


@pytest.fixture(scope="session")
def started_once(tmp_path_factory: pytest.TempPathFactory, planned_once: Saved) -> Saved:
    root = tmp_path_factory.mktemp("started")

    def make() -> GitHubWorld:
        return stack.enter_context(GitHubWorld(root))

    with contextlib.ExitStack() as stack:
        world = restore(make, planned_once)
        world.comment(world.pull().number, "/sprint plan\n/sprint start")
        acted = world.act()
        assert acted.status == 0, acted.output
        return save(world)


@pytest.fixture
def planned(new: New, planned_once: Saved) -> GitHubWorld:
    """A PRD was pushed: there is a plan and a pull request, and nobody has approved it yet."""
    return restore(new, planned_once)


@pytest.fixture
def started(new: New, started_once: Saved) -> GitHubWorld:
    """The sprint is active, and nobody has ordered anything: `/tdd next` does one phase."""
    return restore(new, started_once)


def verified(world: GitHubWorld, branch: str = "") -> dict[str, Any]:
    """Verify every claim of the pushed branch in a clone."""
    proof = World(world.root / "proof")
    proof.root.mkdir()
    subprocess.run(["git", "clone", "-q", str(world.bare.path), str(proof.repo)], check=True)
    done = proof.verify(f"origin/main..origin/{branch or world.branch}", "--json")
    assert done.status == 0, done.out + done.err
    found: dict[str, Any] = done.json
    return found


@pytest.fixture
def verify() -> Callable[..., dict[str, Any]]:
    return verified
