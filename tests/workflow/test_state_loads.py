"""A step reads the branch's state once before and once after its commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from state_loads import LoadCounter
from world import World


@pytest.mark.slow
def test_a_step_loads_the_state_of_two_commits(tmp_path: Path) -> None:
    world, counter = World(tmp_path, cold=True).start(), LoadCounter(tmp_path / "loads")
    world.run("--max-steps", "2")
    before = world.git("rev-parse", world.branch)
    done = world.program("next", "prds/calc.md", "--model", f"replay:{world.transcript()}", env=counter.env)
    assert done.status == 0, done.err
    assert counter.take() == [before, world.git("rev-parse", world.branch)]
