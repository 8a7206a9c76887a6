from __future__ import annotations

import pytest

from prd2pr.workflow.roles.test_impact import (
    ChangedPaths,
    ReachSurvey,
    SelectedTests,
    format_selection_text,
    select_all_tests,
    select_tests,
)

CART, POINTS, MAIL = "tests/test_cart.py", "tests/test_points.py", "tests/test_mail.py"
STORY = "tests/tdd/shop-1/test_shop_1_earn.py"
TESTS = {
    CART: "from shop.cart import add\n",
    POINTS: "from shop.points import earn\n",
    MAIL: "import shop.mail\n",
    STORY: "from shop.points import earn\n",
}
SURVEY = ReachSurvey(
    "t",
    {
        CART: frozenset({CART, "src/shop/cart.py"}),
        POINTS: frozenset({POINTS, "src/shop/points.py", "src/shop/cart.py"}),
        MAIL: frozenset({MAIL}),
        STORY: frozenset({STORY}),
    },
    frozenset(),
)


def chosen(
    *source: str, tests: tuple[str, ...] = (), other: tuple[str, ...] = (), survey: ReachSurvey = SURVEY
) -> SelectedTests:
    return select_tests(survey, ChangedPaths(frozenset(source), frozenset(tests), frozenset(other)), TESTS, [STORY])


def test_the_storys_tests_always_run() -> None:
    assert chosen().reasons == {STORY: "the story's"}


def test_change_affects_tests_that_executed_the_file() -> None:
    assert chosen("src/shop/cart.py").reasons == {
        STORY: "the story's",
        CART: "reaches src/shop/cart.py",
        POINTS: "reaches src/shop/cart.py",
    }


def test_test_that_only_imports_a_constant_is_affected() -> None:
    assert chosen("src/shop/mail.py").paths == (STORY, MAIL)


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("from shop import mail", True),
        ("from shop.mail import SENDER", True),
        ("import shop.mail as m", True),
        ("from shop.mailing import x", False),
        ("from shop import cart", False),
        ("import mail", True),
        ("def broken(:", True),
    ],
)
def test_ways_to_import_a_module(text: str, *, reached: bool) -> None:
    changed = ChangedPaths(frozenset({"src/shop/mail.py"}), frozenset(), frozenset())
    tests = {**TESTS, MAIL: text}
    assert (MAIL in select_tests(SURVEY, changed, tests, [STORY]).reasons) is reached


def test_a_package_is_imported_by_its_name() -> None:
    changed = ChangedPaths(frozenset({"src/shop/__init__.py"}), frozenset(), frozenset())
    assert "tests/test_x.py" in select_tests(SURVEY, changed, {**TESTS, "tests/test_x.py": "import shop"}, []).reasons
    assert MAIL not in select_tests(SURVEY, changed, TESTS, []).reasons


def test_changed_new_and_interrupted_tests_run() -> None:
    unsure = ReachSurvey("t", {test: SURVEY.reached[test] for test in (CART, POINTS, STORY)}, frozenset({CART}))
    assert chosen(tests=(POINTS,), survey=unsure) == select_all_tests("the changes can reach every test file")
    assert chosen(survey=unsure).reasons == {
        STORY: "the story's",
        CART: "did not pass before",
        MAIL: "new or changed",
    }


def test_all_tests_run_if_the_impact_is_unknown() -> None:
    all_of_them = chosen("src/shop/cart.py", other=("tests/conftest.py", "data.json"))
    assert all_of_them.paths == ()
    assert "data.json has changed" in all_of_them.because


def test_role_is_told_which_tests_run_and_why() -> None:
    text = format_selection_text(chosen("src/shop/mail.py"), total=4)
    assert text.startswith("2 of 4 test files were run: tests/tdd/shop-1/test_shop_1_earn.py (the story's), ")
    assert "tests/test_mail.py (reaches src/shop/mail.py)" in text
    assert "The gate runs all tests" in text
    assert format_selection_text(select_all_tests("it is new"), total=4) == "All tests were run: it is new."
    many = SelectedTests({f"tests/test_{n}.py": "new or changed" for n in range(20)})
    assert "and 12 more" in format_selection_text(many, total=40)
