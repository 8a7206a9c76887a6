"""Users disable a gate that refuses honest work: every gate must accept these cycles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from _pytest.mark import ParameterSet
from honest_cycle import Honest
from honest_judge import CASES, play

from prd2pr.domain.records import UNTESTED_KINDS, Phase

SAMPLED = 60  # `make test` runs one in this many cycles


@pytest.fixture(scope="session")
def kept_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def test_honest_corpus_is_large_enough() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 100


def sampled() -> Iterator[ParameterSet]:
    """All cycles in `make test-all` and `make gate-bench`; one in SAMPLED in `make test`."""
    for number, case in enumerate(CASES):
        yield pytest.param(case, id=case.name, marks=[pytest.mark.slow] if number % SAMPLED else [])


@pytest.mark.parametrize("case", list(sampled()))
def test_every_gate_accepts(case: Honest, tmp_path: Path, kept_runs: Path) -> None:
    for step in play(case, tmp_path / "project", kept_runs):
        errors = [f"{each.code} {each.path}:{each.line} {each.test} {each.message}" for each in step.verdict.errors]
        assert not errors, step.phase
        assert step.verdict.accepted
        assert step.evidence.head_run is not None
        assert step.evidence.head_run.honest
        assert step.evidence.story_tests or step.phase is Phase.REFACTOR or case.kind in UNTESTED_KINDS


def test_the_cases_are_python() -> None:
    for case in CASES:
        for files in (case.base, case.red, case.green, case.refactor or {}, case.moved or {}):
            for path, text in files.items():
                if path.endswith(".py") and text:
                    compile(dedent(text), path, "exec")
