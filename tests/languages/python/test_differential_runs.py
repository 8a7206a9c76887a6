"""Old code compared with new by real calls: differences, undecided cases, and rejected comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest
from small_projects import TARGET, exporter

from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.languages.python.differential.plan import plan_differential
from prd2pr.languages.python.rules.test_code.test_file import find_declared_tests
from prd2pr.languages.python.runner.differential_protocol import ControlModule
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import DifferentialRequest


def compared(before: Mapping[str, str], after: Mapping[str, str], tests: str) -> DifferentialResult:
    old, new = ({path: dedent(text) for path, text in side.items()} for side in (before, after))
    asked = dedent(tests)
    plan = plan_differential(old, new, {*old, *new}, {}, seed="seed")
    runner = PytestRunner(exporter({**new, "test_app.py": asked}), TARGET)
    return runner.start_differential_run(DifferentialRequest("t", find_declared_tests("test_app.py", asked), plan))()


BEFORE = {
    "app.py": """
        import random
        import sys
        from dataclasses import dataclass

        from rates import rate


        def half(amount):
            return amount // 2


        def checked(name):
            if len(name) > 6:
                raise ValueError("too long")
            return name.upper()


        def rated(amount):
            return amount * rate(amount)


        def drawn(names):
            return names[random.randrange(len(names))]


        def written(path, text):
            with open(path, "w") as file:
                file.write(text)


        def sure(amount):
            return amount + 1


        def listed(items):
            return [item for item in items]


        def alone(first, second):
            return first * 2 + second


        def last(items):
            return items[-1]


        class Till:
            def __init__(self, start):
                self._coins = [start]

            def put(self, coin):
                self._coins.append(coin)

            def total(self):
                return sum(self._coins)


        @dataclass
        class Line:
            name: str
            cents: int

            def shown(self):
                return f"{self.name} {self.cents}"


        def paid(till, line):
            return till.total() >= line.cents
        """,
    "rates.py": """
        def rate(amount):
            return _table(amount)


        def _table(amount):
            return 2
        """,
}

AFTER = {
    "app.py": """
        import random
        import sys
        from dataclasses import dataclass

        from rates import rate


        def half(amount):
            return round(amount / 2)


        def checked(name):
            return name.upper()


        def rated(amount):
            return rate(amount) * amount


        def drawn(names):
            return random.choice(names)


        def written(path, text):
            with open(path, "w") as file:
                file.write(text + "!")


        def sure(amount):
            random.random()
            return amount + (1 if amount < 9 else 2)


        def listed(items):
            return tuple(items)


        def alone(first, second):
            return first * 2 + second * 2


        def last(items):
            if items == [9]:
                sys.exit(0)
            return items[len(items) - 1]


        class Till:
            def __init__(self, start):
                self._coins = start

            def put(self, coin):
                if coin > 0:
                    self._coins += coin
                else:
                    unheard = coin

            def total(self):
                return self._coins


        @dataclass
        class Line:
            name: str
            cents: int

            def shown(self):
                return self.name + " " + str(self.cents)


        def paid(till, line):
            return till.total() > line.cents
        """,
    "rates.py": """
        def rate(amount):
            return _table(amount)


        def _table(amount):
            return 3 if amount == 70 else 2
        """,
}

TESTS = """
    import pytest

    from app import Line, Till, checked, drawn, half, last, listed, paid, rated, sure, written


    def test_all(tmp_path):
        assert half(4) == 2
        assert checked("ada") == "ADA"
        assert rated(7) == 14
        assert sure(1) == 2
        assert drawn(["a", "b"]) in ["a", "b"]
        written(tmp_path / "a", "b")
        assert list(listed([1, 2])) == [1, 2]
        assert last([1, 2]) == 2


    def test_objects():
        till = Till(5)
        till.put(3)
        assert till.total() == 8
        assert Line("tea", 3).shown() == "tea 3"
        assert paid(till, Line("tea", 3))
    """


@pytest.fixture(scope="module")
def seen() -> DifferentialResult:
    return compared(BEFORE, AFTER, TESTS)


def test_differences_near_tested_inputs_are_grave(seen: DifferentialResult) -> None:
    assert seen.problems == ()
    grave = {each.function for each in seen.differences if each.grave}
    assert grave == {"app.half", "app.checked", "app.alone", "app.paid", "app.rated", "app.sure", "rates.rate"}
    half = next(each for each in seen.differences if each.function == "app.half")
    assert half.given.startswith("half(")
    assert half.before != half.after


def test_a_dropped_check_is_found_by_its_missing_error(seen: DifferentialResult) -> None:
    checked = [each for each in seen.differences if each.function == "app.checked"]
    assert {each.before for each in checked} == {"raises ValueError"}


@pytest.mark.slow
def test_an_equal_value_of_another_type_is_reported_as_not_grave(seen: DifferentialResult) -> None:
    listed = [each for each in seen.differences if each.function == "app.listed"]
    assert listed
    assert not any(each.grave for each in listed)
    assert (listed[0].before[0], listed[0].after[0]) == ("[", "(")


def test_objects_are_rebuilt_by_each_version(seen: DifferentialResult) -> None:
    """The internals of the object differ between the versions; calls and results are the same."""
    counts = {each.function: each for each in seen.functions}
    assert counts["app.Till.total"].recorded
    assert counts["app.Till.total"].unjudged == 0
    assert counts["app.Line.shown"].differing == 0
    assert not any(each.grave for each in seen.differences if each.function == "app.Till.total")


def test_randomness_and_side_effects_are_not_judged(seen: DifferentialResult) -> None:
    counts = {each.function: each for each in seen.functions}
    for name in ("app.drawn", "app.written"):
        assert counts[name].unjudged >= counts[name].recorded >= 1
        assert counts[name].differing == 0


def test_new_randomness_is_grave(seen: DifferentialResult) -> None:
    sure = next(each for each in seen.differences if each.function == "app.sure")
    assert (sure.given, sure.before, sure.after) == ("sure(1)", "2", "unclear: uses randomness")


def test_new_uncovered_code_is_found(seen: DifferentialResult) -> None:
    assert [(each.function, each.what) for each in seen.unrun] == [
        ("last", "sys.exit(0)"),
        ("Till.put", "unheard = coin"),
    ]


@pytest.mark.slow
def test_a_comparison_that_misses_the_control_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ControlModule, "new", property(lambda self: self.old))
    old, new = "def half(a):\n    return a // 2\n", "def half(a):\n    return a * 9\n"
    test = "from app import half\n\n\ndef test_half():\n    assert half(0) == 0\n"
    blind = compared({"app.py": old}, {"app.py": new}, test)
    assert blind.problems == ("a function that was changed deliberately was not reported as different",)
    assert blind.differences == ()
