"""Functions with changed return values, for outside callers only."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import enum
from collections import namedtuple
from dataclasses import dataclass

import pytest

from prd2pr.languages.python.probes.return_values import (
    LESS,
    MORE,
    NOTHING,
    OtherError,
    ReturnValueChanger,
    make_different_value,
)


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
def test_a_different_value_has_the_same_type(value, way):
    changed, other = make_different_value(value, way)
    assert changed
    assert other != value
    assert type(other) is type(value)


def test_values_that_cannot_be_changed_are_kept():
    assert make_different_value(print, MORE) == (False, print)
    assert make_different_value(None, MORE) == (False, None)


def answering(*functions, files=frozenset()) -> ReturnValueChanger:
    made = ReturnValueChanger(functions, set(files))
    made.install()
    return made


def test_a_changed_function_keeps_its_defaults():
    def double(number, times=2):
        return number * times

    made = answering(double)
    assert double(3) == 13
    made.change = LESS
    assert double(3, times=1) == -4
    made.change = NOTHING
    assert double(3) is None
    assert made.changed == 3


def test_closures_are_kept():
    rate = 10

    def earn(amount):
        return amount // rate

    answering(earn)
    assert earn(100) == 21


def test_errors_are_suppressed_or_replaced():
    def refuse():
        raise ValueError("no")

    made = answering(refuse)
    assert refuse() is None
    made.change = LESS
    with pytest.raises(OtherError):
        refuse()


def test_the_effect_of_a_method_is_changed():
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


def test_callers_in_the_same_files_get_the_original_value():
    def inner():
        return 1

    made = answering(inner, files={__file__})
    assert inner() == 1
    assert made.changed == 0
