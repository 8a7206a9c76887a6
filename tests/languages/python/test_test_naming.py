"""Which files belong to the tests, and what caused a test's failure."""

from __future__ import annotations

from textwrap import dedent

import pytest

from prd2pr.domain.evidence import Failure, FailureKind, RunReport, TestResult
from prd2pr.domain.paths import CONVENTIONS
from prd2pr.domain.records import Phase
from prd2pr.languages.python.rules.source_code.data_files import check_data_files
from prd2pr.languages.python.rules.source_code.doctests import check_doctests
from prd2pr.languages.python.rules.test_code.test_file import find_declared_tests
from prd2pr.languages.python.rules.test_code.unrelated_failures import check_unrelated_failures
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming, read_test_naming
from prd2pr.languages.python.testpaths import (
    add_test_patterns,
    add_testpaths,
    find_tests_outside_testpaths,
    read_testpaths,
)
from prd2pr.verification.oracle_files import find_oracle_files

SHOP = frozenset({"shop"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\ntestpaths = spec checks/"),
        ("setup.cfg", "[tool:pytest]\ntestpaths =\n    spec\n    ./checks\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["spec", "checks"]\n'),
        ("pyproject.toml", '[tool.pytest]\ntestpaths = ["spec", "checks"]\n'),
        ("pytest.toml", '[pytest]\ntestpaths = ["spec", "checks"]\n'),
    ],
)
def test_test_directories_configured_by_the_project(name: str, text: str) -> None:
    assert read_testpaths({name: text}) == ("spec", "checks")


def test_unreadable_settings_are_ignored() -> None:
    assert read_testpaths({"pyproject.toml": "[tool", "pytest.ini": "testpaths = x"}) == ()


@pytest.mark.parametrize("text", ["tool = 5", "[tool]\npytest = 5", f"a = {'[' * 5000}{']' * 5000}"])
def test_meaningless_settings_are_ignored(text: str) -> None:
    assert read_testpaths({"pyproject.toml": text}) == ()


def test_source_directory_is_no_test_directory() -> None:
    paths = ["spec/test_a.py", "spec/help.py", "shop/test_b.py", "shop/a.py", "shop/b.py"]
    assert add_testpaths(CONVENTIONS, ("spec", "shop", "."), paths).tests == ("spec",)
    many = ["packages/wire/src/wire/frames.py", "packages/wire/tests/test_a.py", "packages/wire/tests/test_b.py"]
    assert add_testpaths(CONVENTIONS, ("packages",), many).tests == ()
    beside = ["shop/__init__.py", "shop/cart.py", "shop/test_cart.py", "shop/test_tax.py"]
    assert add_testpaths(CONVENTIONS, ("shop",), beside).tests == ()


def test_files_that_plain_pytest_ignores() -> None:
    known = ["spec/test_a.py"]
    new = ["spec/test_b.py", "tests/tdd/story-1/test_c.py", "tests/test_d.py"]
    assert [fact.path for fact in find_tests_outside_testpaths(("spec",), new, known)] == ["tests/test_d.py"]
    assert list(find_tests_outside_testpaths(("other",), new, known)) == []


OWN = TestNaming(("*_spec.py", "tests.py"), ("it_*", "should"), ("Describe",))


def test_names_are_matched_as_by_pytest() -> None:
    read = read_test_naming({"python_files": "*_spec.py tests.py", "python_functions": ["it_*", "should"]})
    assert (read.files, read.functions, read.classes) == (OWN.files, OWN.functions, DEFAULT_NAMING.classes)
    assert read_test_naming({}) == DEFAULT_NAMING
    assert [OWN.is_module(path) for path in ("a/b_spec.py", "tests.py", "test_a.py", "my_tests.py")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert [OWN.is_function(name) for name in ("it_is", "shouldBe", "test_it", "its")] == [True, True, False, False]
    assert TestNaming(("tests/**/*.py",)).is_module("src/tests/unit/a.py")
    assert not TestNaming(("*.py",)).is_module("tests/conftest.py")


def test_tests_declared_with_custom_names() -> None:
    text = dedent("""
        import unittest
        def it_adds(): ...
        def test_adds(): ...
        class DescribeCart:
            def should_be_empty(self): ...
            def helper(self): ...
        class TestCart:
            def it_is_not_collected(self): ...
        class Cart(unittest.TestCase):
            def test_is_unittests(self): ...
            def it_is_not(self): ...
    """)
    names = ["it_adds", "DescribeCart::should_be_empty", "Cart::test_is_unittests"]
    assert find_declared_tests("shop/cart_spec.py", text, OWN) == tuple(f"shop/cart_spec.py::{name}" for name in names)
    assert find_declared_tests("shop/test_cart.py", text, OWN) == ()


def test_files_with_custom_names_are_tests_also_next_to_code() -> None:
    checks = TestNaming(("check_*.py", "*.py"), ("check",))
    held = {"shop/check_cart.py": "def check_total(): ...\n"}
    assert add_test_patterns(CONVENTIONS, checks, held).tests == ("**/check_*.py",)
    code = {**held, "shop/check_digits.py": "def digits(text): ...\n"}
    assert add_test_patterns(CONVENTIONS, checks, code).tests == ()
    assert add_test_patterns(CONVENTIONS, DEFAULT_NAMING, held) == CONVENTIONS


ORACLE = """
from pathlib import Path
from shop import bill

def test_a():
    assert bill(1) == Path("ref/bill.txt").read_text()
"""


@pytest.mark.parametrize(
    ("test", "source", "found"),
    [
        (ORACLE, "", ("ref/bill.txt",)),
        (ORACLE.replace("bill(1) ==", "'a' in"), "", ()),
        (ORACLE, "TEMPLATE = 'ref/bill.txt'", ()),
        (ORACLE.replace("bill.txt", "other.txt"), "", ()),
    ],
)
def test_expected_value_files(test: str, source: str, found: tuple[str, ...]) -> None:
    assert find_oracle_files(["ref/bill.txt"], {"tests/test_a.py": test}, [source], SHOP) == found


@pytest.mark.parametrize(
    ("new", "code", "found"),
    [
        ('{"guest": 20, "member": 10}', "", 0),
        ('{"rates": {"g": 20, "m": 10}}', "", 0),
        ('{"member": 10, "guest": 15}', "", 2),
        ('{"member": 10}', "GUEST = 20", 0),
        ("{", "", 0),
    ],
)
def test_changed_expected_values_change_behaviour(new: str, code: str, found: int) -> None:
    facts = check_data_files({"r.json": '{"member": 10, "guest": 20}'}, {"r.json": new}, [""], [code])
    assert len(list(facts)) == found


def stray(text: str, part: str, exception: str = "KeyError") -> bool:
    """Whether a failure in this part of the last line is the test's own fault."""
    text = dedent(text).strip()
    line = text.count("\n") + 1
    start = text.splitlines()[-1].index(part)
    failure = Failure(
        kind=FailureKind.EXCEPTION,
        stage="call",
        exception=exception,
        path="tests/test_a.py",
        line=line,
        span=(line, start, line, start + len(part)),
    )
    head = RunReport(
        code_tree="t", command=(), tools={}, results=(TestResult(id="t::a", outcome="failed", failure=failure),)
    )
    return bool(list(check_unrelated_failures({"tests/test_a.py": text}, head, ["t::a"], SHOP)))


HEAD = "import os\nfrom pathlib import Path\nfrom shop import tax\nEXPECTED = {1: 2}\nHERE = Path(__file__).parent\n"


def test_failure_in_the_test_itself() -> None:
    assert stray(HEAD + "def test_a():\n    assert tax(1) == EXPECTED[5]", "EXPECTED[5]")
    assert stray(HEAD + "def test_a():\n    assert tax(int(os.environ['X'])) == 5", "os.environ['X']")
    read = "(HERE / 'x').read_text()"
    assert stray(HEAD + f"def test_a():\n    assert tax(1) == {read}", read, "FileNotFoundError")


def test_failure_possibly_caused_by_the_subject() -> None:
    assert not stray(HEAD + "def test_a():\n    assert tax(1)['a'] == 5", "tax(1)['a']")
    assert not stray(HEAD + "def test_a():\n    assert [row['a'] for row in tax(1)] == 5", "row['a']")
    assert not stray(HEAD + "def test_a():\n    tax(1)\n    assert tax(int(os.environ['X'])) == 5", "os.environ['X']")
    assert not stray(HEAD + "def test_a(tmp):\n    assert tax(1) == tmp['x']", "tmp['x']")


DOCUMENTED = '''def add(a, b):
    """Add.

    >>> add(1, 2)
    3
    >>> add(0, -1)
    -1
    """
    return a + b
'''


@pytest.mark.parametrize(
    ("new", "found"),
    [
        (DOCUMENTED.replace("a + b", "b + a"), 0),
        (DOCUMENTED.replace("Add.", "Add two numbers."), 0),
        (DOCUMENTED.replace("\n    -1\n", "\n    0\n"), 1),
        (DOCUMENTED.replace("    >>> add(0, -1)\n    -1\n", ""), 1),
        ("", 0),
    ],
)
def test_doctest_examples_that_were_run(new: str, found: int) -> None:
    result = TestResult(id="grid.py::grid.add", outcome="passed")
    ran = RunReport(code_tree="t", command=(), tools={}, results=(result,))
    facts = list(check_doctests({"grid.py": DOCUMENTED}, {"grid.py": new}, ran, Phase.REFACTOR))
    assert [fact.code for fact in facts] == ["RFC204"] * found
    unrun = ran.model_copy(update={"results": ()})
    assert list(check_doctests({"grid.py": DOCUMENTED}, {"grid.py": new}, unrun, Phase.REFACTOR)) == []
