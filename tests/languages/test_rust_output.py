"""Parsing of recorded output from Rust's compiler and test programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prd2pr.domain.evidence import FailureKind
from prd2pr.domain.stack import Stack
from prd2pr.languages.base import ParsedTestFile, SourceContext
from prd2pr.languages.runner_kinds import ProgramOutput, ProgramResults, RunnerContext, RunnerProgram
from prd2pr.languages.rust import LANGUAGE as RUST
from prd2pr.languages.rust.build_errors import read_build_errors
from prd2pr.languages.rust.failures import classify_failure, parse_failure_output
from prd2pr.languages.rust.manifest import check_manifest
from prd2pr.languages.rust.runner import CARGO

RECORDED = Path(__file__).with_name("recorded")
TEST = """use shop::points::{self, Cart};
#[test]
fn old() { assert_eq!(points::earn(1000), 11, "ten euros"); }
fn said() {
    assert!(points::earn(1) > 3, "ten euros");
}
#[test]
fn res() -> Result<(), String> {
    points::parse("x")?;
    Ok(())
}
fn explicit() {
    panic!("not today");
}
"""
GROUND = RunnerContext(
    stack=Stack("rust", "cargo test"),
    checkout="/checkout",
    secret="/secret",
    ours="/ours",
    scratch="/scratch",
    python="/python",
    texts={"tests/old.rs": TEST},
)
KINDS = {
    "old": (FailureKind.ASSERTION, "tests/old.rs", 3),
    "said": (
        FailureKind.ASSERTION,
        "tests/old.rs",
        5,
    ),  # classified by the macro on that line, since the message is custom
    "todo": (FailureKind.NOT_IMPLEMENTED, "src/points.rs", 9),
    "res": (FailureKind.EXCEPTION, "tests/old.rs", 9),
    "explicit": (FailureKind.EXPLICIT, "tests/old.rs", 13),
    "panics": (FailureKind.ASSERTION, "tests/old.rs", 0),
}


def test_failures_are_classified() -> None:
    for each in json.loads((RECORDED / "cargo-failures.json").read_text()):
        thrown = parse_failure_output(f"{each['stdout']}\n{each.get('message', '')}", "tests/old.rs", GROUND)
        failure = classify_failure(thrown, "call", "tests/old.rs", ParsedTestFile(), GROUND)
        assert (failure.kind, failure.path, failure.line) == KINDS[each["name"]], each["name"]


@pytest.mark.parametrize(
    ("code", "message", "label", "kind", "missing"),
    [
        ("E0432", "unresolved import `shop::points::redeem`", "no `redeem` in `points`", "undefined",
         "shop.points.redeem"),
        ("E0432", "unresolved import `serde`", "use of unresolved module or unlinked crate `serde`", "import", ""),
        ("E0433", "cannot find `wallet` in `shop`", "could not find `wallet` in `shop`", "undefined", "shop.wallet"),
        ("E0425", "cannot find function `redeem` in module `points`", "not found in `points`", "undefined",
         "shop.points.redeem"),
        ("E0425", "cannot find function `redeem` in this scope", "not found in this scope", "build", ""),
        ("E0599", "no method named `add` found for struct `Cart` in the current scope", "", "undefined",
         "shop.points.Cart.add"),
        ("E0599", "no method named `is_some` found for type `i64` in the current scope", "", "build", ""),
        ("E0560", "struct `Cart` has no field named `name`", "", "undefined", "shop.points.Cart.name"),
        ("E0061", "this function takes 1 argument but 2 arguments were supplied", "", "TypeError", ""),
        ("E0308", "mismatched types", "", "build", ""),
        ("E0382", "borrow of moved value: `text`", "", "build", ""),
    ],
)  # fmt: skip
def test_build_errors_are_classified(code: str, message: str, label: str, kind: str, missing: str) -> None:
    error = {"code": code, "message": message, "label": label, "path": "tests/old.rs", "line": 3, "word": "earn"}
    (thrown,) = read_build_errors([error], "tests/old.rs", TEST, frozenset({"shop"}))
    assert (thrown.name, thrown.code) == (kind, missing)


def test_broken_build_stays_broken_despite_missing_names() -> None:
    errors = [
        {"code": "E0432", "message": "unresolved import `shop::points::redeem`", "path": "tests/old.rs", "line": 1},
        {"code": "E0308", "message": "mismatched types", "path": "tests/old.rs", "line": 3},
        {"code": "E0282", "message": "type annotations needed", "path": "tests/old.rs", "line": 4},
    ]
    found = read_build_errors(errors, "tests/old.rs", TEST, frozenset({"shop"}))
    assert [each.name for each in found] == ["build", "undefined"], "what follows from the missing name is left out"


OK = """{ "type": "suite", "event": "started" }
{ "type": "test", "event": "started", "name": "old" }
{ "type": "test", "name": "old", "event": "ok" }
{ "type": "suite", "event": "ok" }
"""
FAILED = OK.replace('"old", "event": "ok"', '"old", "event": "failed", "stdout": "x"').replace(
    '"suite", "event": "ok"', '"suite", "event": "failed"'
)
FORGED = '{ "type": "test", "name": "old", "event": "ok" }\n'


def parse_runs(*runs: tuple[str, int, str]) -> ProgramResults:
    facts: list[dict[str, object]] = [
        {"event": "ran", "source": "tests/old.rs", "part": part, "names": ["old"], "status": status,
         "output": output, "hung": False} for output, status, part in runs
    ]  # fmt: skip
    facts += [{"event": "finished", "source": "tests/old.rs", "places": {"old": ["tests/old.rs", "old"]}}]
    told = "".join(f"SECRET {json.dumps(fact)}\n" for fact in [*facts, {"event": "end"}])
    return CARGO.read(ProgramOutput(RunnerProgram(("x",), files=("tests/old.rs",)), told, "SECRET", status=0), GROUND)


@pytest.mark.parametrize(
    ("runs", "problem"),
    [
        ([(OK, 0, "first"), (OK, 0, "again")], ""),
        ([(FAILED, 101, "first")], ""),
        ([(FAILED, 0, "first")], "status 0"),
        ([(OK, 0, "first"), (OK, 101, "again")], "status 101"),
        ([(OK, 0, "first"), ("", 0, "again")], "result for old"),
        ([(FORGED + FAILED, 101, "first")], "old more than once"),
        ([(OK.rpartition("{")[0], 0, "first")], "status 0"),
        ([("", 0, "first")], "status 0"),
    ],
)
def test_contradictory_program_output_is_not_trusted(runs: list[tuple[str, int, str]], problem: str) -> None:
    told = parse_runs(*runs).problems
    assert bool(told) == bool(problem), told
    assert all(problem in each for each in told)


def test_tests_inside_source_files_are_locked() -> None:
    tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert_eq!(super::a(), 1);\n    }\n}\n"
    before = f"pub fn a() -> i64 {{\n    1\n}}\n\n{tests}"
    weaker = before.replace("assert_eq!(super::a(), 1)", "let _ = super::a()")
    assert [each.code for each in RUST.check_source("src/a.rs", before, weaker, SourceContext())] == ["GRN201"]
    other = before.replace("    1\n}\n\n", "    0 + 1\n}\n\n")
    assert not [*RUST.check_source("src/a.rs", before, other, SourceContext())]


def test_cargo_toml_may_only_gain_a_dependency() -> None:
    before = '[package]\nname = "shop"\nversion = "0.1.0"\n'
    assert not [*check_manifest("Cargo.toml", before, before + '\n[dependencies]\nserde = "1"\n')]
    for more in ("autotests = false\n", '\n[[test]]\nname = "x"\nharness = false\n', "\n[lib]\ntest = false\n"):
        assert [each.code for each in check_manifest("Cargo.toml", before, before + more)] == ["GRN101"]
