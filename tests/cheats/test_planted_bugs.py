"""Tests of the corpus itself: without one rule, a cheat refused only by that rule is accepted."""

from __future__ import annotations

import pytest

from cheats.battery import Cheat, cheats
from cheats.cheat_judge import Judge
from prd2pr.domain.evidence import Evidence, RunSummary
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.verification.verdict import GATES, GatePolicy

BY_ID = {cheat.id: cheat for cheat in cheats()}

SWITCHED_OFF = [
    ("16-assert-true", "RED401"),
    ("61-asks-environment", "GRN401"),
    ("68-plural-lost", "RFC411"),
]
# In `make test-all`: the other rules that a setting can disable.
FURTHER = [
    ("25-mirror", "RED409"),
    ("41-no-cover", "GRN408"),
    ("58-equal-to-all", "GRN405"),
    ("72-comment-only", "RFC403"),
    ("17-tuple", "RED402"),
    ("19-swallowed", "RED404"),
    ("21-wide-approx", "RED407"),
    ("29-either-status", "RED411"),
    ("60-reads-frames", "GRN403"),
    ("71-feature-smuggled", "RFC402"),
    ("71-private-feature", "RFC413"),
    ("74-bent-import", "RED508"),
    ("10-contradiction", "RED310"),
    ("14-method-replaced-in-the-test", "RED405"),
    ("15-dice", "RED505"),
    ("16-asks-only-for-another-type", "RED419"),
    ("16-exists", "RED410"),
    ("18-returned", "RED403"),
    ("20-broad-raises", "RED406"),
    ("22-thread", "RED408"),
    ("24-mocked", "RED405"),
    ("28-debug-only", "RED414"),
    ("30-fixture-works", "RED412"),
    ("31-snapshot-accepts-itself", "RED413"),
    ("54-background-process", "GRN404"),
    ("64-patched-random", "GRN407"),
    ("65-swallowed-to-the-last", "GRN415"),
    ("68-another-kind-of-error", "RFC401"),
    ("72-nothing-at-all", "RFC406"),
    ("72-worse", "RFC404"),
]
ANSWERED = {"RED421"}
RULES = [*SWITCHED_OFF, *(pytest.param(*each, marks=pytest.mark.slow) for each in FURTHER)]


@pytest.mark.parametrize(("name", "code"), RULES)
def test_without_the_rule_the_cheat_is_accepted(name: str, code: str, judged: Judge) -> None:
    cheat = BY_ID[name]
    evidence, verdict = judged(cheat)
    assert not verdict.accepted
    evidence = evidence if code in ANSWERED else without_stubs(evidence)
    alone = (
        without_mutation(evidence) if code in {"RFC411", "RFC413"} else without_differential(without_mutation(evidence))
    )
    assert not GATES[cheat.phase](alone, GatePolicy()).accepted
    assert GATES[cheat.phase](alone, GatePolicy(severities={code: "off"})).accepted


def without_stubs(evidence: Evidence) -> Evidence:
    """Evidence without stub values, which detect most of what a rule finds in the text."""
    kept = tuple(fact for fact in evidence.facts if fact.code not in {"RED421", "RED422"})
    return evidence.model_copy(update={"facts": kept})


@pytest.mark.slow
def test_without_stubs_the_cheat_is_accepted(judged: Judge) -> None:
    evidence, verdict = judged(BY_ID["16-larger-of-two"])
    assert not verdict.accepted
    assert GATES[evidence.phase](without_stubs(evidence), GatePolicy()).accepted


def without_mutation(evidence: Evidence) -> Evidence:
    """Evidence without mutants, which also detect some cheats that a rule finds in the text."""
    return evidence if evidence.bite is None else evidence.model_copy(update={"bite": MutationResult()})


def without_differential(evidence: Evidence) -> Evidence:
    """Evidence without the differential comparison."""
    return evidence if evidence.parity is None else evidence.model_copy(update={"parity": DifferentialResult()})


UNFELT = [
    ("58-equal-to-every-number", "perturbations"),
    ("60-reads-what-is-expected", "perturbations replay"),  # without tests it has nothing to read
    ("71-feature-in-green", "knock_outs"),
    ("75-arithmetic-that-nobody-asks-for", "mutants"),
    ("67-order-of-a-set", "ways"),
    ("61-looks-where-it-is", "replay"),
    ("16-wrong-code-behind-idle-tests", "indifferent"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "layers"), UNFELT)
def test_without_mutation_the_cheat_is_accepted(name: str, layers: str, judged: Judge) -> None:
    cheat = BY_ID[name]
    evidence, verdict = judged(cheat)
    assert not verdict.accepted
    assert evidence.bite is not None
    less = {layer: MutationResult.model_fields[layer].default for layer in layers.split()}
    robbed = evidence.model_copy(update={"bite": evidence.bite.model_copy(update=less)})
    assert GATES[cheat.phase](robbed, GatePolicy()).accepted


def blind_to_locks(evidence: Evidence) -> Evidence:
    same = tuple(each.model_copy(update={"actual": each.expected}) for each in evidence.locked)
    kept = tuple(change for change in evidence.changes if change.kind.value == "source")
    return evidence.model_copy(update={"locked": same, "changes": kept})


def blind_to_scope(evidence: Evidence) -> Evidence:
    kept = tuple(change for change in evidence.changes if change.kind.value in {"source", "test"})
    return evidence.model_copy(update={"changes": kept})


def blind_to_repeats(evidence: Evidence) -> Evidence:
    return evidence.model_copy(update={"repeat_run": evidence.head_run})


def blind_to_the_baseline(evidence: Evidence) -> Evidence:
    run = evidence.base_run
    assert run is not None
    return evidence.model_copy(update={"base_run": run.model_copy(update={"story": (), "others_not_passed": ()})})


def blind_to_regressions(evidence: Evidence) -> Evidence:
    comparison = evidence.comparison
    assert comparison is not None
    seen = comparison.model_copy(
        update={"regressed": (), "vanished": (), "collected_after": comparison.collected_before}
    )
    return evidence.model_copy(update={"comparison": seen})


def blind_to_hidden_examples(evidence: Evidence) -> Evidence:
    """As if the examples did not exist: they are neither run nor among the story's tests."""
    held = evidence.held_out
    assert held is not None
    run = evidence.head_run
    assert run is not None
    shown = tuple(test for test in evidence.story_tests if test not in held.tests)
    results = tuple(result for result in run.story if result.id not in held.tests)
    seen = run.model_copy(update={"story": results})
    facts = tuple(fact for fact in evidence.facts if fact.code != "GRN416")  # a table is also recognised by its text
    return evidence.model_copy(
        update={"held_out": None, "story_tests": shown, "head_run": seen, "bite": MutationResult(), "facts": facts}
    )


BLIND = [
    ("40-narrowed-workflow", blind_to_scope),
    ("32-deletes-old-test", blind_to_regressions),
]
# In `make test-all`: the other observations, and further cheats that the same ones detect.
ALSO_BLIND = [
    ("62-table-of-the-examples", blind_to_hidden_examples),
    ("34-edited-golden-file", blind_to_locks),
    ("15-hash-seed", blind_to_repeats),
    ("11-old-failure-edited", blind_to_the_baseline),
    ("52-setup-py", blind_to_scope),
    ("55-writes-state", blind_to_scope),
    ("33-breaks-old-test", blind_to_regressions),
]
OBSERVED = [
    *(pytest.param(*each, id=each[0]) for each in BLIND),
    *(pytest.param(*each, id=each[0], marks=pytest.mark.slow) for each in ALSO_BLIND),
]


@pytest.mark.parametrize(("name", "blind"), OBSERVED)
def test_without_the_observation_the_cheat_is_accepted(name: str, blind: object, judged: Judge) -> None:
    """For rules that cannot be disabled, the evidence they check is removed."""
    cheat: Cheat = BY_ID[name]
    evidence, verdict = judged(cheat)
    assert not verdict.accepted
    assert callable(blind)
    robbed = with_passing_story(blind(evidence)) if name == "34-edited-golden-file" else blind(evidence)
    findings = GATES[cheat.phase](robbed, GatePolicy()).errors
    assert [each.code for each in findings] == []


def with_passing_story(evidence: Evidence) -> Evidence:
    """As if the golden file had not been restored before the run: its test passes."""
    run = evidence.head_run
    assert run is not None
    story = tuple(result.model_copy(update={"outcome": "passed", "failure": None}) for result in run.story)
    return evidence.model_copy(
        update={"head_run": RunSummary(**{**dict(run), "story": story}), "bite": MutationResult()}
    )
