"""Examples extracted from tests in any notation, and their use."""

from __future__ import annotations

from textwrap import dedent

import pytest

from prd2pr.domain.evidence import RunReport, TestResult
from prd2pr.languages.python.examples import find_examples
from prd2pr.languages.python.rules.source_code.lookup_tables import check_lookup_tables
from prd2pr.languages.python.rules.test_code.contradictions import check_conflicting_tests, check_repeated_failures

PATH = "tests/test_a.py"
SHOP = frozenset({"shop"})


def extract_examples(text: str) -> list[tuple[str, str]]:
    return [(each.call, each.expected) for each in find_examples(PATH, dedent(text))]


@pytest.mark.parametrize(
    "test",
    [
        "from shop import tax\ndef test_a():\n    assert tax(100) == 119",
        "import shop as s\ndef test_a():\n    assert 119 == s.tax(100)",
        "from shop import tax as t\ndef test_a():\n    net = 100\n    gross = t(net)\n    assert gross == 119",
        (
            "from shop import tax\nGROSS = 119\ndef of(net):\n    return tax(net)\n"
            "def test_a():\n    assert of(100) == GROSS"
        ),
        (
            "from shop import tax\ndef check(net, gross):\n    assert tax(net) == gross\n"
            "def test_a():\n    check(100, gross=119)"
        ),
        (
            "import pytest\nfrom shop import tax\n@pytest.mark.parametrize('net, gross', [(100, 119)])\n"
            "def test_a(net, gross):\n    assert tax(net) == gross"
        ),
        (
            "import unittest\nfrom shop import tax\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        self.assertEqual(tax(100), 119)"
        ),
    ],
)
def test_one_example_in_many_notations(test: str) -> None:
    assert extract_examples(test) == [("shop.tax(100)", "119")]


def disagreeing(*tests: str) -> list[str]:
    texts = {f"tests/test_{number}.py": dedent(text) for number, text in enumerate(tests)}
    fresh = [f"{path}::test_a" for path in texts]
    return [fact.test for fact in check_conflicting_tests(texts, fresh, SHOP)]


FIRST = "from shop import tax\ndef test_a():\n    assert tax(100) == 119\n"


def test_conflicting_tests_are_reported() -> None:
    assert disagreeing(FIRST, FIRST.replace("119", "107")) == ["tests/test_0.py::test_a"]


@pytest.mark.parametrize(
    "other",
    [
        FIRST.replace("119", "119.0"),
        FIRST.replace("test_a()", "test_a(dear)").replace("119", "107"),
        "from shop import tax\ndef test_a():\n    assert tax(1) == 1\n    assert tax(100) == 107\n",
        "import shop\nshop.RATE = 7\nfrom shop import tax\ndef test_a():\n    assert tax(100) == 107\n",
        "from other import tax\ndef test_a():\n    assert tax(100) == 107\n",
    ],
)
def test_calls_that_may_differ_do_not_contradict(other: str) -> None:
    assert disagreeing(FIRST, other) == []


def test_a_repeated_old_failure_is_reported() -> None:
    base = RunReport(
        code_tree="t", command=(), tools={}, results=(TestResult(id="tests/test_0.py::test_a", outcome="failed"),)
    )
    again = FIRST.replace("tax(100) == 119", "119 == tax(100)").replace("test_a", "test_b")
    more = again + "    assert tax(1) == 2\n"
    for text, known in ((again, ["RED502"]), (more, [])):
        facts = check_repeated_failures(
            {"tests/test_0.py": FIRST}, {"tests/test_1.py": text}, base, ["tests/test_1.py::test_b"]
        )
        assert [fact.code for fact in facts] == known


TESTS = {
    PATH: dedent(
        """
        from shop import kelvin, place, slug, total

        def test_kelvin():
            assert kelvin(0) == 273
            assert kelvin(37) == 310
            assert kelvin(-40) == 233

        def test_place():
            assert place(1) == 25
            assert place(2) == 18
            assert place(3) == 15

        def test_slug():
            assert slug("Hello World") == "hello-world"
            assert slug("A  B C D") == "a-b-c-d"

        def test_total():
            assert total([1, 2, 3]) == 6
        """
    )
}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def kelvin(c):\n    return {0: 273, 37: 310, -40: 233}[c]", 1),
        ("def kelvin(c):\n    if c == 0: return 273\n    return 310 if c == 37 else 233 if c == -40 else 0", 1),
        ("def kelvin(c):\n    match c:\n     case 0: return 273\n     case 37: return 310\n     case _: return 233", 1),
        ("def kelvin(c):\n    return c + 273", 0),
        ("def kelvin(c):\n    return {0: 273, 37: 310, -40: 233, 5: 278, 9: 282}[c]", 0),
        ("def place(n):\n    return {1: 25, 2: 18, 3: 15}.get(n, 0)", 0),
        ("def slug(text):\n    return 'hello-world' if text[0] == 'H' else 'a-b-c-d'", 1),
        ("def slug(text):\n    return '-'.join(text.lower().split())", 0),
        ("def total(items):\n    if items == [1, 2, 3]:\n        return 6\n    return 0", 1),
        ("def total(items):\n    return sum(items)", 0),
    ],
)  # fmt: skip
def test_a_table_of_examples_is_distinguished_from_a_list_of_names(source: str, found: int) -> None:
    assert [each.code for each in check_lookup_tables("", source, TESTS)] == ["GRN416"] * found


def test_recursive_helpers_and_doubling_values_are_limited():
    doubling = "\n".join("    total = total + total" for _ in range(200))
    text = (
        "from shop import add\n\n\ndef again(n):\n    return n if n == 0 else again(n - 1)\n\n\n"
        f"def test_a():\n    total = add(1, 1)\n{doubling}\n"
        "    assert add(again(3), total) == 3\n    assert add(1, 2) == 3\n"
    )
    assert [(each.call, each.expected) for each in find_examples("tests/test_a.py", text)] == [("shop.add(1, 2)", "3")]


def test_parameters_may_be_given_by_name() -> None:
    text = """
        import pytest
        from shop import tax

        @pytest.mark.parametrize(argnames=("net", "gross"), argvalues=[(100, 119), (200, 238)])
        def test_a(net, gross):
            assert tax(net) == gross

        @pytest.mark.parametrize(ids=str)
        def test_b():
            assert tax(1) == 2
    """
    assert extract_examples(text) == [("shop.tax(100)", "119"), ("shop.tax(200)", "238"), ("shop.tax(1)", "2")]
