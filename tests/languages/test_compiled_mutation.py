"""Mutants in Go and Rust as text edits, and how test results are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from prd2pr.domain.evidence import Failure, FailureKind, RunReport, TestResult
from prd2pr.domain.results.mutation import MutantResult, MutationResult
from prd2pr.languages.base import Language, SourceContext, TestContext
from prd2pr.languages.golang import LANGUAGE as GO
from prd2pr.languages.golang.build_errors import read_build_errors as go_thrown
from prd2pr.languages.mutation_plan import Edit, Fault, MutationPlan, ReturnReplacement
from prd2pr.languages.mutation_runs import MutationRun
from prd2pr.languages.rust import LANGUAGE as RUST
from prd2pr.languages.rust.build_errors import read_build_errors as rust_thrown
from prd2pr.languages.test_runner import MutationRequest, RunRequest


def applied(text: str, edits: tuple[Edit, ...]) -> str:
    data = text.encode()
    for begin, end, other in sorted(edits, reverse=True):
        data = data[:begin] + other.encode() + data[end:]
    return data.decode()


GO_TEXT = """package points

// Split shares a total.
func Split(total, n int) (parts []int, _ error) {
	return make([]int, total/n), nil
}

func (c *Card) Add(euros int) { c.points += euros }

func old() int { return 1 }
"""


def test_go_function_with_another_return_value() -> None:
    found = GO.replace_return_values("points/a.go", GO_TEXT[GO_TEXT.index("func old") :], GO_TEXT)
    assert [(each.function, each.how) for each in found] == [
        ("Split", "other"),
        ("Split", "nothing"),
        ("Card.Add", "nothing"),
    ]
    other = applied(GO_TEXT, found[0].edits)
    assert "(parts []int, prd2prResult1 error) { defer prd2prOther" in other
    assert 'package points; import prd2pr_reflect "reflect"' in other, "on the same line: no other line moves"
    assert "{ if true { return *new([]int), *new(error) }; " in applied(GO_TEXT, found[1].edits)
    assert "{ if true { return  }; " in applied(GO_TEXT, found[2].edits)


RUST_TEXT = """pub fn earn(euros: i64) -> i64 {
    euros / 10
}

pub fn read(text: &str) -> Result<Points, Wrong> {
    Ok(Points(text.parse()?))
}

pub const fn fixed() -> i64 {
    1
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "wrong")
    }
}

impl std::error::Error for Wrong {}
"""


def test_rust_function_with_another_return_value() -> None:
    found = {
        (each.function, each.how): applied(RUST_TEXT, each.edits)
        for each in RUST.replace_return_values("a", "", RUST_TEXT)
    }
    assert {*found} == {
        *((name, how) for name in ("earn", "read") for how in ("other", "nothing")),
        ("Wrong(Display).fmt", "nothing"),
    }
    assert "let prd2pr_out: i64 = {\n    euros / 10\n}; prd2pr_other(prd2pr_out) }" in found["earn", "other"]
    assert "(move || -> Result<Points, Wrong> {" in found["read", "other"], "a `?` must not leave the function"
    assert "Ok(found) => Ok(prd2pr_other(found)), Err(_) => Ok(" in found["read", "other"]
    assert "return Default::default()" in found["earn", "nothing"]
    assert "return Ok(())" in found["Wrong(Display).fmt", "nothing"]


def test_error_texts_need_no_test() -> None:
    excused = {each.function: bool(each.exemption) for each in RUST.make_knock_outs("a", "", RUST_TEXT)}
    assert excused == {"earn": False, "read": False, "fixed": False, "Wrong(Display).fmt": True}
    text = 'package a\n\nfunc (e *Wrong) Error() string { return "x" }\n\nfunc (l Log) Error(s string) { l.p(s) }\n'
    assert {each.function: bool(each.exemption) for each in GO.make_knock_outs("a.go", "", text)} == {
        "Wrong.Error": True,
        "Log.Error": False,
    }


def test_mutants_on_changed_lines() -> None:
    go = 'package a\n\nfunc A(n int) string {\n\tn++\n\tif n < 3 && !b {\n\t\treturn "x" + c\n\t}\n\tvar d [4]int\n}\n'
    told = [each.change.partition(" in ")[0] for each in GO.make_mutants("a.go", "", go)]
    assert told == ["`++` → `--`", "`&&` → `||`", "`<` → `<=`", "`3` → `(3 + 1)`", "`!b` → `(b)`"]
    rust = "fn a(n: P) -> i64 {\n    let m = n.0 * 2;\n    if !b { return m }\n    vec![1; 3].len() as i64\n}\n"
    told = [each.change.partition(" in ")[0] for each in RUST.make_mutants("a.rs", "", rust)]
    assert told == ["`*` → `/`", "`2` → `(2 ^ 1)`", "`!b` → `(b)`"]
    assert not RUST.make_mutants("a.rs", rust, rust)


GO_TEST = """package points

import "testing"

func same(t *testing.T, got, want int) {HELPER}

func TestEarn(t *testing.T) {
	same(t, Earn(25), 2)
}
"""


@pytest.mark.parametrize(
    ("helper", "codes"),
    [
        ('\n\tif got != want {\n\t\tt.Fatal("no")\n\t}\n', []),
        ('\n\tif got != want {\n\t\tt.Log("no")\n\t}\n', ["RED401"]),
        ("\n\tsame(t, got, want)\n", ["RED401"]),
    ],
)
def test_helper_must_be_able_to_fail(helper: str, codes: list[str]) -> None:
    facts = GO.check_tests("points/a_test.go", GO_TEST.replace("HELPER", helper), TestContext("go test"))
    assert [each.code for each in facts] == codes


def test_result_of_a_helper_must_be_used() -> None:
    text = "use shop::earn;\nfn check() -> Result<(), String> { Err(earn().to_string()) }\n#[test]\nfn a() { BODY }\n"
    for body, codes in {"let _ = check();": ["RED401"], "check();": ["RED401"], "check().unwrap();": []}.items():
        facts = RUST.check_tests("tests/a.rs", text.replace("BODY", body), TestContext("cargo test"))
        assert [each.code for each in facts] == codes, body


GO_PROGRAM = """package main_test

import (
	"os/exec"
	"testing"
)
"""
GO_RUN = """
func run(args ...string) string {
	out, _ := exec.Command(bin, args...).Output()
	return string(out)
}
"""
GO_RUN_TEST = """
func TestA(t *testing.T) {
	if run("a") != "2" {
		t.Fatal("no")
	}
}
"""
RUST_RUN = """
const BIN: &str = env!("CARGO_BIN_EXE_shop");
pub fn run(word: &str) -> Vec<u8> { std::process::Command::new(BIN).arg(word).output().unwrap().stdout }
"""
RUST_TEST = '#[test]\nfn a() { assert_eq!(run("a"), b"2"); }\n'


def test_programs_started_by_helpers() -> None:
    def check(language: Language, path: str, text: str, helper: str = "") -> list[str]:
        functions = language.find_subject_functions("tests/common/mod.rs", helper)
        return [each.code for each in language.check_tests(path, text, TestContext("x", subject_helpers=functions))]

    go = GO_PROGRAM + GO_RUN_TEST
    assert check(GO, "cmd/a_test.go", go + GO_RUN) == []
    assert check(GO, "cmd/a_test.go", go, GO_PROGRAM + GO_RUN) == []
    assert check(GO, "cmd/a_test.go", go, GO_PROGRAM + 'func run(args ...string) string { return "2" }\n') == ["RED410"]
    rust = "mod common;\nuse common::run;\n" + RUST_TEST
    assert check(RUST, "tests/a.rs", RUST_RUN + RUST_TEST) == []
    assert check(RUST, "tests/a.rs", rust, RUST_RUN) == []
    assert check(RUST, "tests/a.rs", rust, 'pub fn run(word: &str) -> Vec<u8> { b"2".to_vec() }\n') == ["RED410"]


def test_shared_assertions_are_locked() -> None:
    same = "func Same(t testing.TB, a, b int) { if a != b { t.Fatal() } }"
    go = f'package check\n\nimport "testing"\n\n{same}\n\nfunc N() int {{ return 1 }}\n'
    context = SourceContext()
    assert [each.code for each in GO.check_source("check/c.go", go, go.replace("a != b", "a > 9"), context)] == [
        "GRN413"
    ]
    assert not [*GO.check_source("check/c.go", go, go.replace("return 1", "return 2"), context)]
    manifests = {
        "Cargo.toml": '[dependencies]\ncore = { path = "core" }\n\n[dev-dependencies]\nkit = { path = "kit" }\n'
        'core = { path = "core" }\n',
        "kit/Cargo.toml": '[package]\nname = "kit"\n',
        "core/Cargo.toml": '[package]\nname = "core"\n',
    }
    assert RUST.find_test_directories(manifests) == {"kit/"}
    rust = "pub fn same(a: i64, b: i64) { assert_eq!(a, b) }\n"
    weaker = rust.replace("assert_eq!(a, b)", "drop((a, b))")
    known = SourceContext(for_tests=RUST.find_test_directories(manifests))
    assert [each.code for each in RUST.check_source("kit/src/lib.rs", rust, weaker, known)] == ["GRN413"]
    assert not [*RUST.check_source("core/src/lib.rs", rust, weaker, known)]
    about_it = SourceContext({"kit/tests/same.rs": "", "check/same_test.go": ""}, known.for_tests)
    assert not [*RUST.check_source("kit/src/lib.rs", rust, weaker, about_it)], "the story is about the helper itself"
    assert not [*GO.check_source("check/c.go", go, go.replace("a != b", "a > 9"), about_it)]


def test_release_build_is_tested_if_the_source_could_detect_it() -> None:
    manifest = {"Cargo.toml": '[package]\nname = "shop"\n'}
    assert not RUST.make_release_edits(manifest, ["pub fn a() {}"])
    ((path, (_, _, added)),) = RUST.make_release_edits(manifest, ["if cfg!(debug_assertions) { 1 } else { 2 }"])
    assert path == "Cargo.toml"
    assert "overflow-checks = false" in added


def test_test_files_are_not_included_in_the_program() -> None:
    text = 'package a\n\nimport "embed"\n\n//go:embed PATTERN\nvar files embed.FS\n'
    context = SourceContext({"a/a_test.go": "package a\n"})
    for pattern, codes in {"*.go": ["GRN411"], "templates/*.html": [], "*.txt": []}.items():
        found = GO.check_source("a/a.go", "", text.replace("PATTERN", pattern), context)
        assert [each.code for each in found] == codes, pattern


# --- compiler output --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "name", "missing"),
    [
        ("Level does not implement fmt.Stringer (missing method String)", "undefined", "points.Level.String"),
        ("*Level does not implement fmt.Stringer (missing method String)", "undefined", "points.Level.String"),
        ("int does not implement fmt.Stringer (missing method String)", "build", ""),
        ("time.Time does not implement Clock (missing method Now)", "build", ""),
        ("Level does not implement fmt.Stringer (wrong type for method String)", "build", ""),
    ],
)
def test_missing_interface_method(said: str, name: str, missing: str) -> None:
    text = 'package points\n\nimport (\n\t"testing"\n\t"time"\n)\n'
    told = f"p/a_test.go:5:2: cannot use x (value of type X) as Y value in variable declaration: {said}\n"
    (thrown,) = go_thrown(told, "p/a_test.go", "p/a_test.go", text, "example.com/shop")
    assert (thrown.name, thrown.code) == (name, missing)


@pytest.mark.parametrize(
    ("code", "message", "missing"),
    [
        ("E0277", "`Points` doesn't implement `std::fmt::Display`", "shop.Points.Display"),
        ("E0599", "`Points` doesn't implement `std::fmt::Display`", "shop.Points.Display"),
        ("E0369", "cannot add `Points` to `Points`", "shop.Points.Add"),
        ("E0369", "binary operation `==` cannot be applied to type `Points`", "shop.Points.PartialEq"),
        ("E0277", "the trait bound `Points: FromStr` is not satisfied", "shop.Points.FromStr"),
        ("E0277", "the trait bound `Points: From<i64>` is not satisfied", "shop.Points.From"),
        ("E0277", "can't compare `Points` with `Points`", "shop.Points.PartialEq"),
        ("E0600", "cannot apply unary operator `-` to type `Points`", "shop.Points.Neg"),
        ("E0368", "binary assignment operation `+=` cannot be applied to type `Points`", "shop.Points.AddAssign"),
        ("E0277", "`Mine` doesn't implement `Debug`", ""),
        ("E0277", "cannot add `&str` to `i64`", ""),
        ("E0277", "the trait bound `String: Copy` is not satisfied", ""),
        ("E0308", "mismatched types", ""),
    ],
)
def test_missing_trait(code: str, message: str, missing: str) -> None:
    text = "use shop::Points;\nstruct Mine;\n"
    error = {"code": code, "message": message, "path": "tests/a.rs", "line": 3, "label": "expected `u32`, found `i64`"}
    (thrown,) = rust_thrown([error], "tests/a.rs", text, frozenset({"shop"}))
    assert (thrown.name, thrown.code) == (("undefined", missing) if missing else ("build", ""))


def test_a_derived_trait_is_public() -> None:
    derived = "#[derive(Clone, Copy)]\npub struct P(pub i64, u8);\n"
    written = (
        "pub struct P(pub i64, u8);\nimpl Clone for P {\n    fn clone(&self) -> P { *self }\n}\nimpl Copy for P {}\n"
    )
    told = [{(each.name, each.text) for each in RUST.list_signatures("src/a.rs", text)} for text in (derived, written)]
    assert (
        told[0]
        == told[1]
        == {("a.P", "struct ( 0: i64 )"), ("a.P(Clone)", "implemented"), ("a.P(Copy)", "implemented")}
    )


# --- mutation runs ---

TESTS = ("a_test.go::TestLooks", "a_test.go::TestLooksAway")


def return_value_mutant(how: str, number: int) -> ReturnReplacement:
    return ReturnReplacement("a.go", 1, f"F{number}", how, ((number, number, how),))  # type: ignore[arg-type]


def report(failing: tuple[str, ...], exception: str = "panic") -> RunReport:
    failure = Failure(kind=FailureKind.EXCEPTION, stage="call", exception=exception)
    results = tuple(
        TestResult(
            id=test, outcome="failed" if test in failing else "passed", failure=failure if test in failing else None
        )
        for test in TESTS
    )
    return RunReport(
        code_tree="t", command=("go test",), tools={}, order="normal", hash_seed=0, results=results, collect_errors=(),
        exit_status=1 if failing else 0, seconds=0.1, sandbox="none", problems=(), canary_dirs=(),
    )  # fmt: skip


def run_plan(plan: MutationPlan, answers: Mapping[str, tuple[str, ...]]) -> tuple[MutationResult, list[str]]:
    """`answers`: the joined edits → the tests that fail with them."""
    asked: list[str] = []

    def run(_: RunRequest, edits: Mapping[str, tuple[Edit, ...]], __: float | None) -> RunReport:
        made = "+".join(text for each in edits.values() for _, _, text in each)
        asked.append(made)
        failing = answers.get(made, ())
        return report(TESTS, "build") if failing == ("build",) else report(failing)

    mutation_run = MutationRun(run, MutationRequest("t", TESTS, plan, 8, ways=False))
    mutation_run.do()
    return mutation_run.result, asked


KNOCKED = Fault("k", "knock_out", "a.go", 1, (1, 1), "F1", "panics", (0, 0, "panic"), (0, 0, 1))
BOTH = MutationPlan(knock_outs=(KNOCKED,), answers=(return_value_mutant("other", 1), return_value_mutant("nothing", 1)))


def test_test_that_passes_with_any_return_value_is_reported() -> None:
    bite, asked = run_plan(BOTH, {"panic": TESTS, "other": TESTS[:1], "nothing": ()})
    assert bite.indifferent == (TESTS[1],)
    assert bite.answers
    assert asked.count("other") == 2, "once together with all others, once alone"


def test_two_compensating_mutants_are_judged_separately() -> None:
    plan = MutationPlan(
        knock_outs=(KNOCKED,), answers=(return_value_mutant("other", 1), return_value_mutant("other", 2))
    )
    bite, _ = run_plan(plan, {"panic": TESTS, "other+other": (), "other": TESTS})
    assert bite.indifferent == ()


def test_test_that_does_not_run_the_code_is_not_considered() -> None:
    bite, asked = run_plan(BOTH, {"panic": TESTS[:1], "other": TESTS[:1]})
    assert bite.indifferent == ()
    assert asked.count("other") == 1


def test_mutant_that_cannot_be_built_is_not_judged() -> None:
    bite, _ = run_plan(BOTH, {"panic": TESTS, "other": ("build",), "nothing": ("build",)})
    assert bite.indifferent == ()
    assert bite.answers is False


def test_mutants_of_one_story_on_the_whole_suite() -> None:
    mutant = replace(KNOCKED, id="m", kind="mutant")

    def judge(story: RunReport, suite: RunReport) -> MutantResult:
        def run(asked: RunRequest, edits: Mapping[str, tuple[Edit, ...]], _: float | None) -> RunReport:
            return report(()) if not edits else story if asked.paths else suite

        request = MutationRequest("t", TESTS[:1], MutationPlan(mutants=(mutant,)), 8, ways=False)
        mutation_run = MutationRun(run, request)
        mutation_run.do()
        return mutation_run.result.mutants[0]

    assert judge(report(TESTS[:1]), report(())).outcome == "killed"
    elsewhere = judge(report(()), report(TESTS[1:]))
    assert (elsewhere.outcome, elsewhere.elsewhere) == ("survived", TESTS[1])
    assert not judge(report(()), report(())).elsewhere
    stopped = Failure(kind=FailureKind.IMPORT, stage="collect", path="a_test.go")
    unloaded = report(()).model_copy(update={"results": (), "collect_errors": (stopped,), "exit_status": 1})
    assert judge(unloaded, unloaded).outcome == "not_judged"


def test_exempt_function_is_not_judged() -> None:
    excused = Fault(
        "k", "knock_out", "a.go", 1, (1, 1), "E.Error", "panics", (0, 0, "panic"), (0, 0, 1), exemption="why"
    )
    bite, _ = run_plan(MutationPlan(knock_outs=(excused,)), {})
    assert bite.knock_outs == (
        MutantResult(id="k", path="a.go", line=1, function="E.Error", change="panics", outcome="not_judged", why="why"),
    )


def test_code_that_behaves_differently_in_release_builds() -> None:
    plan = MutationPlan(knock_outs=(KNOCKED,), released=(("Cargo.toml", (0, 0, "release")),))
    bite, _ = run_plan(plan, {"panic": TESTS, "release": TESTS[:1]})
    (way,) = bite.ways
    assert (way.name, way.outcome, way.tests) == ("released", "failed", TESTS[:1])
