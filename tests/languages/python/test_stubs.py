"""The files of a run with stub values, and the conclusions from its results."""

from __future__ import annotations

import ast

from prd2pr.domain.evidence import Failure, FailureKind, TestResult
from prd2pr.languages.python.probes import stubs
from prd2pr.languages.python.stub_trials import (
    FIRST_VARIANTS,
    OTHER_VARIANTS,
    RETURN_KINDS,
    SUPPORT_MODULE,
    VARIANT_COUNT,
    build_stubs,
    find_indifferent_tests,
    find_masked_failures,
    find_undecided_tests,
)

OWN = frozenset({"shop"})
TEST = "from shop.points import earn\n\n\ndef test_earn():\n    assert max(earn(5), 1) >= 1\n"


def trial(test: str = TEST, sources: dict[str, str] | None = None, missing: tuple[str, ...] = ()):
    return build_stubs(
        {"tests/test_x.py": test}, sources or {"src/shop/__init__.py": ""}, OWN, missing, "support = 1\n"
    )


def reported(outcome, test: str = TEST):
    made = trial(test)
    outcomes = {f"{copy}::test_earn": outcome(way) for copy, (_, way) in made.copies.items()}
    asked = frozenset({"tests/test_x.py::test_earn"})
    return find_indifferent_tests({"tests/test_x.py": test}, asked, made.copies, outcomes, OWN)


def test_every_kind_of_value_has_its_copies():
    assert (
        sorted(way for ways in RETURN_KINDS.values() for way in ways)
        == list(range(VARIANT_COUNT))
        == list(range(len(stubs.VALUES)))
    )


def test_a_missing_module_is_placed_in_its_package():
    files = trial().files
    assert "__getattr__" in files["src/shop/points.py"]
    assert set(files) - set(trial().copies) == {"src/shop/__init__.py", "src/shop/points.py", f"{SUPPORT_MODULE}.py"}


def test_an_existing_module_keeps_its_text_and_gets_stubs():
    text = "def tax(amount):\n    return amount\n"
    files = trial(sources={"src/shop/__init__.py": "", "src/shop/points.py": text}).files
    assert files["src/shop/points.py"].startswith(text)
    ast.parse(files["src/shop/points.py"])


def test_a_module_with_its_own_getattr_is_unchanged():
    text = "def __getattr__(name):\n    raise AttributeError(name)\n"
    assert "src/shop/points.py" not in trial(sources={"src/shop/points.py": text}).files


def test_an_existing_class_gets_the_missing_method():
    sources = {"src/shop/points.py": "class Card:\n    pass\n"}
    files = trial(sources=sources, missing=("shop.points.Card.balance",)).files
    assert files["src/shop/points.py"].endswith("Card.balance = _Late('balance')\n")


def test_caught_names_are_exceptions():
    test = "import pytest\nfrom shop import Late, f\n\n\ndef test_f():\n    with pytest.raises(Late):\n        f()\n"
    assert "RAISED = frozenset(['Late'])" in trial(test).files[f"{SUPPORT_MODULE}.py"]


def test_copies_keep_a_collected_file_name():
    made = build_stubs({"shop/points_test.py": TEST}, {}, OWN, (), "")
    assert all(copy.endswith("_test.py") for copy in made.copies)


def test_passing_with_every_number_is_reported():
    (fact,) = reported(lambda way: "passed" if way in RETURN_KINDS["number"] else "failed")
    assert (fact.code, fact.test, fact.line) == ("RED421", "tests/test_x.py::test_earn", 4)
    assert "whatever number" in fact.message


def test_passing_with_some_numbers_is_not_reported():
    assert not reported(lambda way: "passed" if way in RETURN_KINDS["number"][:-1] else "failed")


def test_first_and_other_variants_are_complete():
    assert sorted((*FIRST_VARIANTS, *OTHER_VARIANTS)) == list(range(VARIANT_COUNT))
    assert all(len(set(FIRST_VARIANTS) & set(ways)) == 1 for ways in RETURN_KINDS.values())


def needs_other_variants(*failures: Failure | None) -> bool:
    """Whether a test that ended like this with the first stubs is run with the other variants."""
    made = build_stubs({"tests/test_x.py": TEST}, {}, OWN, (), "", variants=FIRST_VARIANTS)
    results = [
        TestResult(id=f"{copy}::test_earn", outcome="failed" if failure else "passed", failure=failure)
        for copy, failure in zip(made.copies, failures, strict=True)
    ]
    test = "tests/test_x.py::test_earn"
    return find_undecided_tests(frozenset({test}), made.copies, results, lambda _: "") == {test}


NO = Failure(kind=FailureKind.ASSERTION, stage="call", exception="AssertionError")
NO_NAME = Failure(kind=FailureKind.MISSING_SYMBOL, stage="call", exception="NameError")


def test_only_undecided_tests_get_the_other_variants():
    assert not needs_other_variants(NO, NO, NO, NO)
    assert needs_other_variants(NO, NO, None, NO)
    assert needs_other_variants(NO_NAME, NO_NAME, NO_NAME, NO_NAME)
    assert not needs_other_variants(NO_NAME, NO_NAME, NO, NO_NAME)


def test_a_table_passes_if_all_rows_pass():
    made = build_stubs({"tests/test_x.py": TEST}, {}, OWN, (), "", variants=FIRST_VARIANTS)
    test, rows = "tests/test_x.py::test_earn", ("passed", "failed")
    results = [
        TestResult(id=f"{copy}::test_earn[{row}]", outcome=row, failure=None if row == "passed" else NO)
        for copy in made.copies
        for row in rows
    ]
    assert find_undecided_tests(frozenset({test}), made.copies, results, lambda _: "") == frozenset()


def test_comparing_two_calls_is_a_warning():
    test = "from shop.points import earn\n\n\ndef test_earn():\n    assert earn(5) == earn(5)\n"
    (fact,) = reported(lambda _: "passed", test)
    assert fact.code == "RED422"


def test_comparing_two_answers_of_each_class_in_a_loop_is_a_warning():
    test = (
        "from shop.caches import LRI, LRU\n\n\ndef test_earn():\n    kinds = (LRI, LRU)\n    for kind in kinds:\n"
        "        cache = kind(2)\n        cache['a'] = 1\n        size = len(cache.flat())\n        cache['a'] = 1\n"
        "        after = len(cache.flat())\n        assert size == after\n"
    )
    (fact,) = reported(lambda _: "passed", test)
    assert fact.code == "RED422"


def test_comparing_an_answer_with_something_made_from_it_is_an_error():
    test = (
        "from shop.points import earn\n\n\ndef test_earn():\n    points = earn(5)\n    twice = list(points)\n"
        "    assert twice == sorted(points, key=twice.index)\n"
    )
    (fact,) = reported(lambda _: "passed", test)
    assert fact.code == "RED421"


def test_asserting_on_arguments_is_a_warning():
    test = "from shop import earn\n\n\ndef test_earn():\n    given = [3]\n    earn(given)\n    assert given == [3]\n"
    (fact,) = reported(lambda _: "passed", test)
    assert fact.code == "RED422"


def test_values_depend_on_arguments():
    earn = stubs.VALUES[0]
    assert earn(5) == earn(5) != earn(6)
    assert stubs.VALUES[3]("a") != stubs.VALUES[3]("b")


def test_values_depend_on_names():
    assert stubs.get_stub_value("earn") == stubs.get_stub_value("earn") != stubs.get_stub_value("LIMIT")


def test_stub_objects_equal_only_themselves():
    point = stubs.get_stub_value("Point")
    assert point(1, 2) != point(1, 2)
    assert point(1).x == stubs.VALUES[0]


def hidden(failure: Failure, not_ours=lambda name: f"`{name}` is not installed"):
    made = trial()
    results = [
        TestResult(id=f"{copy}::test_earn", outcome="error", failure=failure.model_copy(update={"path": copy}))
        for copy in made.copies
    ]
    asked = frozenset({"tests/test_x.py::test_earn"})
    return [
        fact.code for fact in find_masked_failures({"tests/test_x.py": TEST}, asked, made.copies, results, not_ours)
    ]


MISSING = Failure(
    kind=FailureKind.MISSING_SYMBOL, stage="collect", exception="ModuleNotFoundError", missing="pandas", message="…"
)


def test_a_missing_dependency_behind_a_missing_name_is_reported():
    assert hidden(MISSING) == ["RED302"]


def test_a_second_missing_project_module_is_accepted():
    assert hidden(MISSING, not_ours=lambda name: "") == []


def test_an_async_test_without_plugin_behind_a_missing_name_is_reported():
    unrun = Failure(kind=FailureKind.COLLECTION, stage="call", message="an async test, and no plugin that runs it")
    assert hidden(unrun) == ["RED206"]


def test_asserting_on_a_mock_argument_is_a_warning():
    test = (
        "from unittest.mock import Mock\nfrom shop.events import Emitter\n\n\ndef test_earn():\n    listener = Mock()\n"
        "    emitter = Emitter()\n    emitter.on('x', listener)()\n    emitter.emit('x')\n"
        "    listener.assert_not_called()\n"
    )
    (fact,) = reported(lambda _: "passed", test)
    assert fact.code == "RED422"


def test_asserting_on_effects_inside_a_context_is_a_warning():
    test = (
        "from shop.book import Book\n\n\ndef test_earn():\n    book = Book()\n    with book.transaction():\n"
        "        book.post('cash', 1)\n    assert book.balance('cash') == 1\n"
    )
    (fact,) = reported(lambda _: "passed", test)
    assert fact.code == "RED422"
    idle = test.replace("        book.post('cash', 1)\n", "        pass\n")
    (fact,) = reported(lambda _: "passed", idle)
    assert fact.code == "RED421"
