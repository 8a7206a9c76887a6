"""Functions that answer otherwise, to callers from outside alone."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import enum
from collections import namedtuple
from dataclasses import dataclass

import pytest

from prd2pr.runners.answering import LESS, MORE, NOTHING, Answering, OtherError, another


class Tone(enum.Enum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Entry:
    points: int
    note: str = ""


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    "value",
    [True, 0, 7, -1, 2.5, "", "a", b"", b"x", [], [1, 2], (), (3,), {}, {"a": 1}, set(), {1}, decimal.Decimal(2),
     datetime.date(2024, 2, 29), datetime.timedelta(0), Tone.LOW, Entry(3), Pair(1, "x")],
)  # fmt: skip
@pytest.mark.parametrize("way", [MORE, LESS])
def test_another_value_is_of_the_same_kind_and_not_the_same(value, way):
    changed, other = another(value, way)
    assert changed
    assert other != value
    assert type(other) is type(value)


def test_what_cannot_be_made_up_is_left():
    assert another(print, MORE) == (False, print)
    assert another(None, MORE) == (False, None)


def answering(*functions, files=frozenset()) -> Answering:
    made = Answering(functions, set(files))
    made.install()
    return made


def test_a_function_answers_something_else_and_keeps_its_defaults():
    def double(number, times=2):
        return number * times

    made = answering(double)
    assert double(3) == 13
    made.way = LESS
    assert double(3, times=1) == -4
    made.way = NOTHING
    assert double(3) is None
    assert made.changed == 3


def test_variables_around_a_function_are_kept():
    rate = 10

    def earn(amount):
        return amount // rate

    answering(earn)
    assert earn(100) == 21


def test_an_error_is_not_raised_or_is_another_one():
    def refuse():
        raise ValueError("no")

    made = answering(refuse)
    assert refuse() is None
    made.way = LESS
    with pytest.raises(OtherError):
        refuse()


def test_what_a_method_did_to_its_object_is_something_else():
    class Account:
        def record(self, points):
            self.points = points

    answering(Account.record)
    account = Account()
    account.record(5)
    assert account.points == 11


def test_a_coroutine_is_awaited_first():
    async def earn():
        return 1

    answering(earn)
    assert asyncio.run(earn()) == 3


def test_callers_of_the_same_files_are_told_the_truth():
    def inner():
        return 1

    made = answering(inner, files={__file__})
    assert inner() == 1
    assert made.changed == 0
