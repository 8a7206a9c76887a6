"""What the gates make of tests in other circumstances, and of calls made outside of a test run."""

from __future__ import annotations

from typing import Any

import pytest

from prd2pr.core.bite.record import Bite, Differing, Replay, Way
from prd2pr.core.bite.words import replay_sentence, ways_sentence
from prd2pr.core.evidence import Evidence
from prd2pr.core.findings import FINDINGS
from prd2pr.core.gates.steady import FAILED, steady
from prd2pr.core.records import Phase
from prd2pr.core.sameness import differences

TEST = "tests/test_a.py::test_a"
SLY = Differing(path="app.py", line=3, function="f", test=TEST, shown="f(1)", inside="2", outside="0")


def seen(**bite: Any) -> Evidence:
    return Evidence(phase=Phase.GREEN, bite=Bite(**bite))


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
def test_a_test_that_fails_in_other_circumstances_is_named(name: Any, severity: str) -> None:
    found = list(steady(seen(ways=(Way(name=name, outcome="failed", tests=(TEST,), why="f(1)"),))))
    assert [(each.code, each.test, each.path, each.severity) for each in found] == [
        (FAILED[name][0], TEST, "tests/test_a.py", severity)
    ]
    assert found[0].message.endswith(": f(1)")
    assert FINDINGS[found[0].code].severity == severity


def test_a_failure_that_belongs_to_no_test_is_told_all_the_same() -> None:
    assert [each.code for each in steady(seen(ways=(Way(name="hash_seed", outcome="failed"),)))] == ["GRN703"]


def test_what_passes_or_cannot_be_judged_is_no_finding() -> None:
    ways = (Way(name="clock", outcome="not_judged", why="no clock"), Way(name="twice", outcome="passed"))
    assert list(steady(seen(ways=ways, replay=Replay(same=3, not_judged=2)))) == []
    assert list(steady(Evidence(phase=Phase.GREEN))) == []


def test_a_call_that_is_answered_otherwise_outside_is_shown() -> None:
    (found,) = steady(seen(replay=Replay(differing=(SLY,))))
    assert (found.code, found.severity, found.path, found.line) == ("GRN707", "error", "app.py", 3)
    assert found.message == "f(1) gives 2 in the test run and 0 outside of it"


def test_what_was_tried_is_said_in_a_sentence() -> None:
    ways = (
        Way(name="clock", outcome="not_judged", why="no clock"),
        Way(name="reversed", outcome="failed", tests=(TEST,)),
        Way(name="twice", outcome="passed"),
    )
    assert ways_sentence(Bite(ways=ways)) == (
        "By themselves, the story's tests pass twice in one process; fail in the opposite order; "
        "could not be judged 400 days later (no clock)."
    )
    told = replay_sentence(Bite(replay=Replay(same=3, not_judged=2, differing=(SLY,))))
    assert told == (
        "Calls of the tests that gave the same outside of a test run: 3, 1 something else; 2 could not be judged."
    )
    assert ways_sentence(Bite()) == replay_sentence(Bite()) == ""


def test_verify_compares_what_is_steady() -> None:
    failed = Way(name="clock", outcome="failed", tests=(TEST,))
    passed = Way(name="clock", outcome="passed")
    assert list(differences(seen(ways=(failed,)), seen(ways=(passed,)))) == [
        "bite: run in another way (clock), the tests fared otherwise"
    ]
    assert list(differences(seen(replay=Replay(differing=(SLY,))), seen(replay=Replay(same=1)))) == [
        "bite: other calls differ outside of the test run"
    ]
    chance = Way(name="once_more", outcome="failed", tests=(TEST,))
    assert list(differences(seen(ways=(chance,)), seen(ways=(passed,)))) == []
    assert list(differences(seen(replay=Replay(not_judged=1)), seen(replay=Replay(same=1)))) == []
