"""Java with its build tool: recorded and real javac output, and what runs if a file cannot be built."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from prd2pr.cli.context import find_stacks, read_config
from prd2pr.cli.doctor.stack_checks import run_unconfigured_checks
from prd2pr.config import TestRun, list_configured_stacks
from prd2pr.config_file import load_config
from prd2pr.domain.evidence import FailureKind
from prd2pr.domain.paths import get_story_test_root, promote
from prd2pr.domain.stack import Stack
from prd2pr.errors import SetupProblem
from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.java.build_errors import classify_failure, read_build_errors
from prd2pr.languages.java.declared_tests import read_tests
from prd2pr.languages.project.dependencies import Dependencies
from prd2pr.languages.project.detection import detect_java_builds, format_stack_setting
from prd2pr.languages.runner import LanguageRunner
from prd2pr.languages.runner_kinds import RunnerContext
from prd2pr.languages.test_runner import RunRequest
from prd2pr.state.git import Git

RECORDED = Path(__file__).with_name("recorded")
PATH = "src/test/java/shop/tdd_calc_1_EarnTest.java"
TEXT = """package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import shop.points.Points;

class EarnTest {
    // calc-1.c1: full tens
    @Test
    void fullTens() {
        assertEquals(2, Points.earn(25));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void each(int euros) {
        assertEquals("}", Points.name(euros));
    }
    /* @Test
    void gone() {} */
}
"""


def test_missing_names_are_distinguished_from_broken_builds() -> None:
    """Recorded from javac 17 with JUnit missing too: missing third-party names come first."""
    found = read_build_errors((RECORDED / "javac-17.txt").read_text(), PATH, TEXT)
    assert [each.name for each in found[:3]] == ["import", "import", "undefined"]
    assert {each.code for each in found if each.name == "undefined"} == {
        "shop.points.Points",
        "org.junit.jupiter.api.Test",
        "shop.Money.tens",
        "shop.Money.rounded",
        "expected",
        "shop.Cart",
    }


def test_maven_reports_errors_twice_in_its_own_format() -> None:
    below = "  symbol:   method earn(int)\n  location: class shop.Points\n"
    error = f"[ERROR] /checkout/{PATH}:[9,31] cannot find symbol\n{below}"
    (found,) = read_build_errors(f"[ERROR] COMPILATION ERROR : \n{error}[INFO] 1 error\n{error}", PATH, TEXT)
    ground = RunnerContext(Stack("java", "surefire"), "/checkout", "/s", "/o", "/t", {})
    failure = classify_failure(found, "collect", PATH, ParsedTestFile(), ground)
    assert (failure.kind, failure.missing, failure.line) == (FailureKind.MISSING_SYMBOL, "shop.Points.earn", 9)


def test_real_maven_output_for_a_missing_method() -> None:
    """Maven 3.8.7 with the compiler plugin 3.13.0, offline."""
    said = (RECORDED / "maven-3.8.7.txt").read_text(encoding="utf-8")
    path = "src/test/java/shop/EarnTest.java"
    found = read_build_errors(said, path, "package shop;\n")
    ground = RunnerContext(Stack("java", "surefire"), "/checkout", "/s", "/o", "/t", {})
    failures = [classify_failure(each, "collect", path, ParsedTestFile(), ground) for each in found]
    assert {(each.kind, each.missing) for each in failures} == {(FailureKind.MISSING_SYMBOL, "shop.Points.earn")}
    assert [each.line for each in failures] == [10, 11]


def test_calls_in_a_test_are_not_parsed_and_not_reported() -> None:
    """A missing method is RED also for human commits, which have no design."""
    assert read_tests(PATH, TEXT).called is None


def test_tests_are_declared_by_class_and_method() -> None:
    plain, several = read_tests(PATH, TEXT).tests
    assert (plain.id, several.id) == (f"{PATH}::EarnTest > fullTens", f"{PATH}::EarnTest > each")
    assert "calc-1.c1" in plain.described
    assert "Points.earn(25)" in plain.body and "Points.name" not in plain.body
    assert several.pattern


def test_story_tests_are_known_by_file_name() -> None:
    assert get_story_test_root(PATH, "calc-1") == "src/test/java/shop/tdd_calc_1_"
    assert promote(PATH, "calc-1") == "src/test/java/shop/calc_1_EarnTest.java"


def test_build_tool_is_detected_and_its_suggested_setting_works() -> None:
    paths = ["service/pom.xml", "service/core/pom.xml", "web/build.gradle.kts", "docs/pom.xml"]
    maven, gradle = detect_java_builds(paths)
    assert (maven.root, gradle.root) == ("service", "web")
    (found,) = list_configured_stacks(load_config(format_stack_setting(maven)))
    assert (found.language, found.runner, found.root) == ("java", "surefire", "service")
    assert (found.command, found.results) == (maven.command, maven.results)


def test_java_project_is_not_treated_as_python(tmp_path: Path) -> None:
    git, head = repository(tmp_path, {"pom.xml": "<project/>", "src/main/java/shop/Money.java": "class Money {}"})
    with pytest.raises(SetupProblem) as problem:
        find_stacks(git, read_config(git, head), head)
    assert "maven" in problem.value.what
    assert "runner: surefire" in problem.value.remedy
    subprocess.run(["git", "-C", str(tmp_path), "update-ref", "refs/heads/main", head], check=True)
    (check,) = run_unconfigured_checks(git, read_config(git, head))
    assert (check.mark, "runner: surefire" in check.remedy) == ("warning", True)


# --- a real run with the real javac ----------------------------------------------------------------------------------

# Replaces Maven, which would have to fetch its plugins: compiles everything, runs every `@Test`, and writes results in
# the format of surefire.
BUILD = """set -e
mkdir -p out target/surefire-reports
javac -d out $(find src build -name '*.java')
java -cp out Runner $(cd src/test/java && grep -l '@Test' -r . | xargs sed -n 's/^class \\([A-Za-z]*\\).*/shop.\\1/p')
"""
RUNNER = """import java.io.*;
public class Runner {
  public static void main(String[] names) throws Exception {
    boolean failed = false;
    for (String name : names) {
      Class<?> of = Class.forName(name);
      try (PrintWriter out = new PrintWriter("target/surefire-reports/TEST-" + name + ".xml")) {
        out.println("<testsuite>");
        for (var test : of.getDeclaredMethods()) {
          if (!test.isAnnotationPresent(shop.Test.class)) continue;
          out.print("<testcase classname='" + name + "' name='" + test.getName() + "'>");
          var made = of.getDeclaredConstructor();
          made.setAccessible(true);
          test.setAccessible(true);
          try { test.invoke(made.newInstance()); }
          catch (java.lang.reflect.InvocationTargetException wrong) {
            failed = true;
            out.print("<failure type='AssertionError' message='" + wrong.getCause().getMessage() + "'/>");
          }
          out.println("</testcase>");
        }
        out.println("</testsuite>");
      }
    }
    if (failed) System.exit(1);
  }
}
"""
TEST = """package shop;

class {name} {{
    @Test
    void {method}() {{
        if ({found} != 2) throw new AssertionError("no");
    }}
}}
"""
MARK = """package shop;

@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
public @interface Test {}
"""
FILES = {
    "build.sh": BUILD,
    "build/Runner.java": RUNNER,
    "src/main/java/shop/Money.java": "package shop;\npublic class Money { public static int two() { return 2; } }\n",
    "src/main/java/shop/Test.java": MARK,
    "src/test/java/shop/MoneyTest.java": TEST.format(name="MoneyTest", method="two", found="Money.two()"),
    "src/test/java/shop/LostTest.java": TEST.format(name="LostTest", method="three", found="1 + Money.two()"),
    PATH: TEST.format(name="EarnTest", method="earns", found="Points.earn(25)"),
    "src/test/java/shop/TypoTest.java": TEST.format(name="TypoTest", method="typo", found='"a" - Money.two()'),
}


def repository(place: Path, files: dict[str, str]) -> tuple[Git, str]:
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    git = Git.open(place)
    tree = git.edit_tree(git.empty_tree, {path: text.encode() for path, text in files.items()})
    return git, git.commit(tree, [], "A project")


@pytest.mark.skipif(shutil.which("javac") is None, reason="NOT TESTED: javac is not installed")
def test_classes_that_compile_are_run(tmp_path: Path) -> None:
    git, head = repository(tmp_path, FILES)
    stack = Stack("java", "surefire", command=("sh", "build.sh"), results="target/surefire-reports/*.xml")
    report = LanguageRunner(git.export, stack, Dependencies(tmp_path / "kept"), TestRun()).run(
        RunRequest(git.tree(head))
    )
    assert report.honest, report.problems
    told = {
        each.id.rpartition("/")[2]: (each.outcome, each.failure.kind.value if each.failure else "")
        for each in report.results
    }
    assert told == {
        "MoneyTest.java::MoneyTest > two": ("passed", ""),
        "LostTest.java::LostTest > three": ("failed", "assertion"),
        "tdd_calc_1_EarnTest.java::EarnTest > earns": ("error", "missing_symbol"),
        "TypoTest.java::TypoTest > typo": ("error", "collection"),
    }
