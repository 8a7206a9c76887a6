"""Statements: what they say of a step, and that none about something else is taken for one about it."""

from __future__ import annotations

import copy
import json

import pytest

from prd2pr.domain.evidence import Evidence, RunSummary, TestResult
from prd2pr.domain.records import Phase
from prd2pr.proof.attestation import AttestedStep, build_statement, check_statement
from prd2pr.verification.commit_check import CommitCheck

SHA, TREE = "a" * 40, "b" * 40


def run(**counts: int) -> RunSummary:
    story = (TestResult(id="tests/t.py::test_a", outcome="passed" if not counts.get("failed") else "failed"),)
    numbers = {"collected": 3, "passed": 3, "failed": 0, "errors": 0, "skipped": 0, **counts}
    return RunSummary(
        **numbers, seconds=1, exit_status=1, sandbox="none", honest=True, story=story, ids_digest="c" * 64
    )


def step(phase: Phase = Phase.GREEN, **counts: int) -> AttestedStep:
    evidence = Evidence(
        phase=phase, prd="p", story="p-1", step=3, made_by="1.0", head_tree=TREE, base_tree="d" * 40,
        head_run=run(**counts),
    )  # fmt: skip
    return AttestedStep(SHA, "p/p-1/3", "e.json", f"sha256:{'e' * 64}", evidence, "f" * 40)


CHECKED = [CommitCheck(SHA, "green(p-1): x", "p/p-1/3", "green", "accepted")]


def codes(statement: object, checked: list[CommitCheck] = CHECKED) -> set[str]:
    return {finding.code for finding in check_statement(statement, "a.json", [step()], checked)}


def test_it_has_the_form_of_an_in_toto_statement_about_a_test_result():
    made = build_statement(step(), url="https://example.org/run/1")
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    assert made["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    digests = [subject["digest"] for subject in made["subject"]]
    assert digests == [{"gitCommit": SHA}, {"gitTree": TREE}, {"sha256": "e" * 64}]
    predicate = made["predicate"]
    assert set(predicate) == {"result", "configuration", "url", "passedTests", "warnedTests", "failedTests"}
    assert (predicate["result"], predicate["passedTests"], predicate["failedTests"]) == (
        "PASSED", ["tests/t.py::test_a"], [],
    )  # fmt: skip
    # A descriptor names where it is or what its digest is.
    assert all({"uri", "digest"} & set(each) for each in predicate["configuration"])


def test_red_is_a_run_that_failed_and_says_so():
    predicate = build_statement(step(Phase.RED, passed=2, failed=1))["predicate"]
    assert predicate["result"] == "FAILED"
    assert predicate["failedTests"] == ["tests/t.py::test_a"]


def test_an_old_failure_beside_green_is_a_warning():
    assert build_statement(step(Phase.GREEN, passed=2, failed=1))["predicate"]["result"] == "WARNED"


def test_what_was_made_here_is_accepted_also_with_an_address():
    assert codes(json.loads(json.dumps(build_statement(step(), url="https://example.org/1")))) == set()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_another_digest_is_another_thing(place: int):
    made = copy.deepcopy(build_statement(step()))
    (algorithm,) = made["subject"][place]["digest"]
    made["subject"][place]["digest"][algorithm] = "0" * 40
    assert "VER201" in codes(made)


def test_a_subject_that_is_left_out_or_doubled_is_seen():
    made = build_statement(step())
    assert "VER201" in codes({**made, "subject": made["subject"][:2]})
    double = {"name": "code", "digest": {"gitTree": "0" * 40}}
    assert "VER201" in codes({**made, "subject": [*made["subject"], double]})


@pytest.mark.parametrize(
    "lie",
    [{"result": "WARNED"}, {"passedTests": []}, {"failedTests": ["x"]}, {"configuration": []}, {"warnedTests": ["x"]}],
)
def test_another_result_is_a_lie(lie: dict[str, object]):
    made = build_statement(step())
    assert codes({**made, "predicate": {**made["predicate"], **lie}}) == {"VER202"}


def test_a_step_that_is_not_proved_cannot_be_attested():
    assert codes(build_statement(step()), [CommitCheck(SHA, "x")]) == {"VER202"}


@pytest.mark.parametrize("odd", [None, [], "x", {}, {"_type": "https://in-toto.io/Statement/v0.1"}])
def test_what_is_no_statement_is_said_to_be_none(odd: object):
    assert codes(odd) == {"VER203"}
    assert codes({**build_statement(step()), "predicateType": "https://slsa.dev/provenance/v1"}) == {"VER203"}
    assert codes({**build_statement(step()), "subject": "x"}) == {"VER201"}
