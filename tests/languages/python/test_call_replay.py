"""Calls recorded in tests, replayed outside the test run."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest
from small_projects import TARGET, exporter

from prd2pr.domain.results.mutation import CallReplay
from prd2pr.languages.python.mutation.plan import plan_mutations
from prd2pr.languages.python.probes.call_recorder import find_changed_answers
from prd2pr.languages.python.probes.call_replay import Incomparable, describe_value, find_function
from prd2pr.languages.python.rules.test_code.test_file import find_declared_tests
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import MutationRequest


def replayed(app: str, test: str) -> CallReplay:
    files = {"app.py": dedent(app), "tests/test_app.py": dedent(test)}
    plan = plan_mutations({}, {"app.py": files["app.py"]}, {}, seed="s", most=1)
    ids = tuple(find_declared_tests("tests/test_app.py", files["tests/test_app.py"]))
    seen = PytestRunner(exporter(files), TARGET).start_mutation_run(MutationRequest("t", ids, plan, 1))()
    assert seen.problems == ()
    assert seen.replay is not None
    return seen.replay


def test_code_that_detects_its_caller_is_reported_and_honest_code_is_not() -> None:
    seen = replayed(
        """
        import os
        import random
        import sys
        import time
        from pathlib import Path


        def by_module(a):
            return a + 1 if any(name.startswith("_py") and len(name) == 7 for name in vars(sys)["modules"]) else 0


        def by_place(a):
            return a + 1 if "checkout" in os.getcwd() else 0


        def by_variable(a):
            return a + 1 if "(call)" in " ".join(os.environ.values()) else 0


        def by_caller(a):
            return a + 1 if sys._getframe(1).f_code.co_name.startswith("test_") else 0


        def pure(a):
            if a < 0:
                raise ValueError("negative")
            return {"a": a + 1, "place": Path(__file__).parent, "program": sys.argv[0]}


        def environment():
            return {**os.environ, "A": "1"}


        def drawn(a):
            return a + random.random()


        def stamped(a):
            return a, time.time()


        def sized(path):
            return len(Path(path).read_text())


        def configured(a):
            return a if os.environ.get("APP_LOUD") else -a


        class Basket:
            def __init__(self, prices):
                self.prices = prices

            def add(self, price):
                self.prices.append(price)
        """,
        """
        import pytest

        import app


        def test_sly():
            assert (app.by_module(1), app.by_place(1), app.by_variable(1), app.by_caller(1)) == (2, 2, 2, 2)


        def test_pure():
            assert app.pure(1)["a"] == 2
            pytest.raises(ValueError, app.pure, -1)
            assert app.environment()["A"] == "1"


        def test_chance_and_time():
            assert 1 <= app.drawn(1) < 2
            assert app.stamped(1)[0] == 1


        def test_what_the_test_sets_up(tmp_path, monkeypatch):
            (tmp_path / "a.txt").write_text("abc")
            assert app.sized(tmp_path / "a.txt") == 3
            monkeypatch.setenv("APP_LOUD", "1")
            assert app.configured(3) == 3


        def test_basket():
            basket = app.Basket([1])
            basket.add(2)
            assert basket.prices == [1, 2]
        """,
    )
    assert [(each.function, each.inside, each.outside) for each in seen.differing] == [
        ("by_module", "2", "0"),
        ("by_place", "2", "0"),
        ("by_variable", "2", "0"),
        ("by_caller", "2", "0"),
    ]
    assert seen.differing[0].test == "tests/test_app.py::test_sly"
    assert (seen.same, seen.not_judged) == (6, 3)


class Colour(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: int
    seen: set[str]

    @property
    def double(self) -> int:
        return self.x * 2


class Slotted:
    __slots__ = ("a",)

    def __init__(self) -> None:
        self.a = 1


SAME = [
    (Point(1, {"a", "b"}), Point(1, {"b", "a"})),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1, "PYTEST_VERSION": "8"}),
    (Slotted(), Slotted()),
    (SimpleNamespace(a=[1]), SimpleNamespace(a=[1])),
    (ValueError("no"), ValueError("no")),
]
DIFFERENT = [
    (1, True),
    (1, 1.0),
    ([1], (1,)),
    (Point(1, set()), Point(2, set())),
    (Colour.RED, 1),
    (datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)),
    (ValueError("no"), KeyError("no")),
    (Path("a"), "a"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_values_have_equal_descriptions(one: Any, other: Any) -> None:
    assert describe_value(one) == describe_value(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_values_have_different_descriptions(one: Any, other: Any) -> None:
    assert describe_value(one) != describe_value(other)


def test_incomparable_values() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for value in (object(), endless, "x" * 100_000, iter([1])):
        with pytest.raises(Incomparable):
            describe_value(value)


def test_functions_are_found_by_qualified_name() -> None:
    assert find_function(__name__, "Point.double") is vars(Point)["double"].fget
    assert find_function("functools", "wraps").__name__ == "wraps"
    with pytest.raises(KeyError):
        find_function("functools", "nothing")


def call(function: str, data: str, text: str, *, bare: bool = False) -> dict[str, Any]:
    return {"function": function, "data": data, "text": text, "bare": bare, "shown": f"{function}({data})"}


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ([call("add", "1", "2")], [call("add", "1", "3")], ["add(1)"]),
        ([call("add", "1", "2")], [call("add", "1", "2")], []),
        # A function without arguments can only answer from its state.
        ([call("next", "", "1", bare=True)], [call("next", "", "2", bare=True)], []),
        # The tests require the second answer to differ.
        ([call("take", "1", "yes"), call("take", "1", "no")], [call("take", "1", "no")], []),
    ],
)
def test_changed_answers_of_stateless_functions(
    first: list[dict[str, Any]], second: list[dict[str, Any]], found: list[str]
) -> None:
    assert find_changed_answers(first, second) == found
