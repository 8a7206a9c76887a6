"""Whether a function knows only the examples of its tests, judged by its answers for nearby inputs."""

from __future__ import annotations

import pytest

from prd2pr.languages.python.mutation.overfitting import RecordedAnswer, find_overfitting


def answers(*pairs: tuple[tuple[object, ...], object]) -> tuple[RecordedAnswer, ...]:
    return tuple(RecordedAnswer(repr(given), repr(answer)) for given, answer in pairs)


SLUGS = answers((("Hello World",), "hello-world"), (("A b",), "a-b"))
SPLITS = answers(((900, 3), [300, 300, 300]), ((10, 3), [4, 3, 3]))
TIMES = answers((("1h30m",), 90), (("2h05m",), 125))
LENGTHS = answers(((999,), "999 m"), ((1550,), "1.55 km"), ((2100,), "2.1 km"))
NUMERALS = answers(((1,), "I"), ((10,), "X"), ((9,), "IX"))
FEW = answers(((4,), "IV"), ((19,), "XIX"), ((7,), "VII"))
PRICES = answers((("tea",), 3), (("cake",), 5))
STATUSES = answers(((200,), "OK"), ((404,), "Not Found"), ((500,), "Error"))
YEARS = answers(((2000,), True), ((1900,), False), ((2024,), True))


def missed(raised: str) -> tuple[RecordedAnswer, ...]:
    return tuple(RecordedAnswer(repr((f"near {at}",)), raised=raised) for at in range(10))


def given(answer: str) -> tuple[RecordedAnswer, ...]:
    return tuple(RecordedAnswer(repr((f"near {at}",)), answer) for at in range(10))


@pytest.mark.parametrize("cases", [SLUGS, SPLITS, TIMES, LENGTHS, NUMERALS, FEW])
def test_a_function_that_fails_for_all_nearby_inputs_is_overfitted(cases: tuple[RecordedAnswer, ...]) -> None:
    assert find_overfitting(cases, missed("KeyError")) == "('near 0') raises KeyError"
    assert find_overfitting(cases, given("None")) == "('near 0') gives None"
    assert find_overfitting(cases, missed("KeyError")[:5]) == ""  # too few to tell


@pytest.mark.parametrize("cases", [PRICES, STATUSES, YEARS])
def test_a_lookup_of_names_is_legitimate(cases: tuple[RecordedAnswer, ...]) -> None:
    assert find_overfitting(cases, missed("KeyError")) == ""


def test_one_new_answer_is_enough() -> None:
    assert (
        find_overfitting(
            SLUGS, (*missed("KeyError"), RecordedAnswer("('C d',)", "'c-d'"), RecordedAnswer("('x',)", "'x'"))
        )
        == ""
    )


def test_rejecting_an_input_is_not_overfitting() -> None:
    assert find_overfitting(SLUGS, missed("ValueError")) == ""
    assert find_overfitting(SPLITS, missed("ValueError")) != ""  # no correct function rejects all nearby numbers
    assert find_overfitting(TIMES, missed("ValueError")) != ""
    assert find_overfitting(SPLITS, missed("NotEnough")) == ""


def test_returning_the_input_is_no_answer() -> None:
    back = tuple(RecordedAnswer(repr((text,)), repr(text)) for text in map("Near {}".format, range(10)))
    assert find_overfitting(SLUGS, back) != ""
    assert find_overfitting((*SLUGS, *answers((("a",), "a"))), back) == ""


def test_a_tested_answer_may_be_the_default() -> None:
    milestones = answers(((10,), 5), ((30,), 20), ((100,), 50), ((11,), 0))
    assert find_overfitting(milestones, given("0")) == ""
    assert find_overfitting(milestones[:3], given("0")) != ""
    line = answers(((0,), 273), ((37,), 310), ((-40,), 233))
    assert find_overfitting(line, given("273")) != ""  # a rule says otherwise
