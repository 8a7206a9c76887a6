"""Inputs near the examples of a function's tests."""

from __future__ import annotations

import base64
import pickle
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prd2pr.languages.python.probes import nearby_inputs


def call(function: str, *positional: Any, text: str = "", **named: Any) -> nearby_inputs.Call:
    data = base64.b64encode(pickle.dumps((list(positional), named))).decode()
    return {
        "module": "shop",
        "function": function,
        "path": "shop.py",
        "line": 1,
        "test": "t",
        "data": data,
        "text": text,
    }


def given(asked: list[nearby_inputs.Call]) -> list[Any]:
    ((_, near),) = nearby_inputs.generate_nearby_calls(asked)
    return [arguments for _, arguments in near]


class TestQuestions:
    def test_the_same_calls_give_the_same_nearby_inputs(self) -> None:
        calls = [call("price", 3, "a4 sheet", rate=0.5), call("price", 9, "b5 sheet", rate=1.5)]
        assert given(calls) == given(calls)

    def test_inputs_of_the_tests_are_not_repeated(self) -> None:
        calls = [call("price", number) for number in range(8)]
        assert not {0, 1, 2, 3, 4, 5, 6, 7} & {positional[0] for positional, _ in given(calls)}

    def test_nearby_inputs_per_function_are_limited(self) -> None:
        assert len(given([call("price", number * 100) for number in range(50)])) == nearby_inputs.MAX_NEARBY

    def test_the_number_of_functions_is_limited(self) -> None:
        assert (
            len(list(nearby_inputs.generate_nearby_calls([call(f"f{number}", 1) for number in range(30)])))
            == nearby_inputs.MAX_FUNCTIONS
        )

    def test_every_example_is_varied_before_any_is_varied_twice(self) -> None:
        ((asked, near),) = nearby_inputs.generate_nearby_calls([call("price", 100), call("price", 5000)])
        assert [each is asked[0] for each, _ in near[:2]] == [True, False]

    def test_one_argument_is_changed_at_a_time(self) -> None:
        for positional, named in given([call("price", 3, 7, rate=2)]):
            changed = [positional[0] != 3, positional[1] != 7, named["rate"] != 2]
            assert sum(changed) == 1

    @pytest.mark.parametrize("argument", [Path("x"), object, [1, {2}], {"a": Path("x")}])
    def test_only_plain_values_are_varied(self, argument: Any) -> None:
        assert given([call("price", argument)]) == []

    def test_a_call_that_cannot_be_repeated_is_skipped(self) -> None:
        assert nearby_inputs.load_arguments({**call("price", 1), "data": "bm8gcGlja2xl"}) is None


class TestValues:
    @pytest.mark.parametrize("value", [5, 1, -3])
    def test_a_number_keeps_its_sign(self, value: int) -> None:
        assert all((other > 0) == (value > 0) for other in nearby_inputs.vary_value(value, random.Random(1)))

    @pytest.mark.parametrize("value", [7, 2.5, "12:30", "gold", [1, 2], (3, 4), {"a": 1}])
    def test_variations_have_the_same_type(self, value: Any) -> None:
        others = nearby_inputs.vary_value(value, random.Random(1))
        assert others
        assert {type(other) for other in others} == {type(value)}

    def test_a_stepped_text_differs_in_one_digit(self) -> None:
        stepped = nearby_inputs.vary_value("12:39", random.Random(1))[:4]
        assert all(sum(a != b for a, b in zip(each, "12:39", strict=True)) == 1 for each in stepped)

    @pytest.mark.parametrize("value", [True, None])
    def test_booleans_and_none_are_not_varied(self, value: Any) -> None:
        assert nearby_inputs.vary_value(value, random.Random(1)) == []


class TestAnswers:
    """With real functions, as the launcher passes them."""

    @staticmethod
    def asked(function: Any, *arguments: Any) -> list[dict[str, Any]]:
        tools = SimpleNamespace(
            find_function=lambda module, name: function,
            record_outcome=lambda ask, _: {"text": repr(ask())},
        )
        calls = [call("price", each, text=repr(function(each))) for each in arguments]
        fence = SimpleNamespace(active=False)
        found = nearby_inputs.try_nearby_inputs(calls, tools, lambda asked, given, named: asked(*given, **named), fence)
        assert fence.active is False
        return found

    def test_recorded_cases_and_nearby_answers_are_reported(self) -> None:
        (found,) = self.asked(lambda number: number * 2, 3, 8)
        assert found["cases"] == [{"given": "(3,)", "answer": "6"}, {"given": "(8,)", "answer": "16"}]
        assert {"given": "(4,)", "answer": "8"} in found["near"]

    def test_an_error_for_a_nearby_input_is_reported_by_type(self) -> None:
        (found,) = self.asked(lambda number: {3: "a", 8: "b"}[number], 3, 8)
        assert {each.get("raised") for each in found["near"]} == {"KeyError"}

    def test_one_example_is_not_enough(self) -> None:
        assert self.asked(lambda number: number * 2, 3) == []

    def test_a_function_with_another_answer_on_replay_is_not_judged(self) -> None:
        answers = iter(range(100))
        assert self.asked(lambda _: next(answers), 3, 8) == []

    def test_output_of_the_function_is_suppressed(self, capsys: pytest.CaptureFixture[str]) -> None:
        def loud(number: int) -> int:
            print("noise")
            return number

        self.asked(loud, 3, 8)
        assert capsys.readouterr().out.count("noise") == 2  # from this test's own two calls

    def test_an_exit_counts_as_an_error(self) -> None:
        def leaves(number: int) -> int:
            if number not in (3, 8):
                raise SystemExit(0)
            return number

        (found,) = self.asked(leaves, 3, 8)
        assert {each.get("raised") for each in found["near"]} == {"SystemExit"}
