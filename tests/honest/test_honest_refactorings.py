"""A dozen refactorings that keep the behaviour, in one commit: the REFACTOR gate accepts all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from refactorings import REFACTORINGS

from prd2pr.domain.records import Phase
from prd2pr.proof.judge import judge_commits
from prd2pr.verification.verdict import GatePolicy
from repositories import Repository


@pytest.mark.slow
def test_no_honest_refactoring_is_refused(tmp_path: Path) -> None:
    with Repository(tmp_path / "project") as repository:
        tests = {f"tests/test_{each.name}.py": each.tests for each in REFACTORINGS}
        base = repository.commit({**{f"{each.name}.py": each.before for each in REFACTORINGS}, **tests})
        head = repository.commit({f"{each.name}.py": each.after for each in REFACTORINGS})
        evidence, verdict = judge_commits(repository.gathering, GatePolicy(), Phase.REFACTOR, base, head)
    assert [f"{each.code} {each.path}:{each.line} {each.message}" for each in verdict.errors] == []
    parity = evidence.parity
    assert parity is not None
    assert parity.problems == ()
    assert all(each.recorded for each in parity.functions)
    compared = {each.function for each in parity.functions if each.calls > each.unjudged}
    assert {"padding.bill", "averages.average", "baskets.Basket.count", "baskets.merged", "grades.passed"} <= compared
    assert {"shipping.Parcel.cost", "streams.doubled", "streams.countdown", "streams.told"} <= compared
    unjudged = {each.function for each in parity.functions if each.unjudged >= each.recorded + 8}
    assert {"chances.drawn", "chances.stamped", "chances.labelled", "files.saved"} <= unjudged
