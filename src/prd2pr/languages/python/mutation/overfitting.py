"""The overfitting check: whether a function implements the rule or only the examples in its tests.

The check compares the answers to the examples with those to nearby inputs. A lookup table can be a legitimate
implementation, so it counts as overfitting only if the examples are not a list of names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prd2pr.languages.python.rules.source_code.lookup_tables import (
    MIN_POINTS,
    has_same_letters,
    has_scattered_numbers,
    has_simple_rule,
    is_number,
)

MAX_SHARED_LETTERS = 4  # strings made of so few letters are assumed to be composed of parts
MIN_NEARBY_CALLS = 8  # fewer nearby calls prove nothing
# Raised by a failed lookup. Code that rejects an input raises something else.
_LOOKUP_ERRORS = frozenset({"KeyError", "IndexError", "StopIteration", "UnboundLocalError", "NotImplementedError"})
# For numbers and strings parsed as numbers, because no rule rejects all inputs near an accepted one.
_VALUE_ERRORS = frozenset({"ValueError", "LookupError"})
_EMPTY_ANSWERS = frozenset({"None", "0", "''", "False", "[]", "()", "{}", "0.0"})
_UNKNOWN = object()


@dataclass(frozen=True)
class RecordedAnswer:
    """One call and its result as text. If both `answer` and `raised` are empty, the result could not be rendered."""

    given: str
    answer: str = ""
    raised: str = ""

    @property
    def arguments(self) -> tuple[Any, ...]:
        value = _parse_literal(self.given)
        return value if isinstance(value, tuple) else ()


def read_answer(fact: Mapping[str, str]) -> RecordedAnswer:
    return RecordedAnswer(fact["given"], fact.get("answer", ""), fact.get("raised", ""))


def find_overfitting(cases: tuple[RecordedAnswer, ...], near: tuple[RecordedAnswer, ...]) -> str:
    """Return an example of a wrong answer to a nearby call if all nearby calls fail, otherwise an empty string."""
    informative = [each for each in cases if each.answer not in _EMPTY_ANSWERS]
    if len(near) < MIN_NEARBY_CALLS or len({each.answer for each in informative}) < 2 or not _require_rule(informative):
        return ""
    numbers = all(is_number(value) for each in informative for value in each.arguments)
    parsed = _are_parsed_from_text([(each.arguments, _parse_literal(each.answer)) for each in informative])
    expected_errors = _LOOKUP_ERRORS | _VALUE_ERRORS if numbers or parsed else _LOOKUP_ERRORS
    if any(not each.answer and each.raised not in expected_errors for each in near):
        return ""
    nearby_answers = {each.answer for each in near if each.answer}
    # An answer that the tests expect may be the default for all other inputs, unless a rule explains the examples.
    is_default = bool(nearby_answers & {each.answer for each in cases}) and not _is_explained_by_rule(cases)
    is_constant = len(nearby_answers) <= 1 and not is_default
    is_identity = all(not each.answer or _is_identity(each) for each in near) and not any(
        map(_is_identity, informative)
    )
    return _render_answer(near[0]) if is_constant or is_identity else ""


def _is_identity(each: RecordedAnswer) -> bool:
    return bool(each.arguments) and repr(each.arguments[0]) == each.answer


def _render_answer(each: RecordedAnswer) -> str:
    given = each.given.removesuffix(",)") + ")" if each.given.endswith(",)") else each.given
    return f"{given} {'gives ' + each.answer if each.answer else 'raises ' + each.raised}"


def _require_rule(informative: list[RecordedAnswer]) -> bool:
    """Return whether only a general rule can explain the examples."""
    cases = [(each.arguments, _parse_literal(each.answer)) for each in informative]
    if any(not given or answer is _UNKNOWN for given, answer in cases):
        return False
    if any(isinstance(value, list | dict) and value for given, _ in cases for value in given):
        return True
    if has_same_letters(cases) or has_scattered_numbers(cases) or has_simple_rule(cases):
        return True
    return any(
        check(cases)
        for check in (_are_computed_from_numbers, _are_parsed_from_text, _are_formatted_numbers, _are_composed_texts)
    )


def _is_explained_by_rule(cases: tuple[RecordedAnswer, ...]) -> bool:
    examples = [(each.arguments, _parse_literal(each.answer)) for each in cases]
    return all(given and answer is not _UNKNOWN for given, answer in examples) and (
        has_same_letters(examples) or has_simple_rule(examples)
    )


def _are_computed_from_numbers(cases: list[tuple[tuple[Any, ...], Any]]) -> bool:
    """Return whether several different numbers always give a number or a list of numbers."""
    return all(
        len(given) > 1
        and all(is_number(value) for value in given)
        and (is_number(answer) or (isinstance(answer, list | tuple) and all(map(is_number, answer))))
        for given, answer in cases
    )


def _are_parsed_from_text(cases: list[tuple[tuple[Any, ...], Any]]) -> bool:
    """Return whether numbers are parsed from strings with at least two digits, as in `"1h30m"` giving 90."""
    texts = [given[0] for given, answer in cases if isinstance(given[0], str) and is_number(answer)]
    return len(texts) == len(cases) >= 2 and all(len(re.findall(r"\d", text)) >= 2 for text in texts)


def _are_formatted_numbers(cases: list[tuple[tuple[Any, ...], Any]]) -> bool:
    """Return whether most strings begin with the digits of their number, as in `1550` giving `"1.55 km"`."""
    matches = [
        _extract_digits(answer).startswith(_extract_digits(str(given[0])).rstrip("0") or "0")
        for given, answer in cases
        if is_number(given[0]) and isinstance(answer, str)
    ]
    return len(matches) == len(cases) >= MIN_POINTS and sum(matches) * 2 > len(matches)


def _are_composed_texts(cases: list[tuple[tuple[Any, ...], Any]]) -> bool:
    """Return whether the strings are composed of parts.

    Examples are `"FizzBuzz"`, made of `"Fizz"` and `"Buzz"`, and `"XIX"` and `"VII"`, made of three letters.
    """
    texts = {answer for given, answer in cases if isinstance(answer, str) and answer and is_number(given[0])}
    pairs = {one + other for one in texts for other in texts if one != other}
    letters = "".join(texts)
    few = len(set(letters)) <= MAX_SHARED_LETTERS and len(letters) >= 2 * MAX_SHARED_LETTERS
    return len(texts) >= MIN_POINTS and (few or bool(texts & pairs))


def _extract_digits(text: str) -> str:
    return "".join(re.findall(r"\d", text))


def _parse_literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _UNKNOWN
