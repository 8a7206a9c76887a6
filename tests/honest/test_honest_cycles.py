"""A gate that refuses honest work is switched off: every gate on the way of these cycles must let them pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import honest_edges
import honest_lookalikes
import honest_objects
import honest_steps
import honest_values
import pytest
from _pytest.mark import ParameterSet
from honest_cycle import STORY, Files, Honest

from prd2pr.core.evidence import Evidence, Verdict
from prd2pr.core.gates import GATES, GatePolicy
from prd2pr.core.paths import promote
from prd2pr.core.records import Phase, PlannedSymbol
from prd2pr.flows.gather import StoryContext, gather
from prd2pr.flows.judge import judge
from repositories import Repository

CASES = [
    *honest_values.CASES,
    *honest_objects.CASES,
    *honest_edges.CASES,
    *honest_steps.CASES,
    *honest_lookalikes.CASES,
]


@pytest.fixture(scope="session")
def kept_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def test_there_are_enough_of_them() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 35


def sampled() -> Iterator[ParameterSet]:
    """All of them in `make test-all`; in `make test` every third."""
    for number, case in enumerate(CASES):
        yield pytest.param(case, id=case.name, marks=[pytest.mark.slow] if number % 3 else [])


@pytest.mark.parametrize("case", list(sampled()))
def test_every_gate_accepts(case: Honest, tmp_path: Path, kept_runs: Path) -> None:
    with Repository(tmp_path / "project", kept_runs) as repository:
        repository.commit({"README.md": "An honest project.\n", **case.base})
        steps_judged = list(judged(case, repository))
    for phase, evidence, verdict in steps_judged:
        errors = [f"{each.code} {each.path}:{each.line} {each.test} {each.message}" for each in verdict.errors]
        assert not errors, phase
        assert verdict.accepted
        assert evidence.head_run is not None
        assert evidence.head_run.honest
        assert evidence.story_tests or phase is Phase.REFACTOR


@dataclass(frozen=True)
class Step:
    phase: Phase
    files: Files


def steps(case: Honest) -> Iterator[Step]:
    yield Step(Phase.RED, case.red)
    yield Step(Phase.GREEN, case.green)
    if case.refactor:
        yield Step(Phase.REFACTOR, case.refactor)
    if case.integrated:
        there = {promote(path, STORY): text for path, text in case.red.items()}
        yield Step(Phase.INTEGRATED, {**dict.fromkeys(case.red), **there})
    if case.moved:
        yield Step(Phase.INTEGRATED, case.moved)


def judged(case: Honest, repository: Repository) -> Iterator[tuple[Phase, Evidence, Verdict]]:
    policy = GatePolicy()
    proved: tuple[str, ...] = ()
    for step in steps(case):
        base, head = repository.head, repository.commit(step.files, f"{step.phase.value}: {case.name}")
        if case.planned is None:
            evidence, verdict = judge(repository.gathering, policy, step.phase, base, head)
        else:
            context = context_of(case, proved)
            evidence = gather(repository.gathering, step.phase, base, head, story=context)
            verdict = GATES[step.phase](evidence, policy)
        proved = evidence.story_tests if step.phase is Phase.RED else proved
        yield step.phase, evidence, verdict


def context_of(case: Honest, proved: tuple[str, ...]) -> StoryContext:
    symbols = tuple(PlannedSymbol(name=name) for name in case.planned or ())
    return StoryContext(STORY, "prd", criteria=case.criteria, planned=symbols, red_tests=proved)


def test_the_cases_are_python() -> None:
    for case in CASES:
        for files in (case.base, case.red, case.green, case.refactor or {}, case.moved or {}):
            for path, text in files.items():
                if path.endswith(".py") and text:
                    compile(dedent(text), path, "exec")
