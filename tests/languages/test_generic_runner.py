"""Any command that writes JUnit XML or TAP: recorded real output, and real runs in the sandbox."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import get_args

import pytest

from languages.node_world import BASE
from prd2pr.config import LanguageName, RunnerName
from prd2pr.domain.evidence import RunReport
from prd2pr.domain.stack import Stack
from prd2pr.languages.generic.runner import FILE_SEPARATOR, read_junit_results, read_tap_results
from prd2pr.languages.project.dependencies import Dependencies
from prd2pr.languages.registry import get_language, get_runner_kind
from prd2pr.languages.runner import LanguageRunner
from prd2pr.languages.runner_kinds import ProgramOutput, RunnerContext, RunnerProgram
from prd2pr.languages.test_runner import RunRequest
from prd2pr.state.git import Git

RECORDED = Path(__file__).with_name("recorded")
JAVA = "src/test/java/shop/PointsTest.java"


TAP = Stack("any", "tap", command=("sh", "{file}"))
JUNIT = Stack("any", "junit", command=("run", "{results}"))
GOOD, BAD = '<testcase name="a" file="t/a.sh"/>', '<testcase name="b" file="t/a.sh"><failure/></testcase>'


def test_every_configured_name_is_found_and_no_other() -> None:
    assert {get_language(name).name for name in get_args(LanguageName)} == {"javascript", "go", "rust", "java", "any"}
    kinds = [name for name in get_args(RunnerName) if name != "pytest"]
    assert [get_runner_kind(name).name for name in kinds] == kinds
    with pytest.raises(ValueError, match="no language named 'cobol'"):
        get_language("cobol")
    with pytest.raises(ValueError, match="no test runner named 'pytest'"):
        get_runner_kind("pytest")


def context(stack: Stack, *files: str) -> RunnerContext:
    return RunnerContext(stack, "/checkout", "/secret", "/ours", "/scratch", dict.fromkeys(files, ""))


def output(text: str, *files: str, status: int | None = 1) -> ProgramOutput:
    return ProgramOutput(RunnerProgram(("run",), files=files), text, "", status=status)


def test_surefire_results_are_read_by_class() -> None:
    """Recorded from Maven's surefire 3.2.5 with JUnit 5, without the machine's properties."""
    text = (RECORDED / "surefire-3.2.5.xml").read_text(encoding="utf-8")
    other = "src/test/java/shop/CartTest.java"
    seen = read_junit_results(output(text, JAVA, other), context(Stack("any", "junit"), JAVA, other))
    assert {(each.path, each.titles, each.outcome) for each in seen.ended} == {
        (JAVA, ("PointsTest", "fullTensEarnAPointEach"), "passed"),
        (JAVA, ("PointsTest", "lessThanTenEarnsOne"), "failed"),
        (JAVA, ("PointsTest", "breaks"), "failed"),
        (JAVA, ("PointsTest", "later"), "skipped"),
    }
    thrown = {each.titles[-1]: each.thrown for each in seen.ended if each.thrown}
    assert thrown["lessThanTenEarnsOne"].is_assertion
    assert not thrown["breaks"].is_assertion
    assert thrown["breaks"].name == "IllegalStateException"
    assert seen.finished == {JAVA, other}


def test_several_result_files_are_one_run() -> None:
    one = '<testsuite><testcase classname="A" name="x"/></testsuite>'
    seen = read_junit_results(
        output(f"{one}{FILE_SEPARATOR}{one.replace('A', 'B')}", "A.java"), context(Stack("any", "junit"))
    )
    assert [each.titles for each in seen.ended] == [("A", "x"), ("B", "x")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no result file was written"),
        ("<testsuite>", "cannot be read"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', "entities"),
    ],
)
def test_implausible_results_are_reported(text: str, why: str) -> None:
    (problem,) = read_junit_results(output(text, "A.java"), context(Stack("any", "junit"))).problems
    assert why in problem


def test_tap_of_node_is_read_with_its_subtests() -> None:
    """Recorded from node 20, with another directory name."""
    text = (RECORDED / "node-20.tap").read_text(encoding="utf-8")
    seen = read_tap_results(output(text, "t/a.test.js"), context(TAP, "t/a.test.js"))
    outcomes = {" > ".join(each.titles): each.outcome for each in seen.ended}
    assert outcomes["outer > ok"] == "passed"
    assert outcomes["outer > in"] == "failed"
    assert outcomes["outer > skipped"] == outcomes["outer > later"] == "skipped"
    assert not seen.problems


def test_tap_that_ends_early_is_not_trusted() -> None:
    assert read_tap_results(output("1..3\nok 1 - a\nok 2 - b\n", "t.js"), context(Stack("any", "tap"))).problems
    assert read_tap_results(output("ok 1 - a\n", "t.js"), context(Stack("any", "tap"))).problems
    assert read_tap_results(output("1..1\nBail out!\n", "t.js"), context(Stack("any", "tap"))).problems


@pytest.mark.parametrize(
    ("text", "status", "why"),
    [
        ("1..1\nok 1 - a\n", 0, ""),
        ("1..1\nok 1 - a\n", 7, "ended with status 7"),
        ("1..1\nok 1 - a\n", -9, "ended with status -9"),
        ("1..2\nok 1 - a\nnot ok 2 - b\n", 1, ""),
        ("1..2\nok 1 - a\nnot ok 2 - b\n", 0, ""),  # a plain script: only its lines count
        ("1..1\nnot ok 1 - a # TODO later\n", 0, ""),
    ],
)
def test_tap_and_the_exit_status_must_agree_as_in_prove(text: str, status: int, why: str) -> None:
    problems = read_tap_results(output(text, "t/a.sh", status=status), context(TAP, "t/a.sh")).problems
    assert [why in each for each in problems] == ([True] if why else [])


@pytest.mark.parametrize(
    ("cases", "status", "why"),
    [
        (GOOD, 0, ""),
        (GOOD, 3, "ended with status 3"),
        (GOOD + BAD, 1, ""),
        (GOOD + BAD, 0, "status 0"),
    ],
)
def test_junit_and_the_exit_status_must_agree(cases: str, status: int, why: str) -> None:
    text = f"<testsuite>{cases}</testsuite>"
    problems = read_junit_results(
        output(text, "t/a.sh", "t/b.sh", status=status), context(JUNIT, "t/a.sh", "t/b.sh")
    ).problems
    assert [why in each for each in problems] == ([True] if why else [])


@pytest.mark.parametrize(
    "text",
    [
        '<testsuite><testcase name="a" file="./t/a.sh"/></testsuite>',
        '<testsuite><testcase name="a" file="/checkout/t/a.sh"/></testsuite>',
        '<testsuite file="t/a.sh"><testcase name="a"/></testsuite>',  # mocha-junit-reporter
        '<testsuite name="t/a.sh"><testcase classname="t/a.sh" name="a"/></testsuite>',  # vitest
        '<testsuite><testcase classname="t.a" name="a"/></testsuite>',  # by the class
    ],
)
def test_file_of_a_test_is_found_in_the_fields_runners_use(text: str) -> None:
    seen = read_junit_results(output(text, "t/a.sh", "t/b.sh", status=0), context(JUNIT, "t/a.sh", "t/b.sh"))
    assert [each.path for each in seen.ended] == ["t/a.sh"]
    assert not seen.problems


def test_tests_without_a_file_are_refused_with_a_remedy() -> None:
    """Also if one file was requested: a command that takes no file runs all of them."""
    text = '<testsuite><testcase classname="suite" name="a"/></testsuite>'
    for asked in (("t/a.sh",), ("t/a.sh", "t/b.sh")):
        (problem,) = read_junit_results(output(text, *asked, status=0), context(JUNIT, "t/a.sh", "t/b.sh")).problems
        assert "the attribute `file`" in problem
        assert "`{file}`" in problem
    tap = Stack("any", "tap", command=("make", "test"))
    (problem,) = read_tap_results(
        output("1..1\nok 1 - a\n", "t/a.sh", status=0), context(tap, "t/a.sh", "t/b.sh")
    ).problems
    assert "`{file}`" in problem


@pytest.mark.parametrize(
    ("kind", "text", "asserted"),
    [
        ("", "", True),
        ("testCodeFailure", "failureType: 'testCodeFailure',\n  cause: AssertionError [ERR_ASSERTION]: no", True),
        ("testCodeFailure", "failureType: 'testCodeFailure',\n  cause: TypeError: half is not a function", False),
        ("testCodeFailure", "failureType: 'testCodeFailure', cause: 'thrown'", False),
        ("PHPUnit\\Framework\\ExpectationFailedException", "", True),
        ("RSpec::Expectations::ExpectationNotMetError", "", True),
        ("Xunit.Sdk.EqualException", "", True),
        ("java.lang.IllegalStateException", "", False),
        ("TypeError", "", False),
    ],
)
def test_a_failure_is_an_assertion_unless_its_class_says_otherwise(kind: str, text: str, *, asserted: bool) -> None:
    case = f'<testsuite><testcase name="a" file="t/a.sh"><failure type="{kind}">{text}</failure></testcase></testsuite>'
    (ended,) = read_junit_results(output(case, "t/a.sh"), context(JUNIT, "t/a.sh")).ended
    assert ended.thrown is not None
    assert ended.thrown.is_assertion is asserted


def test_summary_line_of_prove_is_no_test() -> None:
    text = "tests/half.t .. \n1..1\nok 1 - half\nok\nAll tests successful.\nResult: PASS\n"
    seen = read_tap_results(output(text, "t/a.t", status=0), context(TAP, "t/a.t"))
    assert [each.titles for each in seen.ended] == [("half",)]
    assert not seen.problems
    assert read_tap_results(output("1..1\nok 1 - a\nok 2 - b\n", "t/a.t", status=0), context(TAP, "t/a.t")).problems


def run_stack(tmp_path: Path, stack: Stack, files: dict[str, str]) -> RunReport:
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    with Git.open(tmp_path / "repo") as git:
        tree = git.edit_tree(git.empty_tree, {path: text.encode() for path, text in files.items()})
        return LanguageRunner(git.export, stack, Dependencies(tmp_path / "installed")).run(RunRequest(tree))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stack", "noise"),
    [
        (TAP, "yes 'noise noise noise noise noise noise noise' | head -c 300000000\necho 1..1\necho 'ok 1 - a'\n"),
        (
            Stack("any", "junit", command=("sh", "{file}", "{results}")),
            "{ echo '<a>'; yes 'noise noise noise' | head -c 40000000; echo '</a>'; } > $1\n",
        ),
    ],
)
def test_endless_results_are_not_read(stack: Stack, noise: str, tmp_path: Path) -> None:
    begun = time.monotonic()
    report = run_stack(tmp_path, stack, {"tests/a.sh": noise})
    (problem,) = report.problems
    assert "tests/a.sh produced more than 32 MB" in problem and problem.endswith("reduce the output of its tests")
    assert time.monotonic() - begun < 60


@pytest.mark.skipif(shutil.which("node") is None, reason="NOT TESTED: node is not installed")
@pytest.mark.parametrize(
    ("runner", "command"),
    [
        ("tap", ("node", "--test-reporter=tap", "{file}")),
        ("junit", ("node", "--test-reporter=junit", "--test-reporter-destination={results}", "{file}")),
    ],
)
def test_a_command_is_run_in_the_sandbox(runner: str, command: tuple[str, ...], tmp_path: Path) -> None:
    failing = BASE["tests/money.test.js"].replace("150", "151").replace("in cents", "in other cents")
    report = run_stack(tmp_path, Stack("any", runner, command=command), {**BASE, "tests/wrong.test.js": failing})
    assert report.problems == ()
    outcomes = {result.id.partition("::")[0]: result.outcome for result in report.results}
    assert outcomes == {"tests/money.test.js": "passed", "tests/wrong.test.js": "failed"}
