"""Facts about tests: each cheat is reported, and each honest look-alike is not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from prd2pr.languages.python.rules.test_code.test_file import FactContext, find_declared_tests, find_tests_by_criterion
from prd2pr.languages.python.rules.test_code.test_file import check_test_file as facts_of

WARNINGS = {"RED417", "RED418", "RED420", "RED506"}


def codes(source: str, path: str = "tests/test_shop.py", **context: object) -> set[str]:
    settings: dict[str, object] = {"project_modules": frozenset({"shop"}), **context}
    facts = facts_of(path, textwrap.dedent(source), FactContext(**settings))
    return {fact.code for fact in facts}


HEAD = "import pytest\nimport shop\nfrom shop import Cart, add, charge, checkout\n"

CASES = Path(__file__).with_name("rule_cases")


def cases(name: str) -> list[tuple[str, str]]:
    """Title and source of each case in a file; a case starts with `=== title`."""
    sections = (CASES / name).read_text(encoding="utf-8").split("=== ")[1:]
    return [(title, source) for title, _, source in (section.partition("\n") for section in sections)]


@pytest.mark.parametrize(
    ("code", "source"),
    [pytest.param(*title.split()[:1], source, id=title.split()[1]) for title, source in cases("cheats.txt")],
)
def test_a_cheat_is_reported(code: str, source: str) -> None:
    assert code in codes(HEAD + source)


@pytest.mark.parametrize("source", [pytest.param(source, id=title) for title, source in cases("honest.txt")])
def test_an_honest_look_alike_is_not_reported(source: str) -> None:
    assert codes(HEAD + source) - WARNINGS == set()


CONFTEST_CHEATS = dict(cases("conftests.txt"))


@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in CONFTEST_CHEATS.items()])
def test_a_conftest_that_changes_outcomes_is_reported(source: str) -> None:
    assert "RED107" in codes(source, path="tests/conftest.py")


def test_an_existing_hook_is_not_reported() -> None:
    old = CONFTEST_CHEATS["makereport"]
    new = f"{old}\n\n@pytest.fixture\ndef cart():\n    return 1\n"
    assert codes(new, path="tests/conftest.py", previous={"tests/conftest.py": old}) == set()
    assert "RED107" in codes(new, path="tests/conftest.py")


def test_a_conftest_with_fixtures_is_accepted() -> None:
    source = "import pytest\nfrom shop import Cart\n@pytest.fixture\ndef cart():\n    return Cart()\n"
    assert codes(source, path="tests/conftest.py") == set()


def test_an_autouse_fixture_that_replaces_the_planned_symbol_is_reported() -> None:
    source = """
        import pytest, shop
        @pytest.fixture(autouse=True)
        def easy(monkeypatch):
            monkeypatch.setattr(shop, "add", lambda a, b: 5)
    """
    assert "RED405" in codes(source, path="tests/conftest.py", planned=("shop.add",))
    assert "RED405" not in codes(source.replace('"add"', '"now"'), path="tests/conftest.py", planned=("shop.add",))
    test = HEAD + "def test_a():\n    assert shop.add(2, 3) == 5"
    assert "RED405" in codes(test, support={"tests/conftest.py": textwrap.dedent(source)})


def test_fixtures_and_helpers_of_other_files_are_followed() -> None:
    support = {
        "tests/conftest.py": "import pytest\nfrom shop import Cart\n@pytest.fixture\ndef cart():\n    return Cart()\n",
        "tests/helpers.py": "def same(a, b):\n    assert a == b\n\ndef idle(a, b):\n    return a == b\n",
    }
    good = "from tests.helpers import same\ndef test_a(cart):\n    same(cart.total(), 5)"
    lazy = "from helpers import idle\ndef test_a(cart):\n    idle(cart.total(), 5)"
    assert codes(good, support=support) == set()
    assert codes(lazy, support=support) == {"RED401"}


def test_only_new_tests_are_judged() -> None:
    source = HEAD + "def test_old():\n    assert True\ndef test_new():\n    assert add(2, 3) == 5"
    assert codes(source, new_tests=frozenset({"tests/test_shop.py::test_new"})) == set()
    assert codes(source, new_tests=frozenset({"tests/test_shop.py::test_old"})) == {"RED401"}


def test_without_source_the_subject_is_planned_names_or_unknown_imports() -> None:
    source = "from points import earn\ndef test_a():\n    assert earn(5) == 1"
    assert codes(source, project_modules=frozenset(), planned=("points.earn",)) == set()
    assert codes(source, project_modules=frozenset()) == set()
    assert codes("import math\ndef test_a():\n    assert math.sqrt(4) == len('ab')", project_modules=frozenset()) == {
        "RED401"
    }


def test_a_misnamed_file_is_reported_and_a_helper_file_is_not() -> None:
    assert codes(HEAD + "def test_a():\n    assert add(2, 3) == 5", path="tests/points.py") == {"RED202"}
    assert codes("def test_client():\n    return object()", path="tests/helpers.py") == set()


def test_text_that_is_not_python_has_no_facts() -> None:
    assert codes("def test_a(:\n") == set()
    assert find_declared_tests("tests/test_a.py", "def test_a(:\n") == ()


def test_declared_tests() -> None:
    source = """
import pytest, unittest
def test_one(): pass
def test_one(): pass
async def test_later(): pass
def helper(): pass
@pytest.fixture
def test_data(): pass
class TestCart:
    def test_a(self): pass
    def helper(self): pass
    class TestInner:
        def test_b(self): pass
class TestBuilt:
    def __init__(self): pass
    def test_no(self): pass
class TestChild(TestBuilt):
    def test_no_either(self): pass
class Cases(unittest.TestCase):
    def test_c(self): pass
class Plain:
    def test_not_collected(self): pass
class TestOff:
    __test__ = False
    def test_no(self): pass
"""
    assert find_declared_tests("tests/test_x.py", source) == (
        "tests/test_x.py::test_one",
        "tests/test_x.py::test_one",
        "tests/test_x.py::test_later",
        "tests/test_x.py::TestCart::test_a",
        "tests/test_x.py::TestCart::TestInner::test_b",
        "tests/test_x.py::Cases::test_c",
    )
    assert find_declared_tests("tests/helpers.py", source) == ()


def test_criteria_are_named_by_docstring_comment_marker_or_name() -> None:
    source = '''
import pytest
def test_docstring():
    """loyalty-1.c1: points are earned"""
# loyalty-1.c2
def test_comment_above(): pass
def test_comment_inside():
    # covers loyalty-1.c2
    pass
@pytest.mark.criterion("loyalty-1.c3")
def test_marker(): pass
def test_c4_by_name(): pass
class TestLoyalty:
    """loyalty-1.c5"""
    def test_in_class(self): pass
def test_other():
    """loyalty-1.c10 and loyalty-11.c6 and xloyalty-1.c7"""
'''
    ids = [f"loyalty-1.c{n}" for n in range(1, 8)]
    named = find_tests_by_criterion("tests/test_x.py", source, ids)
    assert {criterion: [test.rpartition("::")[2] for test in tests] for criterion, tests in named.items()} == {
        "loyalty-1.c1": ["test_docstring"],
        "loyalty-1.c2": ["test_comment_above", "test_comment_inside"],
        "loyalty-1.c3": ["test_marker"],
        "loyalty-1.c4": ["test_c4_by_name"],
        "loyalty-1.c5": ["test_in_class"],
        "loyalty-1.c6": [],
        "loyalty-1.c7": [],
    }


@pytest.mark.parametrize("deep", ["+".join(["1"] * 1000), "(" * 90 + "1" + ")" * 90 + "+1" * 5000, "a" + ".b()" * 400])
def test_deeply_nested_code_is_reported_without_a_crash(deep: str) -> None:
    assert codes(HEAD + f"def test_a():\n    x = {deep}\n    assert True") == {"RED211"}


def test_a_long_chain_of_branches_is_not_deep() -> None:
    chain = "\n".join(f"    elif x == {n}:\n        assert add(x, 0) == {n}" for n in range(100))
    assert codes(HEAD + f"def test_a():\n    x = add(2, 3)\n    if x == -1:\n        pass\n{chain}") == set()
