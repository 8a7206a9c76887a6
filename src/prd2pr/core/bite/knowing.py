"""Does a function know the rule, or only the examples? What it answers near to them tells, however it is written.

A table may be what the world is like, so it is held against the code only where the examples are no list of names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prd2pr.core.sourcefacts_tables import ENOUGH, has_rule, is_number, is_spelt_out, numbers_here_and_there

FEW_LETTERS = 4  # of which several texts are made
MANY = 8  # questions near to the examples: fewer say nothing
# What looking something up in vain comes to. Who refuses an input raises something else.
_NOT_FOUND = frozenset({"KeyError", "IndexError", "StopIteration", "UnboundLocalError", "NotImplementedError"})
# Of numbers, and of texts that are read for one: nobody refuses all that lie near to what is taken.
_REFUSED = frozenset({"ValueError", "LookupError"})
_NOTHING = frozenset({"None", "0", "''", "False", "[]", "()", "{}", "0.0"})
_OPEN = object()


@dataclass(frozen=True)
class Answered:
    """One call, as texts. Neither `answer` nor `raised`: it came to something that cannot be told."""

    given: str
    answer: str = ""
    raised: str = ""

    @property
    def arguments(self) -> tuple[Any, ...]:
        value = _literal(self.given)
        return value if isinstance(value, tuple) else ()


def answered(fact: Mapping[str, str]) -> Answered:
    return Answered(fact["given"], fact.get("answer", ""), fact.get("raised", ""))


def knows_only(cases: tuple[Answered, ...], near: tuple[Answered, ...]) -> str:
    """One of the questions that it cannot answer, if it can answer none; else empty."""
    telling = [each for each in cases if each.answer not in _NOTHING]
    if len(near) < MANY or len({each.answer for each in telling}) < 2 or not _ask_for_a_rule(telling):
        return ""
    numbers = all(is_number(value) for each in telling for value in each.arguments)
    read_off = _are_read_off([(each.arguments, _literal(each.answer)) for each in telling])
    missed = _NOT_FOUND | _REFUSED if numbers or read_off else _NOT_FOUND
    if any(not each.answer and each.raised not in missed for each in near):
        return ""
    told = {each.answer for each in near if each.answer}
    # What the tests themselves expect of an input may be meant for all others, unless a rule says otherwise.
    meant = bool(told & {each.answer for each in cases}) and not _is_explained(cases)
    same = len(told) <= 1 and not meant
    itself = all(not each.answer or _is_itself(each) for each in near) and not any(map(_is_itself, telling))
    return _shown(near[0]) if same or itself else ""


def _is_itself(each: Answered) -> bool:
    return bool(each.arguments) and repr(each.arguments[0]) == each.answer


def _shown(each: Answered) -> str:
    given = each.given.removesuffix(",)") + ")" if each.given.endswith(",)") else each.given
    return f"{given} {'gives ' + each.answer if each.answer else 'raises ' + each.raised}"


def _ask_for_a_rule(telling: list[Answered]) -> bool:
    cases = [(each.arguments, _literal(each.answer)) for each in telling]
    if any(not given or answer is _OPEN for given, answer in cases):
        return False
    if any(isinstance(value, list | dict) and value for given, _ in cases for value in given):
        return True
    if is_spelt_out(cases) or numbers_here_and_there(cases) or has_rule(cases):
        return True
    return any(ask(cases) for ask in (_are_worked_out, _are_read_off, _are_written, _are_put_together))


def _is_explained(cases: tuple[Answered, ...]) -> bool:
    told = [(each.arguments, _literal(each.answer)) for each in cases]
    return all(given and answer is not _OPEN for given, answer in told) and (is_spelt_out(told) or has_rule(told))


def _are_worked_out(cases: list[tuple[tuple[Any, ...], Any]]) -> bool:
    """Several numbers to a number, or to several."""
    return all(
        len(given) > 1
        and all(is_number(value) for value in given)
        and (is_number(answer) or (isinstance(answer, list | tuple) and all(map(is_number, answer))))
        for given, answer in cases
    )


def _are_read_off(cases: list[tuple[tuple[Any, ...], Any]]) -> bool:
    """`"1h30m"` to 90: a number out of a text that has digits, two of them at least, in several places of it."""
    texts = [given[0] for given, answer in cases if isinstance(given[0], str) and is_number(answer)]
    return len(texts) == len(cases) >= 2 and all(len(re.findall(r"\d", text)) >= 2 for text in texts)


def _are_written(cases: list[tuple[tuple[Any, ...], Any]]) -> bool:
    """`1550` to `"1.55 km"`: most texts begin with the digits of their number."""
    found = [
        _digits(answer).startswith(_digits(str(given[0])).rstrip("0") or "0")
        for given, answer in cases
        if is_number(given[0]) and isinstance(answer, str)
    ]
    return len(found) == len(cases) >= ENOUGH and sum(found) * 2 > len(found)


def _are_put_together(cases: list[tuple[tuple[Any, ...], Any]]) -> bool:
    """`"FizzBuzz"` of `"Fizz"` and `"Buzz"`, `"XIX"` and `"VII"` of three letters: texts that have parts."""
    texts = {answer for given, answer in cases if isinstance(answer, str) and answer and is_number(given[0])}
    pairs = {one + other for one in texts for other in texts if one != other}
    letters = "".join(texts)
    few = len(set(letters)) <= FEW_LETTERS and len(letters) >= 2 * FEW_LETTERS
    return len(texts) >= ENOUGH and (few or bool(texts & pairs))


def _digits(text: str) -> str:
    return "".join(re.findall(r"\d", text))


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _OPEN
