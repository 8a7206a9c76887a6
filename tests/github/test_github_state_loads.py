"""A run on GitHub loads the state of each commit once."""

from __future__ import annotations

from pathlib import Path

import pytest

from github_world import GitHubWorld
from state_loads import LoadCounter

MAX_LOADS = 9


@pytest.mark.slow
def test_a_comment_loads_each_commit_once(started: GitHubWorld, tmp_path: Path) -> None:
    counter = LoadCounter(tmp_path / "loads")
    for phase in ("design(calc-1)", "red(calc-1)"):
        started.comment(started.pull().number, "/tdd next", by="wendy")
        acted = started.act(cold=True, env=counter.env)
        assert started.phases()[-1] == phase, acted.output
        loads = counter.take()
        assert len(loads) == len(set(loads)) <= MAX_LOADS
