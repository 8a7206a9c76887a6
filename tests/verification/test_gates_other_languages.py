"""Mutation rules of the gates for languages other than Python."""

from __future__ import annotations

from typing import Literal

import pytest

from prd2pr.domain.evidence import Evidence, PathKind, Signature, StackFacts
from prd2pr.domain.records import Phase
from prd2pr.domain.results.mutation import MutantResult, MutationResult, TestVariation
from prd2pr.languages.capabilities import list_unchecked_layers
from prd2pr.languages.runner_kinds import describe_wrong_call
from prd2pr.verification.gates import failure_reason
from prd2pr.verification.verdict import GATES, GatePolicy
from verification.test_gates import change, errors, green, refactor


def mutant(outcome: Literal["killed", "survived", "not_judged"], name: str = "Earn") -> MutantResult:
    return MutantResult(id=name, path="points/earn.go", line=3, function=name, change="`a` → `b`", outcome=outcome)


def in_go(evidence: Evidence) -> Evidence:
    stack = StackFacts(
        language="go", runner="go test", root=".", not_checked=list_unchecked_layers("go test", evidence.phase)
    )
    changes = (change("points/earn.go", PathKind.SOURCE),)
    return evidence.model_copy(update={"stack": stack, "changes": changes})


@pytest.mark.parametrize(
    ("bite", "left"),
    [
        (MutationResult(), ["knock-out", "mutants", "expected values replaced", "other answers"]),
        (MutationResult(knock_outs=(mutant("killed"),), mutants=(mutant("not_judged"),), answers=False),
         ["mutants", "expected values replaced", "other answers"]),
        (MutationResult(knock_outs=(mutant("killed"),), mutants=(mutant("killed"),), perturbations=(mutant("killed"),),
              answers=True), []),
    ],
)  # fmt: skip
def test_layer_without_mutants_is_reported(bite: MutationResult, left: list[str]) -> None:
    found = [
        each for each in GATES[Phase.GREEN](in_go(green(bite=bite)), GatePolicy()).findings if each.code == "GRN508"
    ]
    assert [each.message.partition(": ")[2] for each in found] == [", ".join(left) for _ in left[:1]]
    assert all(each.severity == "warning" for each in found)


def test_code_that_differs_in_production_is_refused() -> None:
    way = TestVariation(name="released", outcome="failed", tests=("a_test.go::TestA",))
    assert errors(in_go(green(bite=MutationResult(ways=(way,))))) == {"GRN708"}
    assert (
        errors(in_go(green(bite=MutationResult(ways=(way.model_copy(update={"outcome": "passed", "tests": ()}),)))))
        == set()
    )


def test_refactoring_adds_no_untested_public_function() -> None:
    old, new = (Signature(name=f"points.{name}", text="(int) int", path="points/earn.go") for name in ("Earn", "Spend"))
    known = {"signatures_before": (old,), "signatures_after": (old, new), "bite_before": MutationResult()}
    survived = MutationResult(knock_outs=(mutant("survived", "Spend"),))
    assert errors(in_go(refactor(bite=survived, **known))) == {"RFC402"}
    private = MutationResult(knock_outs=(mutant("survived", "spend"),))
    assert "RFC402" not in errors(in_go(refactor(bite=private, **known)))
    before = MutationResult(knock_outs=(mutant("survived", "Spend"),))
    moved = {**known, "bite_before": before}
    assert "RFC402" not in errors(in_go(refactor(bite=survived, **moved))), "it was there before"


def test_red_gate_reads_a_call_that_does_not_fit_the_subject() -> None:
    """Compilers of other languages report it in their own words; the message has the form of Python's TypeError."""
    found = failure_reason._CALL_FORM.search(describe_wrong_call("points.Rated", "too many arguments in call"))
    assert found is not None
    assert found[1] == "points.Rated"
