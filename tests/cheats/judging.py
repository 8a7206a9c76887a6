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
from prd2pr.core.gates import GATES, GatePolicy
from prd2pr.core.living.documents import living_paths
from prd2pr.core.records import HeldOut, HeldOutFile, Phase
from prd2pr.flows.gather import Gathering, gather
from prd2pr.flows.judge import judge
from prd2pr.flows.story_context import StoryContext
from prd2pr.repo.git import Git
from prd2pr.runners.cache import CachedRunner
from prd2pr.runners.pytest_runner import PytestRunner

CRITERIA = ("story.c1",)
Judge = Callable[[Cheat], tuple[Evidence, Verdict]]


def stage_at(place: Path) -> Stage:
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    return Stage(Git.open(place))


def judging(stage: Stage, kept_runs: Path) -> Judge:
    """Runs of equal trees are kept, as the product keeps them."""
    settings = TestRun(stall_seconds=6, timeout_seconds=30)
    inner = PytestRunner(stage.git.export, Path(sys.executable), settings)
    gathering = Gathering(stage.git, CachedRunner(inner, kept_runs), living_docs=living_paths("docs"))
    return partial(_judge, stage, gathering)


def _judge(stage: Stage, gathering: Gathering, cheat: Cheat) -> tuple[Evidence, Verdict]:
    base, head = stage.play(cheat)
    if cheat.held_out:
        story = _story(stage, gathering, cheat, base)
        evidence = gather(gathering, cheat.phase, base, head, story=story)
        return evidence, GATES[cheat.phase](evidence, GatePolicy())
    return judge(gathering, GatePolicy(), cheat.phase, base, head)


def _story(stage: Stage, gathering: Gathering, cheat: Cheat, base: str) -> StoryContext:
    """RED is judged first, with the examples: they must fail there like the other tests."""
    files = tuple(
        HeldOutFile(path=path, blob=stage.git.write_blob(text.encode())) for path, text in cheat.held_out.items()
    )
    begun = StoryContext("story", "prd", criteria=CRITERIA, held_out=HeldOut(files=files))
    red = gather(gathering, Phase.RED, stage.parents[cheat.project], base, story=begun)
    assert GATES[Phase.RED](red, GatePolicy()).errors == ()
    assert red.held_out is not None
    kept = HeldOut(files=files, tests=red.held_out.tests)
    shown = tuple(test for test in red.story_tests if test not in kept.tests)
    return StoryContext("story", "prd", criteria=CRITERIA, red_tests=shown, held_out=kept)
