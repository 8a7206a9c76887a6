"""Findings about tests run under other conditions, and about calls replayed outside the test run."""

from __future__ import annotations

import re
from typing import Any

import pytest

from prd2pr.domain.evidence import Evidence
from prd2pr.domain.records import Phase
from prd2pr.domain.results.mutation import CallReplay, MutationResult, ReplayDifference, TestVariation
from prd2pr.proof.compare import list_differences
from prd2pr.verification.findings import FINDINGS
from prd2pr.verification.gates.stability import CIRCUMSTANCE_FINDINGS, check_stability
from prd2pr.verification.verdict import GatePolicy, build_verdict
from prd2pr.views.mutation_text import format_flakiness_summary, format_replay_summary

TEST = "tests/test_a.py::test_a"
SLY = ReplayDifference(path="app.py", line=3, function="f", test=TEST, shown="f(1)", inside="2", outside="0")


def evidence_with(**bite: Any) -> Evidence:
    return Evidence(phase=Phase.GREEN, bite=MutationResult(**bite))


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("reversed", "error"),
        ("twice", "error"),
        ("hash_seed", "error"),
        ("clock", "error"),
        ("zone", "warning"),
        ("once_more", "warning"),
    ],
)
def test_test_that_fails_under_other_conditions_is_named(name: Any, severity: str) -> None:
    found = list(
        check_stability(evidence_with(ways=(TestVariation(name=name, outcome="failed", tests=(TEST,), why="f(1)"),)))
    )
    assert [(each.code, each.test, each.path) for each in found] == [
        (CIRCUMSTANCE_FINDINGS[name][0], TEST, "tests/test_a.py")
    ]
    assert [each.severity for each in build_verdict(Phase.GREEN, found, GatePolicy()).findings] == [severity]
    assert found[0].message.endswith(": f(1)")
    assert FINDINGS[found[0].code].severity == severity


def test_failure_outside_any_test_is_reported() -> None:
    assert [
        each.code for each in check_stability(evidence_with(ways=(TestVariation(name="hash_seed", outcome="failed"),)))
    ] == ["GRN703"]


def test_passing_or_inconclusive_run_is_no_finding() -> None:
    ways = (
        TestVariation(name="clock", outcome="not_judged", why="no clock"),
        TestVariation(name="twice", outcome="passed"),
    )
    assert list(check_stability(evidence_with(ways=ways, replay=CallReplay(same=3, not_judged=2)))) == []
    assert list(check_stability(Evidence(phase=Phase.GREEN))) == []


def test_call_with_a_different_result_outside_is_shown() -> None:
    (found,) = check_stability(evidence_with(replay=CallReplay(differing=(SLY,))))
    assert (found.code, found.severity, found.path, found.line) == ("GRN707", "error", "app.py", 3)
    assert "f(1) gives 2 in the test run and 0 outside" in found.message


def test_summaries_of_conditions_and_replayed_calls() -> None:
    ways = (
        TestVariation(name="clock", outcome="not_judged", why="no clock"),
        TestVariation(name="reversed", outcome="failed", tests=(TEST,)),
        TestVariation(name="twice", outcome="passed"),
    )
    passed, failed, unjudged = format_flakiness_summary(MutationResult(ways=ways)).split("; ")
    assert "twice" in passed and "order" in failed and "years later" in unjudged and "no clock" in unjudged
    summary = format_replay_summary(MutationResult(replay=CallReplay(same=3, not_judged=2, differing=(SLY,))))
    assert re.findall(r"\d+", summary) == ["3", "1", "2"]
    assert format_flakiness_summary(MutationResult()) == format_replay_summary(MutationResult()) == ""


def test_verify_compares_conditions_and_replayed_calls() -> None:
    failed = TestVariation(name="clock", outcome="failed", tests=(TEST,))
    passed = TestVariation(name="clock", outcome="passed")
    assert list(list_differences(evidence_with(ways=(failed,)), evidence_with(ways=(passed,)))) == [
        "mutation testing: different tests fail in the variation `clock`"
    ]
    assert list(
        list_differences(evidence_with(replay=CallReplay(differing=(SLY,))), evidence_with(replay=CallReplay(same=1)))
    ) == ["mutation testing: the calls that behave differently outside the test run are not the same"]
    chance = TestVariation(name="once_more", outcome="failed", tests=(TEST,))
    assert list(list_differences(evidence_with(ways=(chance,)), evidence_with(ways=(passed,)))) == []
    assert (
        list(list_differences(evidence_with(replay=CallReplay(not_judged=1)), evidence_with(replay=CallReplay(same=1))))
        == []
    )
