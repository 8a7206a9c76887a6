from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cheats.battery import Cheat, Stage
from prd2pr.config import TestRun
from prd2pr.core.evidence import Evidence, Verdict
from prd2pr.core.gates import GatePolicy
from prd2pr.flows.gather import Gathering
from prd2pr.flows.judge import judge
from prd2pr.repo.git import Git
from prd2pr.runners.cache import CachedRunner
from prd2pr.runners.pytest_runner import PytestRunner

Judge = Callable[[Cheat], tuple[Evidence, Verdict]]


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    place = tmp_path_factory.mktemp("stage")
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    return Stage(Git.open(place))


@pytest.fixture(scope="session")
def judged(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """Judges a cheat with real git and real pytest. Runs of equal trees are kept, as the product keeps them."""
    settings = TestRun(stall_seconds=6, timeout_seconds=30)
    inner = PytestRunner(stage.git.export, Path(sys.executable), settings)
    gathering = Gathering(stage.git, CachedRunner(inner, tmp_path_factory.mktemp("runs")))
    return partial(_judge, stage, gathering)


def _judge(stage: Stage, gathering: Gathering, cheat: Cheat) -> tuple[Evidence, Verdict]:
    base, head = stage.play(cheat)
    return judge(gathering, GatePolicy(), cheat.phase, base, head)
