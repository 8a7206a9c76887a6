"""How a cheat is judged: real git, real pytest, the gates as they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

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


def stage_at(place: Path) -> Stage:
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    return Stage(Git.open(place))


def judging(stage: Stage, kept_runs: Path) -> Judge:
    """Runs of equal trees are kept, as the product keeps them."""
    settings = TestRun(stall_seconds=6, timeout_seconds=30)
    inner = PytestRunner(stage.git.export, Path(sys.executable), settings)
    return partial(_judge, stage, Gathering(stage.git, CachedRunner(inner, kept_runs)))


def _judge(stage: Stage, gathering: Gathering, cheat: Cheat) -> tuple[Evidence, Verdict]:
    base, head = stage.play(cheat)
    return judge(gathering, GatePolicy(), cheat.phase, base, head)
