"""Hidden examples in hand-made evidence: kept separate, judged by the same rules, not revealed."""

from __future__ import annotations

from typing import Any

import pytest

from prd2pr.domain.evidence import (
    Change,
    Comparison,
    Coverage,
    Evidence,
    Fact,
    Failure,
    FailureKind,
    HiddenExamplesEvidence,
    LockedFile,
    PathKind,
    RunSummary,
    TestResult,
)
from prd2pr.domain.records import HiddenExampleFile, Phase, PlannedSymbol
from prd2pr.languages.hidden_examples import is_hidden_example, merge_hidden_examples, separate_hidden_examples
from prd2pr.proof.compare import list_differences
from prd2pr.verification.verdict import GatePolicy, judge_green, judge_red

SHOWN, HELD = "tests/tdd/s-1/test_a.py", "tests/tdd/s-1/test_a_held_out.py"
TEST, EXAMPLE = f"{SHOWN}::test_a", f"{HELD}::test_secret"
FILES = (HiddenExampleFile(path=HELD, blob="2"),)
CRITERIA = (Coverage(criterion="s-1.c1", tests=(EXAMPLE,)),)
FAILS = Failure(kind=FailureKind.ASSERTION, stage="call", exception="AssertionError", message="assert 1 == 4711")


def ended(test: str, outcome: str = "failed") -> TestResult:
    return TestResult(id=test, outcome=outcome, failure=None if outcome == "passed" else FAILS)


def run(*story: TestResult) -> RunSummary:
    return RunSummary(
        collected=5, passed=4, failed=1, errors=0, skipped=0, seconds=1, exit_status=1, sandbox="none", honest=True,
        story=story,
    )  # fmt: skip


def added(path: str, kind: PathKind = PathKind.TEST) -> Change:
    return Change(path=path, status="added", kind=kind, new_blob="2", new_mode="100644")


def red(example: TestResult, **more: Any) -> Evidence:
    facts: dict[str, Any] = {
        "phase": Phase.RED, "story": "s-1", "changes": (added(SHOWN), added(HELD)), "declared": (TEST, EXAMPLE),
        "story_tests": (TEST, EXAMPLE), "planned": (PlannedSymbol(name="shop.earn"),),
        "coverage": (Coverage(criterion="s-1.c1", tests=(TEST, EXAMPLE)),),
        "comparison": Comparison(appeared=(TEST, EXAMPLE)), "subject_lines": {SHOWN: (3,), HELD: (3,)},
        "base_run": run(), "head_run": run(ended(TEST), example), "repeat_run": run(ended(TEST), example),
    }  # fmt: skip
    return Evidence(**{**facts, **more})


def green(example: TestResult, *files: HiddenExampleFile) -> Evidence:
    held = HiddenExamplesEvidence(files=files, tests=(EXAMPLE,) * bool(files), criteria=CRITERIA, results=(example,))
    tests = (TEST, EXAMPLE) if files else (TEST,)
    return Evidence(
        phase=Phase.GREEN, story="s-1", changes=(added("src/shop.py", PathKind.SOURCE),), story_tests=tests,
        locked=tuple(LockedFile(path=test.partition("::")[0], expected="2", actual="2") for test in tests),
        comparison=Comparison(), base_run=run(ended(TEST), ended(EXAMPLE)), held_out=held,
        head_run=run(ended(TEST, "passed"), example),
    )  # fmt: skip


def codes(verdict: Any, severity: str = "error") -> set[str]:
    return {finding.code for finding in verdict.findings if finding.severity == severity}


def test_hidden_files_are_recognised() -> None:
    assert is_hidden_example(HELD, "s-1")
    assert is_hidden_example("tests/tdd/s-1/integration/test_b_held_out.py", "s-1")
    assert not is_hidden_example(SHOWN, "s-1")
    assert not is_hidden_example(HELD, "s-2")
    assert not is_hidden_example("tests/tdd/s-1/data_held_out.py", "s-1")
    assert not is_hidden_example("src/test_a_held_out.py", "s-1")


def test_hidden_examples_are_only_in_their_own_record() -> None:
    whole = red(ended(EXAMPLE), facts=(Fact(code="RED401", path=HELD, line=3), Fact(code="RED401", path=SHOWN)))
    apart = separate_hidden_examples(whole, FILES, CRITERIA)
    rest = apart.model_copy(update={"held_out": None}).model_dump_json()
    assert "secret" not in rest
    assert "held_out.py" not in rest
    together = merge_hidden_examples(apart)
    for name in ("story_tests", "changes", "declared", "subject_lines", "head_run", "repeat_run"):
        assert getattr(together, name) == getattr(whole, name), name
    assert set(together.facts) == set(whole.facts)


def test_red_judges_both() -> None:
    assert codes(judge_red(separate_hidden_examples(red(ended(EXAMPLE)), FILES, CRITERIA), GatePolicy())) == set()
    passes = separate_hidden_examples(red(ended(EXAMPLE, "passed")), FILES, CRITERIA)
    assert codes(judge_red(passes, GatePolicy())) == {"RED104"}
    vacuous = red(ended(EXAMPLE), facts=(Fact(code="RED401", path=HELD, line=3, test=EXAMPLE),))
    assert "RED401" in codes(judge_red(separate_hidden_examples(vacuous, FILES, CRITERIA), GatePolicy()))


def test_red_requires_the_criterion_in_both_files() -> None:
    nameless = separate_hidden_examples(red(ended(EXAMPLE)), FILES, ())
    assert codes(judge_red(nameless, GatePolicy())) == {"RED212"}
    only_held = red(ended(EXAMPLE), coverage=(Coverage(criterion="s-1.c1", tests=(EXAMPLE,)),))
    assert codes(judge_red(separate_hidden_examples(only_held, FILES, CRITERIA), GatePolicy())) == {"RED210"}


def test_red_requires_visible_tests() -> None:
    example = ended(EXAMPLE)
    alone = red(example, story_tests=(EXAMPLE,), declared=(EXAMPLE,), head_run=run(example), repeat_run=run(example))
    assert "RED201" in codes(judge_red(separate_hidden_examples(alone, FILES, CRITERIA), GatePolicy()))


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_green_reveals_only_criterion_and_kind(outcome: str) -> None:
    verdict = judge_green(green(ended(EXAMPLE, outcome), *FILES), GatePolicy())
    assert codes(verdict) == {"GRN308"}
    said = verdict.model_dump_json()
    assert "criterion s-1.c1" in said
    assert "4711" not in said
    assert "secret" not in said
    assert HELD not in said


def test_green_does_not_reveal_changes_to_a_hidden_file() -> None:
    lock = LockedFile(path=HELD, expected="2", actual="3", detail="line 3 `== 4711` became `== 1`")
    seen = green(ended(EXAMPLE, "passed"), *FILES)
    verdict = judge_green(seen.model_copy(update={"locked": (seen.locked[0], lock)}), GatePolicy())
    assert "GRN201" in codes(verdict)
    assert "4711" not in verdict.model_dump_json()


def test_green_does_not_reveal_output_of_a_hidden_test() -> None:
    seen = green(ended(EXAMPLE, "passed"), *FILES)
    assert seen.head_run is not None
    odd = seen.head_run.model_copy(update={"honest": False, "problems": (f"{EXAMPLE}[4711] was reported twice",)})
    verdict = judge_green(seen.model_copy(update={"head_run": odd}), GatePolicy())
    assert "RUN101" in codes(verdict)
    assert "4711" not in verdict.model_dump_json()


def test_green_without_hidden_examples_warns_only_if_required() -> None:
    none = green(ended(TEST, "passed"))
    none = none.model_copy(update={"held_out": HiddenExamplesEvidence()})
    assert "GRN309" in codes(judge_green(none, GatePolicy()), "warning")
    unasked = none.model_copy(update={"held_out": None})
    assert "GRN309" not in codes(judge_green(unasked, GatePolicy()), "warning")


def test_verify_compares_hidden_example_results() -> None:
    saved = green(ended(EXAMPLE, "passed"), *FILES)
    assert list(list_differences(saved, saved)) == []
    slower = ended(EXAMPLE, "passed").model_copy(update={"seconds": 9.0})
    assert list(list_differences(saved, saved.model_copy(update={"held_out": green(slower, *FILES).held_out}))) == []
    for other in (green(ended(EXAMPLE), *FILES).held_out, HiddenExamplesEvidence(), None):
        assert list(list_differences(saved, saved.model_copy(update={"held_out": other})))
