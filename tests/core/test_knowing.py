"""Whether a function knows more than the examples of its tests, by what it answers near to them."""

from __future__ import annotations

import pytest

from prd2pr.core.bite.knowing import Answered, knows_only


def answers(*pairs: tuple[tuple[object, ...], object]) -> tuple[Answered, ...]:
    return tuple(Answered(repr(given), repr(answer)) for given, answer in pairs)


SLUGS = answers((("Hello World",), "hello-world"), (("A b",), "a-b"))
SPLITS = answers(((900, 3), [300, 300, 300]), ((10, 3), [4, 3, 3]))
TIMES = answers((("1h30m",), 90), (("2h05m",), 125))
LENGTHS = answers(((999,), "999 m"), ((1550,), "1.55 km"), ((2100,), "2.1 km"))
NUMERALS = answers(((1,), "I"), ((10,), "X"), ((9,), "IX"))
FEW = answers(((4,), "IV"), ((19,), "XIX"), ((7,), "VII"))
PRICES = answers((("tea",), 3), (("cake",), 5))
STATUSES = answers(((200,), "OK"), ((404,), "Not Found"), ((500,), "Error"))
YEARS = answers(((2000,), True), ((1900,), False), ((2024,), True))


def missed(raised: str) -> tuple[Answered, ...]:
    return tuple(Answered(repr((f"near {at}",)), raised=raised) for at in range(10))


def given(answer: str) -> tuple[Answered, ...]:
    return tuple(Answered(repr((f"near {at}",)), answer) for at in range(10))


@pytest.mark.parametrize("cases", [SLUGS, SPLITS, TIMES, LENGTHS, NUMERALS, FEW])
def test_who_answers_nothing_near_to_the_examples_knows_only_these(cases: tuple[Answered, ...]) -> None:
    assert knows_only(cases, missed("KeyError")) == "('near 0') raises KeyError"
    assert knows_only(cases, given("None")) == "('near 0') gives None"
    assert knows_only(cases, missed("KeyError")[:5]) == ""  # too few to tell


@pytest.mark.parametrize("cases", [PRICES, STATUSES, YEARS])
def test_a_list_of_names_is_what_the_world_is_like(cases: tuple[Answered, ...]) -> None:
    assert knows_only(cases, missed("KeyError")) == ""


def test_one_answer_of_its_own_is_enough() -> None:
    assert knows_only(SLUGS, (*missed("KeyError"), Answered("('C d',)", "'c-d'"), Answered("('x',)", "'x'"))) == ""


def test_who_refuses_an_input_knows_what_it_takes() -> None:
    assert knows_only(SLUGS, missed("ValueError")) == ""
    assert knows_only(SPLITS, missed("ValueError")) != ""  # of numbers, nobody refuses all that are near
    assert knows_only(TIMES, missed("ValueError")) != ""
    assert knows_only(SPLITS, missed("NotEnough")) == ""


def test_giving_back_what_came_in_is_no_answer() -> None:
    back = tuple(Answered(repr((text,)), repr(text)) for text in map("Near {}".format, range(10)))
    assert knows_only(SLUGS, back) != ""
    assert knows_only((*SLUGS, *answers((("a",), "a"))), back) == ""


def test_what_the_tests_expect_elsewhere_may_be_meant_for_all_others() -> None:
    milestones = answers(((10,), 5), ((30,), 20), ((100,), 50), ((11,), 0))
    assert knows_only(milestones, given("0")) == ""
    assert knows_only(milestones[:3], given("0")) != ""
    line = answers(((0,), 273), ((37,), 310), ((-40,), 233))
    assert knows_only(line, given("273")) != ""  # a rule says otherwise
