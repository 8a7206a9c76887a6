"""Parsing of recorded output from Go's compiler and test binaries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prd2pr.domain.evidence import FailureKind
from prd2pr.domain.stack import Stack
from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.golang.build_errors import read_build_errors
from prd2pr.languages.golang.canary import make_go_canary
from prd2pr.languages.golang.declared_tests import read_tests
from prd2pr.languages.golang.failures import classify_failure
from prd2pr.languages.golang.files import is_test_file
from prd2pr.languages.golang.manifest import check_manifest
from prd2pr.languages.golang.output import parse_output
from prd2pr.languages.golang.runner import GO
from prd2pr.languages.runner_kinds import ProgramOutput, ProgramResults, RunnerContext, RunnerProgram

RECORDED = Path(__file__).with_name("recorded")
TEST = 'package ext_test\n\nimport (\n\t"testing"\n\n\t"example.com/shop/shop"\n)\n\nfunc TestA(t *testing.T) {}\n'
GROUND = RunnerContext(
    stack=Stack("go", "go test"),
    checkout="/checkout",
    secret="/secret",
    ours="/ours",
    scratch="/scratch",
    python="/python",
    texts={"ext/ext_test.go": TEST},
)


def parse_facts(*facts: dict[str, object]) -> ProgramResults:
    told = "".join(f"SECRET {json.dumps(fact)}\n" for fact in facts)
    return GO.read(ProgramOutput(RunnerProgram(("x",), files=("ext/ext_test.go",)), told, "SECRET", status=0), GROUND)


def run_fact(output: str, status: int, *names: str, part: str = "first", hung: bool = False) -> dict[str, object]:
    return {
        "event": "ran", "package": "ext", "part": part, "names": names, "status": status, "output": output,
        "hung": hung, "seconds": 0,
    }  # fmt: skip


def finished(*names: str) -> tuple[dict[str, object], dict[str, object]]:
    return {"event": "finished", "package": "ext", "names": {name: ["ext/ext_test.go"] for name in names}}, {
        "event": "end"
    }


def test_each_test_gets_its_own_output() -> None:
    found = parse_output((RECORDED / "go-verbose.txt").read_text())
    assert found.ended["TestA/a_b/c_[x]"] == "FAIL"
    assert found.ended["TestB"] == "FAIL", "though something was printed before it on the same line"
    assert [name for name in found.started if name not in found.ended] == ["TestC"]
    assert found.fatal.startswith("panic: away")
    result = {
        "/".join(each.titles): each
        for each in parse_facts(
            run_fact((RECORDED / "go-verbose.txt").read_text(), 2, "TestA", "TestB", "TestC", "TestD", "TestTmp"),
            *finished("TestA", "TestB", "TestC", "TestD", "TestTmp"),
        ).ended
    }
    assert result["TestA"].why == "subtests"
    failed = result["TestA/a_b/c_[x]"].thrown
    assert failed is not None
    assert (failed.message, failed.stack, failed.is_assertion) == ("one\ntwo", "ext/ext_test.go:3", True)
    panicked = result["TestC"].thrown
    assert panicked is not None
    failure = classify_failure(panicked, "call", "ext/ext_test.go", ParsedTestFile(), GROUND)
    assert (failure.kind, failure.path, failure.line) == (FailureKind.EXCEPTION, "ext/ext_test.go", 5)


PASSES = "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n"
FAILS = "=== RUN   TestA\n    ext_test.go:3: no\n--- FAIL: TestA (0.00s)\nFAIL\n"


@pytest.mark.parametrize(
    ("first", "again", "problem"),
    [
        ((PASSES, 0), (PASSES, 0), ""),
        ((FAILS, 1), None, ""),
        ((PASSES, 0), (PASSES, 1), "status 1"),
        ((PASSES, 0), ("", 0), "without a result for TestA"),
        (("=== RUN   TestA\n", 0), None, "status 0"),
        ((FAILS, 0), None, "status 0"),
        (("--- PASS: TestA (0.00s)\n" + FAILS, 1), None, "TestA 2 times"),
        (("=== RUN   TestA\n--- PASS: TestA (0.00s)\nFAIL\n", 1), (PASSES, 0), "without reporting a failure"),
    ],
)
def test_contradictory_binary_output_is_not_trusted(
    first: tuple[str, int], again: tuple[str, int] | None, problem: str
) -> None:
    facts = [run_fact(*first, "TestA")] + ([run_fact(*again, "TestA", part="again")] if again else [])
    told = parse_facts(*facts, *finished("TestA")).problems
    assert bool(told) == bool(problem), told
    assert all(problem in each for each in told)


def test_test_that_fails_only_the_second_time_has_failed() -> None:
    (ended,) = parse_facts(
        run_fact(PASSES, 0, "TestA"), run_fact(FAILS, 1, "TestA", part="again"), *finished("TestA")
    ).ended
    assert ended.outcome == "failed"


def test_tests_rerun_in_another_process_are_reported() -> None:
    told = parse_facts(run_fact(PASSES, 0, "TestA", "TestB"), run_fact(PASSES.replace("TestA", "TestB"), 0, "TestB"),
                *finished("TestA", "TestB")).problems  # fmt: skip
    assert any("status 0" in each for each in told)


def test_results_of_undeclared_tests_are_ignored() -> None:
    forged = "=== RUN   TestA\n=== RUN   TestFake\n--- PASS: TestFake (0.00s)\n--- PASS: TestA (0.00s)\nPASS\n"
    found = parse_facts(run_fact(forged, 0, "TestA"), run_fact(PASSES, 0, "TestA", part="again"), *finished("TestA"))
    assert [each.titles for each in found.ended] == [("TestA",)]


def test_every_build_error_counts() -> None:
    output = (RECORDED / "go-build-errors.txt").read_text()
    found = read_build_errors(output, "ext/ext_test.go", "ext/ext_test.go", TEST, "example.com/shop")
    kinds = [(each.name, each.code) for each in found]
    assert kinds == [
        ("build", ""),  # a type mismatch
        ("undefined", "shop.Redeem"),
        ("undefined", "shop.Cart.Add"),
        ("TypeError", ""),
        ("undefined", "shop.Cart.Total"),
        ("undefined", "shop.Cart.Name"),
        ("TypeError", ""),
    ]
    assert (
        classify_failure(found[0], "collect", "ext/ext_test.go", ParsedTestFile(), GROUND).kind
        is FailureKind.COLLECTION
    )
    missing = classify_failure(found[1], "collect", "ext/ext_test.go", ParsedTestFile(), GROUND)
    assert (missing.kind, missing.missing) == (FailureKind.MISSING_SYMBOL, "shop.Redeem")


@pytest.mark.parametrize(
    ("said", "kind", "missing"),
    [
        ("no required module provides package example.com/shop/cart; to add it:", "undefined", "cart"),
        ("no required module provides package example.org/frob; to add it:", "import", ""),
        ("package frob is not in GOROOT (/usr/lib/go/src/frob)", "import", ""),
        ("undefined: Earn", "undefined", "ext.Earn"),
        ('"os" imported and not used', "build", ""),
        ("spare declared and not used", "build", ""),
    ],
)
def test_missing_package_of_the_project_is_known_by_its_path(said: str, kind: str, missing: str) -> None:
    (thrown,) = read_build_errors(
        f"ext/e_test.go:5:2: {said}\n", "ext/e_test.go", "ext/e_test.go", TEST, "example.com/shop"
    )
    assert (thrown.name, thrown.code) == (kind, missing)


@pytest.mark.parametrize("before", ["go build ", "build ", ""])
def test_package_without_code_is_a_missing_name(before: str) -> None:
    """As reported by Go 1.19, 1.27, and 1.27 without an overlay."""
    said = f"# example.com/shop/ext\n{before}example.com/shop/ext: no non-test Go files in /checkout/ext\n"
    (thrown,) = read_build_errors(said, "ext/e_test.go", "ext/e_test.go", TEST, "example.com/shop")
    assert (thrown.name, thrown.code) == ("undefined", "ext")


def test_testdata_files_are_no_tests() -> None:
    assert is_test_file("a/x_test.go")
    assert not is_test_file("a/testdata/x_test.go")
    assert not is_test_file("_old/x_test.go")


def test_canaries_of_two_files_have_different_names() -> None:
    names = ("cart adds", "cart bounds", "menu keeps", "menu sums", "x y", "31", "7")
    one, other = make_go_canary("a/x_test.go", TEST, names), make_go_canary("a/y_test.go", TEST, names)
    assert one is not None
    assert other is not None
    assert not one.titles & other.titles
    assert make_go_canary("a/z_test.go", "package a\n", names) is None


def test_subtests_have_the_names_that_go_gives_them() -> None:
    runs = '{\n\tt.Run("two words", func(t *testing.T) {})\n\tt.Run(name, func(t *testing.T) {})\n}\n'
    text = TEST.replace("{}\n", runs)
    ids = [each.id.partition("::")[2] for each in read_tests("ext/ext_test.go", text).tests]
    assert ids == ["TestA", "TestA > two_words", "TestA > …"]


def test_go_mod_may_only_gain_a_dependency() -> None:
    before = "module example.com/shop\n\ngo 1.19\n"
    assert not [*check_manifest("go.mod", before, before + "\nrequire example.org/x v1.0.0\n")]
    (fact,) = check_manifest("go.mod", before, before + "\nreplace example.org/x => ./x\n")
    assert fact.code == "GRN101"
