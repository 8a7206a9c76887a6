"""Existing tests that a requirement changes: only declared ones, openly, and as strict as before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from prd2pr.config import TestRun
from prd2pr.domain.evidence import ChangedTest, Evidence, Verdict
from prd2pr.domain.records import DeclaredTestChange, Phase
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.state.git import Git
from prd2pr.verification.gates.changed_tests import check_changed_tests, check_old_versions
from prd2pr.verification.gather.changed_tests import MutationFailed, OldTests
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.gather.pipeline import gather
from prd2pr.verification.run_cache import CachedRunner
from prd2pr.verification.story_context import StoryContext
from prd2pr.verification.verdict import GATES, GatePolicy

Files = Mapping[str, str | None]
CODE = """
def fee(amount):
    return 2 if amount < 100 else 0


def total(amount):
    return amount + fee(amount)


def export():
    return "csv"
"""
OLD = """
from fees import export, fee, total


def test_fee():
    assert fee(10) == 2
    assert total(10) == 12


def test_free():
    assert fee(100) == 0


def test_export():
    assert export() == "csv"
"""
NEW = OLD.replace("fee(10) == 2", "fee(10) == 3").replace("total(10) == 12", "total(10) == 13")
NEW_CODE = CODE.replace("return 2", "return 3")
FEE = DeclaredTestChange(test="tests/test_fees.py::test_fee", requirement="FR-2")
EXPORT = DeclaredTestChange(test="tests/test_fees.py::test_export", requirement="FR-3", removed=True)
IDS = ("FR-2", "FR-3")
ADDED = '''
from fees import fee


def test_new_fee():
    """story.c1"""
    assert fee(5) == 3
    assert fee(99) == 3
'''
Judge = Callable[..., tuple[Verdict, Verdict | None]]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    place = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    git = Git.open(place)
    runner = PytestRunner(git.export, Path(sys.executable), TestRun(stall_seconds=10, timeout_seconds=60))
    context = GatherContext(git, CachedRunner(runner, None))

    def write(base: str, files: Files) -> str:
        return git.edit_tree(base, {path: text.encode() if text else None for path, text in files.items()})

    def play(tests: Files, code: Files, *planned: DeclaredTestChange) -> tuple[Verdict, Verdict | None]:
        base = write(git.empty_tree, {"fees.py": CODE, "tests/test_fees.py": OLD})
        begun = StoryContext("story", "prd", criteria=("story.c1",), requirements=IDS, changed_tests=planned)
        red_tree = write(base, {"tests/tdd/story/test_new.py": ADDED, **tests})
        red = gather(context, Phase.RED, base, red_tree, story=begun)
        verdict = GATES[Phase.RED](red, GatePolicy())
        if not verdict.accepted:
            return verdict, None
        built = StoryContext(
            "story", "prd", red_tests=red.story_tests, changed_tests=planned, before_red=base, criteria=("story.c1",)
        )
        green = gather(context, Phase.GREEN, red_tree, write(red_tree, code), story=built)
        return verdict, GATES[Phase.GREEN](green, GatePolicy())

    return play


def codes(verdict: Verdict | None) -> set[str]:
    assert verdict is not None
    return {finding.code for finding in verdict.errors}


def test_declared_change_is_accepted_and_named(judge: Judge) -> None:
    red, green = judge({"tests/test_fees.py": NEW}, {"fees.py": NEW_CODE}, FEE)
    assert codes(red) == codes(green) == set()
    (named,) = [finding for finding in red.findings if finding.code == "RED509"]
    assert (named.test, named.severity) == (FEE.test, "warning")
    assert "FR-2" in named.message


def test_undeclared_change_in_the_same_file_is_refused(judge: Judge) -> None:
    other = NEW.replace("fee(100) == 0", "fee(100) == 1")
    red, _ = judge({"tests/test_fees.py": other}, {}, FEE)
    assert codes(red) == {"RED511"}


def test_requirement_of_another_story_is_no_reason(judge: Judge) -> None:
    red, _ = judge({"tests/test_fees.py": NEW}, {}, FEE.model_copy(update={"requirement": "FR-9"}))
    assert codes(red) == {"RED511"}


@pytest.mark.parametrize("edited", [NEW, OLD.replace("fee(10) == 2", "fee(10) > 2"), OLD.replace("== 12", "== 13")])
def test_undeclared_change_is_refused(judge: Judge, edited: str) -> None:
    red, _ = judge({"tests/test_fees.py": edited}, {})
    assert "RED511" in codes(red)


def test_undeclared_removal_is_refused(judge: Judge) -> None:
    red, _ = judge({"tests/test_fees.py": OLD.partition("\n\ndef test_export")[0] + "\n"}, {})
    assert codes(red) == {"RED504"}


def test_failed_mutation_testing_of_the_old_tests_is_reported() -> None:
    failed = ChangedTest(test=FEE.test, requirement="FR-2", on_new_code="failed", not_compared="timed out")
    (found,) = check_old_versions(Evidence(phase=Phase.GREEN, changed_tests=(failed,)))
    assert (found.code, found.severity) == ("GRN510", "error")
    assert "timed out" in found.message
    idle = ChangedTest(test=FEE.test, requirement="FR-2", on_new_code="failed", detected=0)
    (found,) = check_old_versions(Evidence(phase=Phase.GREEN, changed_tests=(idle,)))
    assert found.code == "GRN508"


def test_mutation_run_that_fails_is_not_compared(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MutationFailed("the mutants took too long")

    monkeypatch.setattr(OldTests, "_mutate", fail)
    red, green = judge({"tests/test_fees.py": NEW}, {"fees.py": NEW_CODE}, FEE)
    assert codes(red) == set()
    assert codes(green) == {"GRN510"}


def test_story_without_new_behavior_changes_no_test() -> None:
    changed = ChangedTest(test=FEE.test, requirement="FR-2")
    found = check_changed_tests(Evidence(phase=Phase.GREEN, pre_implemented=True, changed_tests=(changed,)))
    assert "RED511" in {each.code for each in found}


@pytest.mark.parametrize("weak", ["fee(10) > 2", "fee(10) in (3, 4)"])
def test_weaker_comparison_is_refused(judge: Judge, weak: str) -> None:
    red, _ = judge({"tests/test_fees.py": NEW.replace("fee(10) == 3", weak)}, {}, FEE)
    assert "RED510" in codes(red)


def test_error_instead_of_a_value_is_as_strict(judge: Judge) -> None:
    raising = NEW.replace(
        "    assert total(10) == 13", "    with pytest.raises(TypeError, match='no total'):\n        total(10)"
    )
    code = NEW_CODE.replace("return amount + fee(amount)", "raise TypeError('no total')")
    red, green = judge({"tests/test_fees.py": f"import pytest\n{raising}"}, {"fees.py": code}, FEE)
    assert codes(red) == set()
    assert codes(green) == set()


def test_declared_test_that_drops_other_code_is_refused(judge: Judge) -> None:
    """The declared test compares with as many values, but no longer with the total, which no other test checks."""
    lost = NEW.replace("total(10) == 13", "fee(20) == 3")
    red, green = judge({"tests/test_fees.py": lost}, {"fees.py": NEW_CODE}, FEE)
    assert codes(red) == set()
    assert codes(green) == {"GRN510"}


def test_test_of_removed_behavior_is_removed(judge: Judge) -> None:
    without = NEW.partition("\n\ndef test_export")[0].replace("export, ", "") + "\n"
    code = NEW_CODE.partition("\n\ndef export")[0] + "\n"
    red, green = judge({"tests/test_fees.py": without}, {"fees.py": code}, FEE, EXPORT)
    assert codes(red) == codes(green) == set()


def test_test_of_kept_behavior_is_not_removed(judge: Judge) -> None:
    without = NEW.partition("\n\ndef test_export")[0] + "\n"
    red, _ = judge({"tests/test_fees.py": without}, {"fees.py": NEW_CODE}, FEE)
    assert codes(red) == {"RED504"}
    red, _ = judge({"tests/test_fees.py": without}, {}, FEE, EXPORT.model_copy(update={"removed": False}))
    assert "RED511" in codes(red)
    red, green = judge({"tests/test_fees.py": without}, {"fees.py": NEW_CODE}, FEE, EXPORT)
    assert codes(red) == set()
    assert "GRN509" in codes(green)
