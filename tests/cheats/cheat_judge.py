"""Judges a cheat with real git, real pytest and the real gates."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cheats.battery import Cheat, Stage
from prd2pr.config import TestRun
from prd2pr.domain.documents import list_living_paths
from prd2pr.domain.evidence import Evidence, Verdict
from prd2pr.domain.records import HiddenExampleFile, HiddenExamples, Phase
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.proof.judge import judge_commits
from prd2pr.state.git import Git
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.gather.pipeline import gather
from prd2pr.verification.run_cache import CachedRunner
from prd2pr.verification.story_context import StoryContext
from prd2pr.verification.verdict import GATES, GatePolicy

CRITERIA = ("story.c1",)
Judge = Callable[[Cheat], tuple[Evidence, Verdict]]


def stage_at(place: Path) -> Stage:
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    return Stage(Git.open(place))


def judging(stage: Stage, kept_runs: Path) -> Judge:
    """Runs of equal trees are cached, as in the product."""
    settings = TestRun(stall_seconds=6, timeout_seconds=30)
    inner = PytestRunner(stage.git.export, Path(sys.executable), settings)
    gathering = GatherContext(stage.git, CachedRunner(inner, kept_runs), living_docs=list_living_paths("docs"))
    return partial(_judge, stage, gathering)


def _judge(stage: Stage, gathering: GatherContext, cheat: Cheat) -> tuple[Evidence, Verdict]:
    base, head = stage.play(cheat)
    if cheat.held_out:
        story = _story(stage, gathering, cheat, base)
        evidence = gather(gathering, cheat.phase, base, head, story=story)
        return evidence, GATES[cheat.phase](evidence, GatePolicy())
    return judge_commits(gathering, GatePolicy(), cheat.phase, base, head)


def _story(stage: Stage, gathering: GatherContext, cheat: Cheat, base: str) -> StoryContext:
    """RED is judged first, with the examples: they must fail there like the other tests."""
    files = tuple(
        HiddenExampleFile(path=path, blob=stage.git.write_blob(text.encode())) for path, text in cheat.held_out.items()
    )
    begun = StoryContext("story", "prd", criteria=CRITERIA, held_out=HiddenExamples(files=files))
    red = gather(gathering, Phase.RED, stage.parents[cheat.project], base, story=begun)
    assert GATES[Phase.RED](red, GatePolicy()).errors == ()
    assert red.held_out is not None
    kept = HiddenExamples(files=files, tests=red.held_out.tests)
    shown = tuple(test for test in red.story_tests if test not in kept.tests)
    return StoryContext("story", "prd", criteria=CRITERIA, red_tests=shown, held_out=kept)
