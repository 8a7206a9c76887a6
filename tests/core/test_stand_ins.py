"""Which files a trial with stand-ins consists of, and what follows from what came of it."""

from __future__ import annotations

import ast

from prd2pr.core.evidence import Failure, FailureKind, TestResult
from prd2pr.core.stand_ins import COPIES, FIRST, KINDS, REST, SUPPORT, indifferent, masked, stand_ins, undecided
from prd2pr.runners import standing_in

OWN = frozenset({"shop"})
TEST = "from shop.points import earn\n\n\ndef test_earn():\n    assert max(earn(5), 1) >= 1\n"


def trial(test: str = TEST, sources: dict[str, str] | None = None, missing: tuple[str, ...] = ()):
    return stand_ins({"tests/test_x.py": test}, sources or {"src/shop/__init__.py": ""}, OWN, missing, "support = 1\n")


def told(outcome, test: str = TEST):
    made = trial(test)
    outcomes = {f"{copy}::test_earn": outcome(way) for copy, (_, way) in made.copies.items()}
    asked = frozenset({"tests/test_x.py::test_earn"})
    return indifferent({"tests/test_x.py": test}, asked, made.copies, outcomes, OWN)


def test_every_kind_of_answer_has_its_copies():
    assert (
        sorted(way for ways in KINDS.values() for way in ways)
        == list(range(COPIES))
        == list(range(len(standing_in.VALUES)))
    )


def test_a_module_that_is_missing_is_put_where_its_package_lies():
    files = trial().files
    assert "__getattr__" in files["src/shop/points.py"]
    assert set(files) - set(trial().copies) == {"src/shop/__init__.py", "src/shop/points.py", f"{SUPPORT}.py"}


def test_a_module_that_exists_keeps_its_text_and_answers_for_what_it_lacks():
    text = "def tax(amount):\n    return amount\n"
    files = trial(sources={"src/shop/__init__.py": "", "src/shop/points.py": text}).files
    assert files["src/shop/points.py"].startswith(text)
    ast.parse(files["src/shop/points.py"])


def test_a_module_with_answers_of_its_own_is_left_alone():
    text = "def __getattr__(name):\n    raise AttributeError(name)\n"
    assert "src/shop/points.py" not in trial(sources={"src/shop/points.py": text}).files


def test_a_class_that_exists_gets_the_method_that_it_lacks():
    sources = {"src/shop/points.py": "class Card:\n    pass\n"}
    files = trial(sources=sources, missing=("shop.points.Card.balance",)).files
    assert files["src/shop/points.py"].endswith("Card.balance = _Late('balance')\n")


def test_names_that_are_caught_are_exceptions():
    test = "import pytest\nfrom shop import Late, f\n\n\ndef test_f():\n    with pytest.raises(Late):\n        f()\n"
    assert "RAISED = frozenset(['Late'])" in trial(test).files[f"{SUPPORT}.py"]


def test_copies_keep_the_end_of_a_name_by_which_they_are_collected():
    made = stand_ins({"shop/points_test.py": TEST}, {}, OWN, (), "")
    assert all(copy.endswith("_test.py") for copy in made.copies)


def test_who_passes_with_every_number_is_told():
    (fact,) = told(lambda way: "passed" if way in KINDS["number"] else "failed")
    assert (fact.code, fact.test, fact.line) == ("RED421", "tests/test_x.py::test_earn", 4)
    assert "any number" in fact.message


def test_who_passes_with_some_numbers_is_not():
    assert not told(lambda way: "passed" if way in KINDS["number"][:-1] else "failed")


def test_the_first_answers_and_the_rest_are_all_of_them():
    assert sorted((*FIRST, *REST)) == list(range(COPIES))
    assert all(len(set(FIRST) & set(ways)) == 1 for ways in KINDS.values())


def asked_further(*failures: Failure | None) -> bool:
    """Whether a test is, that ended so with the first answers; passed, where it did not fail."""
    made = stand_ins({"tests/test_x.py": TEST}, {}, OWN, (), "", ways=FIRST)
    results = [
        TestResult(id=f"{copy}::test_earn", outcome="failed" if failure else "passed", failure=failure)
        for copy, failure in zip(made.copies, failures, strict=True)
    ]
    test = "tests/test_x.py::test_earn"
    return undecided(frozenset({test}), made.copies, results, lambda _: "") == {test}


NO = Failure(kind=FailureKind.ASSERTION, stage="call", exception="AssertionError")
NO_NAME = Failure(kind=FailureKind.MISSING_SYMBOL, stage="call", exception="NameError")


def test_only_who_may_still_be_told_of_is_asked_with_the_other_answers():
    assert not asked_further(NO, NO, NO, NO)
    assert asked_further(NO, NO, None, NO)
    assert asked_further(NO_NAME, NO_NAME, NO_NAME, NO_NAME)
    assert not asked_further(NO_NAME, NO_NAME, NO, NO_NAME)


def test_a_table_passes_with_an_answer_where_all_its_rows_do():
    made = stand_ins({"tests/test_x.py": TEST}, {}, OWN, (), "", ways=FIRST)
    test, rows = "tests/test_x.py::test_earn", ("passed", "failed")
    results = [
        TestResult(id=f"{copy}::test_earn[{row}]", outcome=row, failure=None if row == "passed" else NO)
        for copy in made.copies
        for row in rows
    ]
    assert undecided(frozenset({test}), made.copies, results, lambda _: "") == frozenset()


def test_two_calls_against_each_other_are_told_more_gently():
    test = "from shop.points import earn\n\n\ndef test_earn():\n    assert earn(5) == earn(5)\n"
    (fact,) = told(lambda _: "passed", test)
    assert fact.code == "RED422"


def test_what_was_handed_in_may_be_looked_at():
    test = "from shop import earn\n\n\ndef test_earn():\n    given = [3]\n    earn(given)\n    assert given == [3]\n"
    (fact,) = told(lambda _: "passed", test)
    assert fact.code == "RED422"


def test_other_arguments_get_other_answers_and_the_same_the_same():
    earn = standing_in.VALUES[0]
    assert earn(5) == earn(5) != earn(6)
    assert standing_in.VALUES[3]("a") != standing_in.VALUES[3]("b")


def test_other_names_get_other_answers():
    assert standing_in.answer("earn") == standing_in.answer("earn") != standing_in.answer("LIMIT")


def test_objects_that_stand_in_are_equal_to_themselves_alone():
    point = standing_in.answer("Point")
    assert point(1, 2) != point(1, 2)
    assert point(1).x == standing_in.VALUES[0]


def hidden(failure: Failure, not_ours=lambda name: f"`{name}` is not installed"):
    made = trial()
    results = [
        TestResult(id=f"{copy}::test_earn", outcome="error", failure=failure.model_copy(update={"path": copy}))
        for copy in made.copies
    ]
    asked = frozenset({"tests/test_x.py::test_earn"})
    return [fact.code for fact in masked({"tests/test_x.py": TEST}, asked, made.copies, results, not_ours)]


MISSING = Failure(
    kind=FailureKind.MISSING_SYMBOL, stage="collect", exception="ModuleNotFoundError", missing="pandas", message="…"
)


def test_a_dependency_that_is_not_there_is_told_though_another_name_is_missing_too():
    assert hidden(MISSING) == ["RED302"]


def test_a_second_module_that_may_be_the_projects_is_not_held_against_the_test():
    assert hidden(MISSING, not_ours=lambda name: "") == []


def test_an_async_test_that_nobody_runs_is_told_though_a_name_is_missing():
    unrun = Failure(kind=FailureKind.COLLECTION, stage="call", message="an async test, and no plugin that runs it")
    assert hidden(unrun) == ["RED206"]


def test_a_mock_that_an_object_of_the_subject_was_given_may_be_all_that_is_looked_at():
    test = (
        "from unittest.mock import Mock\nfrom shop.events import Emitter\n\n\ndef test_earn():\n    listener = Mock()\n"
        "    emitter = Emitter()\n    emitter.on('x', listener)()\n    emitter.emit('x')\n"
        "    listener.assert_not_called()\n"
    )
    (fact,) = told(lambda _: "passed", test)
    assert fact.code == "RED422"


def test_what_is_done_under_a_block_of_the_subjects_may_be_all_that_is_looked_at():
    test = (
        "from shop.book import Book\n\n\ndef test_earn():\n    book = Book()\n    with book.transaction():\n"
        "        book.post('cash', 1)\n    assert book.balance('cash') == 1\n"
    )
    (fact,) = told(lambda _: "passed", test)
    assert fact.code == "RED422"
    idle = test.replace("        book.post('cash', 1)\n", "        pass\n")
    (fact,) = told(lambda _: "passed", idle)
    assert fact.code == "RED421"
