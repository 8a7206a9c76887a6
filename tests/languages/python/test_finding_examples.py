"""Check the examples of the findings: the rule reports the bad one, and no rule reports the good one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prd2pr.domain.records import Phase
from prd2pr.languages.python.rules.source_code.source_file import check_source_file
from prd2pr.languages.python.rules.test_code.test_file import FactContext, find_tests_by_criterion
from prd2pr.languages.python.rules.test_code.test_file import check_test_file as facts_of_test
from prd2pr.verification.findings import FINDINGS

SOURCE = Path(__file__).parents[3] / "src" / "prd2pr"
# Rules that compare files, trees or test results cannot be shown with a single file.
COMPARE_TREES = {
    "contradictions",
    "data_files",
    "doctests",
    "existing_helpers",
    "misspelt_imports",
    "unrelated_failures",
}
TOO_LONG_TO_SHOW = {"RED211", "GRN412"}  # a thousand terms
HEAD = (
    "import asyncio\nimport random\nimport sys\nimport threading\nfrom datetime import datetime\n"
    "from pathlib import Path\nimport pytest\nimport shop\n"
    "from shop import Cart, add, checkout, earn, fetch, main, order, poll, redeem, render, total\n\n"
)
# The changed file's previous content, for the rules that compare.
BEFORE = {
    "GRN413": "def check(actual, expected):\n    assert actual == expected\n",
    "RFC402": "def redeem(total, points):\n    return total - points * 2\n",
    "RFC405": "def price(amount, customer):\n    return amount\n",
    "RFC419": "def parse(text):\n    total = 0\n    for each in text:\n        total += int(each)\n    return total\n",
}
TESTS = {
    "tests/test_redeem.py": (
        "from shop import check, redeem\n\n"
        "def test_redeem():\n    assert redeem(137, 47) == 90\n"
        "    assert redeem(215, 31) == 184\n    check(redeem(7, 2), 5)\n"
    )
}


def found_by(pattern: str) -> list[str]:
    paths = (path for path in SOURCE.glob(pattern) if path.stem not in COMPARE_TREES)
    texts = (path.read_text(encoding="utf-8") for path in paths)
    codes = {code for text in texts for code in re.findall(r'"((?:RED|GRN|RFC)\d{3})"', text)}
    return sorted(codes - TOO_LONG_TO_SHOW)


def in_test(example: str) -> set[str]:
    context = FactContext(project_modules=frozenset({"shop"}), planned=("shop.earn", "shop.redeem"))
    path = "tests/conftest.py" if "def pytest_" in example else "tests/test_shop.py"
    return {fact.code for fact in facts_of_test(path, HEAD + example, context)}


def in_source(code: str, example: str) -> set[str]:
    phase = Phase.REFACTOR if code.startswith("RFC") else Phase.GREEN
    new, old = f"{example}\n", BEFORE.get(code)
    previous = {"src/shop.py": old} if old else {}
    context = FactContext(test_sources=TESTS, sources={"src/shop.py": new}, previous=previous)
    return {fact.code for fact in check_source_file("src/shop.py", old, new, context, phase)}


@pytest.mark.parametrize("code", found_by("languages/python/rules/test_code/*.py"))
def test_examples_of_tests(code: str) -> None:
    kind = FINDINGS[code]
    assert code in in_test(kind.bad)
    assert in_test(kind.good) == set()


@pytest.mark.parametrize("code", found_by("languages/python/rules/source_code/*.py"))
def test_examples_of_source(code: str) -> None:
    kind = FINDINGS[code]
    assert code in in_source(code, kind.bad)
    assert in_source(code, kind.good) == set()


def test_example_of_a_criterion() -> None:
    bad, good = (
        find_tests_by_criterion("tests/test_shop.py", text, ["loyalty-1.c2"])["loyalty-1.c2"]
        for text in (FINDINGS["RED210"].bad.partition("#")[0] + "\n    assert earn(9) == 1", FINDINGS["RED210"].good)
    )
    assert not bad
    assert good == ("tests/test_shop.py::test_earn_rounds_down",)


def test_good_examples_raise_no_finding_at_all() -> None:
    """Also for rules that need a run: an example must not be refused by another rule."""
    tests = [kind for kind in FINDINGS.values() if kind.code.startswith("RED") and kind.good.startswith("def test_")]
    assert len(tests) > 15
    assert {kind.code: in_test(kind.good) for kind in tests if in_test(kind.good)} == {}
