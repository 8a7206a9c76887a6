"""What Ctrl-C says about the next run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from prd2pr.cli.local_run import explain_interruption
from prd2pr.errors import Stopped
from prd2pr.state.git import Git
from world import World


@pytest.mark.parametrize(
    ("branch", "expected"), [("main", "after the last proved phase"), ("prd2pr/calc", "nothing is planned yet")]
)
@pytest.mark.parametrize("raised", [KeyboardInterrupt(), Stopped("stopped by SIGTERM")])
def test_the_remedy_depends_on_what_exists(world: World, branch: str, expected: str, raised: BaseException) -> None:
    with Git.open(world.repo) as git:
        session = SimpleNamespace(git=git, target=SimpleNamespace(branch=branch))
        with pytest.raises(Stopped) as stopped, explain_interruption(session):  # type: ignore[arg-type]
            raise raised
    assert expected in stopped.value.remedy
