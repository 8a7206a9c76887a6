"""Honest changesets are accepted; those that prove nothing or weaken tests are refused for the right reason."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from changesets.changeset_corpus import ChangesetCase, judge_case, read_cases
from prd2pr.state.git import Git

HONEST, CHEATS = read_cases("honest"), read_cases("cheats")
# Judged in `make test`; the others are slow.
SHORT = {
    "one of two new tests passes already",
    "dead code removed with its test",
    "only docstrings, comments and annotations",
    "assertion weakened",
    "test adapted to a fault",
    "settings deselect a test",
}


def choose(cases: list[ChangesetCase]) -> Iterator[ParameterSet]:
    for case in cases:
        marks = [] if case.name in SHORT else [pytest.mark.slow]
        if case.project in {"node", "two"}:
            marks.append(pytest.mark.skipif(shutil.which("node") is None, reason="needs Node"))
        yield pytest.param(case, id=case.name.replace(" ", "-"), marks=marks)


@pytest.fixture
def git(tmp_path: Path) -> Iterator[Git]:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    with Git.open(tmp_path) as git:
        yield git


@pytest.mark.parametrize("case", list(choose(HONEST)))
def test_accepted(case: ChangesetCase, git: Git) -> None:
    _, verdict = judge_case(case, git)
    shown = "\n".join(f"{each.severity} {each.code} {each.path} {each.message}" for each in verdict.findings)
    assert verdict.errors == (), shown
    assert verdict.kind == case.kind
    assert case.codes <= {each.code for each in verdict.findings}, shown


@pytest.mark.parametrize("case", list(choose(CHEATS)))
def test_refused(case: ChangesetCase, git: Git) -> None:
    _, verdict = judge_case(case, git)
    shown = "\n".join(f"{each.severity} {each.code} {each.path} {each.message}" for each in verdict.findings)
    assert case.codes <= {each.code for each in verdict.errors}, shown
    assert verdict.kind == case.kind
    assert not verdict.accepted


def test_the_corpus_is_large_enough() -> None:
    assert len(HONEST) >= 30
    assert len(CHEATS) >= 30
    assert {case.name for case in [*HONEST, *CHEATS]} >= SHORT
