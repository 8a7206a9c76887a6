"""Any command that writes JUnit XML or TAP: real output that was recorded, and real runs in the sandbox."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from prd2pr.core.other.any_runner import BETWEEN, read_junit, read_tap
from prd2pr.core.other.runner import Ground, Program, Said
from prd2pr.core.stacks.stack import Stack
from prd2pr.ports import RunRequest
from prd2pr.repo.git import Git
from prd2pr.runners.dependencies import Dependencies
from prd2pr.runners.other_runner import OtherRunner
from stacks.node_world import BASE

RECORDED = Path(__file__).with_name("recorded")
JAVA = "src/test/java/shop/PointsTest.java"


def ground(stack: Stack, *files: str) -> Ground:
    return Ground(stack, "/checkout", "/secret", "/ours", "/scratch", dict.fromkeys(files, ""))


def said(text: str, *files: str, status: int | None = 1) -> Said:
    return Said(Program(("run",), files=files), text, "", status=status)


def test_surefire_results_are_read_by_class() -> None:
    """As Maven's surefire 3.2.5 wrote it for JUnit 5, with the properties of the machine taken out."""
    text = (RECORDED / "surefire-3.2.5.xml").read_text(encoding="utf-8")
    other = "src/test/java/shop/CartTest.java"
    seen = read_junit(said(text, JAVA, other), ground(Stack("any", "junit"), JAVA, other))
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
    seen = read_junit(said(f"{one}{BETWEEN}{one.replace('A', 'B')}", "A.java"), ground(Stack("any", "junit")))
    assert [each.titles for each in seen.ended] == [("A", "x"), ("B", "x")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no result file was written"),
        ("<testsuite>", "cannot be read"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', "entities"),
    ],
)
def test_results_that_cannot_be_believed_are_told(text: str, why: str) -> None:
    (problem,) = read_junit(said(text, "A.java"), ground(Stack("any", "junit"))).problems
    assert why in problem


def test_tap_of_node_is_read_with_its_subtests() -> None:
    """As node 20 wrote it, with another name for its directory."""
    text = (RECORDED / "node-20.tap").read_text(encoding="utf-8")
    seen = read_tap(said(text, "t/a.test.js"), ground(Stack("any", "tap"), "t/a.test.js"))
    outcomes = {" > ".join(each.titles): each.outcome for each in seen.ended}
    assert outcomes["outer > ok"] == "passed"
    assert outcomes["outer > in"] == "failed"
    assert outcomes["outer > skipped"] == outcomes["outer > later"] == "skipped"
    assert not seen.problems


def test_tap_that_ends_early_is_not_believed() -> None:
    assert read_tap(said("1..3\nok 1 - a\nok 2 - b\n", "t.js"), ground(Stack("any", "tap"))).problems
    assert read_tap(said("ok 1 - a\n", "t.js"), ground(Stack("any", "tap"))).problems
    assert read_tap(said("1..1\nBail out!\n", "t.js"), ground(Stack("any", "tap"))).problems


@pytest.mark.skipif(shutil.which("node") is None, reason="NOT TESTED: node is not installed")
@pytest.mark.parametrize(
    ("runner", "command"),
    [
        ("tap", ("node", "--test-reporter=tap", "{file}")),
        ("junit", ("node", "--test-reporter=junit", "--test-reporter-destination={results}", "{file}")),
    ],
)
def test_a_command_is_run_in_the_sandbox(runner: str, command: tuple[str, ...], tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    failing = BASE["tests/money.test.js"].replace("150", "151").replace("in cents", "in other cents")
    with Git.open(tmp_path / "repo") as git:
        files = {**BASE, "tests/wrong.test.js": failing}
        tree = git.edit_tree(git.empty_tree, {path: text.encode() for path, text in files.items()})
        stack = Stack("any", runner, command=command)
        report = OtherRunner(git.export, stack, Dependencies(tmp_path / "installed")).run(RunRequest(tree))
    assert report.problems == ()
    outcomes = {result.id.partition("::")[0]: result.outcome for result in report.results}
    assert outcomes == {"tests/money.test.js": "passed", "tests/wrong.test.js": "failed"}
