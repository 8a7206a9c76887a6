"""Mutants in real runs: every form of function in Python and of test in pytest."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest
from small_projects import TARGET, exporter

from prd2pr.domain.results.mutation import MutationResult
from prd2pr.languages.python.mutation.plan import plan_mutations
from prd2pr.languages.python.rules.test_code.test_file import find_declared_tests
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import MutationRequest


def run_mutation(files: Mapping[str, str], *, most: int = 40) -> MutationResult:
    """All source is new and all tests belong to the story."""
    texts = {path: dedent(text) for path, text in files.items()}
    tests = {path: text for path, text in texts.items() if path.startswith("test") and path.endswith(".py")}
    sources = {path: text for path, text in texts.items() if path.endswith(".py") and path not in tests}
    sources.pop("conftest.py", None)
    ids = tuple(test for path, text in tests.items() for test in find_declared_tests(path, text))
    plan = plan_mutations({}, sources, tests, seed="seed", most=most)
    runner = PytestRunner(exporter(texts), TARGET)
    return runner.start_mutation_run(MutationRequest("t", ids, plan, most))()


FORMS = {
    "app.py": '''
        import functools
        from dataclasses import dataclass


        def plain(a):
            """Doc."""
            return a + 1


        async def later(a):
            return a * 2


        def counted(n):
            for i in range(n):
                yield i


        def outer(a):
            def inner(b):
                return a - b

            return inner(1)


        def doubled(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args) * 2

            return wrapper


        @doubled
        def decorated(a):
            if a > 3:
                return 10
            return a


        @functools.lru_cache
        def cached(a):
            return a // 2


        class Parent:
            def __init__(self, size):
                self.size = size


        class Child(Parent):
            def __init__(self, size):
                super().__init__(size)
                self.name = "child"

            @property
            def area(self):
                return self.size * self.size

            @classmethod
            def small(cls):
                return cls(1)

            @staticmethod
            def unit():
                return "cm"

            def __secret(self):
                return 7

            def told(self):
                return self.__secret()


        @dataclass(frozen=True)
        class Point:
            x: int

            def moved(self, by):
                return Point(self.x + by)
        ''',
    "conftest.py": """
        import pytest


        @pytest.fixture(scope="module")
        def child():
            from app import Child

            return Child(3)
        """,
    "test_app.py": """
        import asyncio
        import unittest

        import pytest

        from app import Child, Point, cached, counted, decorated, later, outer, plain


        @pytest.mark.parametrize(("given", "expected"), [(1, 2), (-1, 0)])
        def test_plain(given, expected):
            assert plain(given) == expected


        def test_later():
            assert asyncio.run(later(4)) == 8


        def test_counted():
            assert list(counted(3)) == [0, 1, 2]


        def test_outer():
            assert outer(5) == 4


        def test_decorated():
            assert decorated(4) == 20
            assert decorated(3) == 6


        def test_cached():
            assert cached(8) == 4


        def test_child(child):
            assert (child.area, child.name, child.told()) == (9, "child", 7)


        class ChildCase(unittest.TestCase):
            def test_small(self):
                self.assertEqual(Child.small().size, 1)
                self.assertEqual("cm", Child.unit())


        class TestPoint:
            def test_moved(self):
                assert Point(1).moved(2) == Point(3)
        """,
}


@pytest.fixture(scope="module")
def forms() -> MutationResult:
    return run_mutation(FORMS, most=100)


@pytest.mark.slow
def test_every_form_of_function_is_knocked_out(forms: MutationResult) -> None:
    assert forms.problems == ()
    assert {each.function: each.outcome for each in forms.knock_outs} == dict.fromkeys(
        [
            "plain", "later", "counted", "outer", "doubled", "decorated", "cached", "Parent.__init__", "Child.__init__",
            "Child.area", "Child.small", "Child.unit", "Child.__secret", "Child.told", "Point.moved",
        ],
        "killed",
    )  # fmt: skip


def test_mutants_in_every_form_of_function_are_killed(forms: MutationResult) -> None:
    assert [(each.function, each.change) for each in forms.mutants if each.outcome != "killed"] == []
    noticed = {each.function for each in forms.mutants}
    assert {"plain", "later", "counted", "outer.inner", "doubled.wrapper", "decorated", "cached"} <= noticed
    assert {"Child.area", "Child.unit", "Child.__secret", "Point.moved"} <= noticed


def test_each_fault_is_killed_by_a_test_that_executes_it(forms: MutationResult) -> None:
    by = {each.function: each.by for each in forms.knock_outs}
    assert by["cached"] == "test_app.py::test_cached"
    assert by["Child.small"] == "test_app.py::ChildCase::test_small"
    assert by["plain"] == "test_app.py::test_plain[1-2]"


def test_every_expected_value_matters(forms: MutationResult) -> None:
    assert {each.outcome for each in forms.perturbations} == {"killed"}
    tests = {each.function for each in forms.perturbations}
    assert {"test_plain", "test_later", "ChildCase.test_small", "TestPoint.test_moved", "test_child"} <= tests


@pytest.mark.slow
def test_outcomes_are_reproducible(forms: MutationResult) -> None:
    assert run_mutation(FORMS, most=100).model_copy(update={"seconds": 0}) == forms.model_copy(update={"seconds": 0})


@pytest.mark.slow
def test_undetected_faults_survive() -> None:
    seen = run_mutation({
        "app.py": """
            LIMIT = 10
            TABLE = {n: n * n for n in range(4)}


            def squares():
                return {n: n * n for n in range(4)}


            MADE = squares()


            def fine(amount):
                if amount < 0:
                    raise ValueError("negative")
                return min(amount, LIMIT)


            def idle(amount):
                return amount


            def aside(amount):
                return amount + 1
            """,
        "test_app.py": """
            from app import MADE, aside, fine


            def test_fine():
                aside(3)
                assert fine(4) == 4
                assert fine(99) == 10
                assert MADE[3] == 9
            """,
    })  # fmt: skip
    assert seen.problems == ()
    outcomes = {each.function: each.outcome for each in seen.knock_outs}
    assert outcomes == {"squares": "killed", "fine": "killed", "idle": "survived", "aside": "killed"}
    survivors = {(each.function, each.change) for each in seen.survivors}
    assert ("aside", "`amount + 1` → `amount - 1`") in survivors
    assert ("fine", "`amount < 0` → `amount <= 0`") in survivors
    limit = next(each for each in seen.mutants if each.change == "`10` → `11`")
    assert (limit.outcome, limit.by) == ("killed", "test_app.py::test_fine")
    assert not any(each.function == "idle" for each in seen.mutants)


@pytest.mark.slow
def test_code_in_another_process_is_mutated() -> None:
    seen = run_mutation({
        "app.py": """
            import sys


            def main():
                print(len(sys.argv))


            if __name__ == "__main__":
                main()
            """,
        "test_app.py": """
            import subprocess
            import sys


            def test_main():
                told = subprocess.run([sys.executable, "app.py", "a"], capture_output=True, text=True)
                assert told.stdout == "2\\n"
            """,
    })  # fmt: skip
    assert [(each.outcome, each.by) for each in seen.knock_outs] == [("killed", "test_app.py::test_main")]


@pytest.mark.slow
def test_a_result_that_equals_everything_is_detected() -> None:
    seen = run_mutation({
        "app.py": """
            class Answer:
                def __eq__(self, other):
                    return isinstance(other, object)

                def __hash__(self):
                    return 1


            def price(amount):
                return Answer()
            """,
        "test_app.py": """
            from app import price


            def test_price():
                assert price(3) == 90
            """,
    })  # fmt: skip
    assert [(each.line, each.outcome) for each in seen.perturbations] == [(6, "survived")]


@pytest.mark.slow
def test_ending_the_process_fakes_no_kill() -> None:
    seen = run_mutation({
        "app.py": """
            import os


            def step(amount):
                try:
                    return advance(amount)
                except NameError:
                    os._exit(1)


            def advance(amount):
                return amount + 1
            """,
        "test_app.py": """
            from app import step


            def test_step():
                assert step(1) == 2
            """,
    })  # fmt: skip
    outcomes = {each.function: (each.outcome, each.why) for each in seen.knock_outs}
    assert outcomes["advance"] == ("not_judged", "the test process ended by itself")
    assert outcomes["step"][0] == "killed"


@pytest.mark.slow
def test_an_endless_loop_is_a_timeout() -> None:
    seen = run_mutation({
        "app.py": """
            def halved(n):
                steps = 0
                while n > 1:
                    n = n // 2
                    steps += 1
                return steps
            """,
        "test_app.py": """
            from app import halved


            def test_halved():
                assert halved(8) == 3
            """,
    })  # fmt: skip
    loops = {each.change: each.outcome for each in seen.mutants}
    assert loops["`n // 2` → `n * 2`"] == "timeout"


@pytest.mark.parametrize(
    ("app", "said"),
    [
        pytest.param(
            """
            def add(a, b):
                return a + b


            SHAPE = add.__code__.co_code


            def total(a, b):
                if add.__code__.co_code != SHAPE:
                    raise RuntimeError("changed")
                return add(a, b)
            """,
            "with unchanged code, at the start",
            id="minds-its-own-code",
        ),
        pytest.param(
            """
            import pathlib

            SEEN = pathlib.Path(__file__).with_name("seen")


            def add(a, b):
                return a + b


            def total(a, b):
                with SEEN.open("a") as log:
                    log.write("x")
                if len(SEEN.read_text()) > 4:
                    raise RuntimeError("often enough")
                return add(a, b)
            """,
            "with unchanged code, at the end",
            id="counts-its-runs",
        ),
    ],
)
def test_faked_kills_are_detected_by_unchanged_code(app: str, said: str) -> None:
    test = """
        from app import total


        def test_total():
            assert total(1, 2) == 3
        """
    seen = run_mutation({"app.py": app, "test_app.py": test})
    assert any(said in problem for problem in seen.problems), seen.problems


@pytest.mark.slow
def test_tests_that_fail_alone_are_a_problem() -> None:
    seen = run_mutation(
        {
            "app.py": "def f():\n    return 1\n",
            "test_app.py": "import app\n\n\ndef test_f():\n    assert app.f() == 2\n",
        }
    )
    assert seen.problems == ("test_app.py::test_f does not pass when the story's tests run alone",)
    assert seen.knock_outs == seen.mutants == ()


def test_other_tests_that_detect_a_mutant_are_named() -> None:
    app = "def charged(total):\n    if total > 100:\n        return 0\n    return 5\n"
    story = "from app import charged\n\ndef test_small():\n    assert charged(10) == 5\n"
    other = "from app import charged\n\ndef test_limit():\n    assert charged(100) == 5\n"
    texts = {"app.py": app, "test_story.py": story, "test_other.py": other}
    plan = plan_mutations({}, {"app.py": app}, {"test_story.py": story}, seed="seed", most=40)
    runner = PytestRunner(exporter(texts), TARGET)
    found = runner.start_mutation_run(MutationRequest("t", ("test_story.py::test_small",), plan, 40))()
    assert {each.elsewhere for each in found.survivors} == {"", "test_other.py::test_limit"}
    assert len(found.unnoticed) < len(found.survivors)


@pytest.mark.parametrize("importer", ["conftest.py", "test_app.py"])
def test_mutant_that_breaks_the_import_is_not_judged(importer: str) -> None:
    files = {
        "app.py": "SIZE = [10, 20][1]\n\n\ndef size():\n    return SIZE\n",
        "test_app.py": "def test_size():\n    from app import size\n    assert size() == 20\n",
    }
    files[importer] = f"import app\n{files.get(importer, '')}"
    found = run_mutation(files)
    (index,) = [each for each in found.mutants if "`1`" in each.change]
    assert (index.outcome, index.why) == ("not_judged", "the mutant breaks the import")
    assert found.killed
