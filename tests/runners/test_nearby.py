"""What is asked of a function beside the examples of its tests."""

from __future__ import annotations

import base64
import pickle
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prd2pr.runners import nearby


def call(function: str, *positional: Any, text: str = "", **named: Any) -> nearby.Call:
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


def given(asked: list[nearby.Call]) -> list[Any]:
    ((_, near),) = nearby.questions(asked)
    return [arguments for _, arguments in near]


class TestQuestions:
    def test_the_same_calls_lead_to_the_same_questions(self) -> None:
        calls = [call("price", 3, "a4 sheet", rate=0.5), call("price", 9, "b5 sheet", rate=1.5)]
        assert given(calls) == given(calls)

    def test_nothing_is_asked_that_the_tests_ask(self) -> None:
        calls = [call("price", number) for number in range(8)]
        assert not {0, 1, 2, 3, 4, 5, 6, 7} & {positional[0] for positional, _ in given(calls)}

    def test_one_function_with_many_examples_gets_a_bounded_number_of_questions(self) -> None:
        assert len(given([call("price", number * 100) for number in range(50)])) == nearby.MOST_NEAR

    def test_many_functions_are_asked_up_to_a_bound(self) -> None:
        assert len(list(nearby.questions([call(f"f{number}", 1) for number in range(30)]))) == nearby.MOST_FUNCTIONS

    def test_every_example_is_varied_before_any_is_varied_twice(self) -> None:
        ((asked, near),) = nearby.questions([call("price", 100), call("price", 5000)])
        assert [each is asked[0] for each, _ in near[:2]] == [True, False]

    def test_one_argument_is_changed_at_a_time(self) -> None:
        for positional, named in given([call("price", 3, 7, rate=2)]):
            changed = [positional[0] != 3, positional[1] != 7, named["rate"] != 2]
            assert sum(changed) == 1

    @pytest.mark.parametrize("argument", [Path("x"), object, [1, {2}], {"a": Path("x")}])
    def test_what_is_no_plain_value_is_not_varied(self, argument: Any) -> None:
        assert given([call("price", argument)]) == []

    def test_a_call_that_cannot_be_made_again_is_left_out(self) -> None:
        assert nearby.arguments_of({**call("price", 1), "data": "bm8gcGlja2xl"}) is None


class TestValues:
    @pytest.mark.parametrize("value", [5, 1, -3])
    def test_a_number_keeps_its_sign(self, value: int) -> None:
        assert all((other > 0) == (value > 0) for other in nearby.varied(value, random.Random(1)))

    @pytest.mark.parametrize("value", [7, 2.5, "12:30", "gold", [1, 2], (3, 4), {"a": 1}])
    def test_others_are_of_the_same_type(self, value: Any) -> None:
        others = nearby.varied(value, random.Random(1))
        assert others
        assert {type(other) for other in others} == {type(value)}

    def test_in_a_text_with_digits_a_stepped_one_differs_in_one_place(self) -> None:
        stepped = nearby.varied("12:39", random.Random(1))[:4]
        assert all(sum(a != b for a, b in zip(each, "12:39", strict=True)) == 1 for each in stepped)

    @pytest.mark.parametrize("value", [True, None])
    def test_there_is_nothing_beside_a_truth_or_nothing(self, value: Any) -> None:
        assert nearby.varied(value, random.Random(1)) == []


class TestAnswers:
    """With the functions themselves, as the launcher hands them on."""

    @staticmethod
    def asked(function: Any, *arguments: Any) -> list[dict[str, Any]]:
        tools = SimpleNamespace(
            function_of=lambda module, name: function,
            outcome_of=lambda ask, _: {"text": repr(ask())},
        )
        calls = [call("price", each, text=repr(function(each))) for each in arguments]
        fence = SimpleNamespace(up=False)
        found = nearby.asked_near(calls, tools, lambda asked, given, named: asked(*given, **named), fence)
        assert fence.up is False
        return found

    def test_cases_of_the_tests_and_answers_beside_them_are_told(self) -> None:
        (found,) = self.asked(lambda number: number * 2, 3, 8)
        assert found["cases"] == [{"given": "(3,)", "answer": "6"}, {"given": "(8,)", "answer": "16"}]
        assert {"given": "(4,)", "answer": "8"} in found["near"]

    def test_an_error_beside_the_examples_is_told_by_its_type(self) -> None:
        (found,) = self.asked(lambda number: {3: "a", 8: "b"}[number], 3, 8)
        assert {each.get("raised") for each in found["near"]} == {"KeyError"}

    def test_one_example_alone_says_nothing_about_a_table(self) -> None:
        assert self.asked(lambda number: number * 2, 3) == []

    def test_who_answers_otherwise_than_the_tests_were_answered_is_not_judged(self) -> None:
        answers = iter(range(100))
        assert self.asked(lambda _: next(answers), 3, 8) == []

    def test_what_a_function_prints_is_not_let_through(self, capsys: pytest.CaptureFixture[str]) -> None:
        def loud(number: int) -> int:
            print("noise")
            return number

        self.asked(loud, 3, 8)
        assert capsys.readouterr().out.count("noise") == 2  # from this test's own two calls

    def test_an_exit_is_an_answer_like_any_error(self) -> None:
        def leaves(number: int) -> int:
            if number not in (3, 8):
                raise SystemExit(0)
            return number

        (found,) = self.asked(leaves, 3, 8)
        assert {each.get("raised") for each in found["near"]} == {"SystemExit"}
