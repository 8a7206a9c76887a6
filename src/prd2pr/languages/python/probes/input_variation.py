"""Generates inputs close to those of the tests, from boundary values, constants in the code and single changes.

Runs under the project's own Python and uses only the standard library. The same seed gives the same inputs.

An input is `near` if a caller who knows the tests might pass it: the same types and signs, small numbers, plain
letters, empty values. Any other input is `odd`, and the code may not be written for it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator
from typing import Any

MAX_GENERATED = 48  # generated inputs per function
MAX_GUESSED = 20  # generated inputs for a function that no test calls
MAX_ELEMENTS_VARIED = 3  # list elements that are varied individually
NEAR_FACTOR, SMALL_NUMBER = 100, 1000
NUMBERS = ("plain", "float", "Decimal")
NON_ASCII = "ß🙂"

Case = dict[str, Any]
Place = tuple[Any, ...]


def generate_cases(
    targets: list[dict[str, Any]], calls: list[dict[str, Any]], constants: dict[str, list[Any]], seed: str
) -> list[Case]:
    """Return each recorded call followed by its variations.

    Inputs for functions without recorded calls are derived from annotations or guessed.
    """
    found: list[Case] = []
    for target in targets:
        if target["kind"] == "init" or not target["judged"]:
            continue
        recorded = [call for call in calls if call["target"] == target["id"]]
        found += [{**call, "origin": "recorded"} for call in recorded]
        starting_calls = recorded or list(_guess_calls(target))
        found += [] if recorded else starting_calls
        found += _vary_calls(target, starting_calls, constants.get(target["path"], []), seed, guessed=not recorded)
    named = {target["id"]: {"called": target["name"], "kind": target["kind"]} for target in targets}
    return [{"id": number, **case, **named[case["target"]]} for number, case in enumerate(found)]


def _vary_calls(
    target: dict[str, Any], starting_calls: list[Any], constants: list[Any], seed: str, *, guessed: bool
) -> list[Case]:
    known = {_make_call_key(call) for call in starting_calls}
    kinds: dict[Place, set[Any]] = {}
    largest: dict[Place, float] = {}
    for call in starting_calls:
        for place, leaf in _find_leaves(call):
            kinds.setdefault(_get_leaf_address(place), set()).update(_get_value_kinds(leaf))
            largest[_get_leaf_address(place)] = max(largest.get(_get_leaf_address(place), 0), _get_magnitude(leaf))
    found: dict[str, tuple[int, Case]] = {}
    for call in starting_calls:
        for place, leaf in _find_leaves(call):
            at = _get_leaf_address(place)
            for rank, other in _generate_other_values(leaf, constants, optional=_is_optional(target, place)):
                changed = _replace_leaf(call, place, other)
                key = _make_call_key(changed)
                if key in known or key in found:
                    continue
                near = _is_near(other, kinds[at], largest[at], optional=_is_optional(target, place))
                found[key] = rank, {**changed, "origin": _get_origin(call, near=near, guessed=guessed)}
    drawn = sorted(found, key=lambda key: (found[key][0], hashlib.sha256(f"{seed} {key}".encode()).digest()))
    return [found[key][1] for key in drawn[: MAX_GUESSED if guessed else MAX_GENERATED]]


def _get_origin(call: Case, *, near: bool, guessed: bool) -> str:
    if guessed:
        return call["origin"] if near else "odd"
    return "near" if near else "odd"


def _make_call_key(call: Case) -> str:
    return json.dumps([call["self"], call["args"], call["kwargs"]], sort_keys=True)


# --- which values of a call can be varied ----------------------------------------------------------------------------


def _find_leaves(call: Case) -> Iterator[tuple[Place, Any]]:
    for number, recipe in enumerate(call["args"]):
        yield from _find_leaves_in_recipe(recipe, ("args", number))
    for name, recipe in call["kwargs"].items():
        yield from _find_leaves_in_recipe(recipe, ("kwargs", name))
    if call["self"] is not None:
        yield from _find_leaves_in_recipe(call["self"], ("self",))


def _find_leaves_in_recipe(recipe: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    letter = recipe[0]
    if letter in ("plain", "float", "bytes", "Decimal", "date", "datetime"):
        yield place, recipe
    elif letter in ("list", "tuple", "deque"):
        yield place, recipe
        for number, item in enumerate(recipe[1][:MAX_ELEMENTS_VARIED]):
            yield from _find_leaves_in_recipe(item, (*place, 1, number))
    elif letter in ("dict", "OrderedDict"):
        yield place, recipe
        for number, pair in enumerate(recipe[1][:MAX_ELEMENTS_VARIED]):
            yield from _find_leaves_in_recipe(pair[1], (*place, 1, number, 1))
    elif letter in ("set", "frozenset"):
        yield place, recipe
    elif letter == "data":
        for name, item in recipe[3].items():
            yield from _find_leaves_in_recipe(item, (*place, 3, name))
    elif letter == "fields":
        for number, item in enumerate(recipe[3]):
            yield from _find_leaves_in_recipe(item, (*place, 3, number))
    elif letter == "made":
        yield from _find_leaves_in_object(recipe, place)


def _find_leaves_in_object(recipe: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    for step, call in (
        (3, recipe[3]),
        *(((4, number), call) for number, call in enumerate(recipe[4][:MAX_ELEMENTS_VARIED])),
    ):
        start = (*place, *(step if isinstance(step, tuple) else (step,)))
        for number, item in enumerate(call["args"]):
            yield from _find_leaves_in_recipe(item, (*start, "args", number))
        for name, item in call["kwargs"].items():
            yield from _find_leaves_in_recipe(item, (*start, "kwargs", name))


def _get_leaf_address(place: Place) -> Place:
    """Return the address of a value without list positions.

    All elements of a list share one address, because it is unknown which of them are alike.
    """
    return (*place[:2], *("*" if isinstance(step, int) else step for step in place[2:]))


def _replace_leaf(call: Case, place: Place, other: Any) -> Case:
    changed = json.loads(json.dumps(call))
    inner: Any = changed
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = other
    return dict(changed)


def _is_optional(target: dict[str, Any], place: Place) -> bool:
    if len(place) != 2:
        return False
    hints = target["hints"]
    hint = hints.get(place[1]) if place[0] == "kwargs" else dict(enumerate(hints.values())).get(place[1])
    return any(word in str(hint or "") for word in ("None", "Optional"))


# --- other values ----------------------------------------------------------------------------------------------------


def _generate_other_values(leaf: Any, constants: list[Any], *, optional: bool) -> Iterator[tuple[int, Any]]:
    """Yield alternative values with a rank: constants from the code first, then empty values, then the rest."""
    letter, value = leaf[0], leaf[1]
    if optional and leaf != ["plain", None]:
        yield 0, ["plain", None]
    if letter == "plain" and isinstance(value, bool):
        yield 0, ["plain", not value]
    elif letter == "plain" and isinstance(value, int):
        yield from (_rank_number(["plain", n]) for n in _vary_int(value, [c for c in constants if type(c) is int]))
    elif letter == "float":
        yield from _vary_float(float(value), constants)
    elif letter == "Decimal":
        numbers = [str(c) for c in constants if type(c) is int]
        yield from ((1, ["Decimal", text]) for text in ("0", "1", "-1", "0.005", "0.015", "2.5", "99.99", *numbers))
    elif letter == "plain" and isinstance(value, str):
        yield from _vary_text(value, [c for c in constants if isinstance(c, str)])
    elif letter == "bytes":
        yield from ((1, ["bytes", text]) for text in ("", value + value, "00ff"))
    elif letter in ("date", "datetime"):
        yield from _vary_date(letter, value)
    elif letter in ("list", "tuple", "deque"):
        yield from _vary_sequence(letter, value)
    elif letter in ("set", "frozenset") and value:
        yield from ((1, [letter, items]) for items in (value[:0], value[:1], value[1:]))
    elif letter in ("dict", "OrderedDict") and value:
        yield from ((1, [letter, pairs]) for pairs in (value[:0], value[:1], value[1:], value[::-1]))


def _rank_number(recipe: Any) -> tuple[int, Any]:
    return (1 if recipe[1] in (0, 1, -1) else 0), recipe


def _vary_int(value: int, mentioned: list[int]) -> Iterator[int]:
    for number in sorted(set(mentioned)):
        yield from (number - 1, number, number + 1)
    yield from (0, 1, -1, value + 1, value - 1, value + 2, value * 2, value * 2 + 1, value * 10, value * 37 + 5, -value)
    yield value * 100_003


def _vary_float(value: float, constants: list[Any]) -> Iterator[tuple[int, Any]]:
    mentioned = sorted({float(c) for c in constants if type(c) in (int, float) and abs(c) < 1e12})
    for number in mentioned:
        yield from ((0, ["float", repr(each)]) for each in (number, number - 0.01, number + 0.01))
    rest = (0.0, 1.0, -1.0, 0.005, value + 0.5, value + 0.125, value * 2, value * 10, value / 3, -value, value * 1e9)
    yield from ((1, ["float", repr(float(each))]) for each in rest)


def _vary_text(value: str, mentioned: list[str]) -> Iterator[tuple[int, Any]]:
    yield from ((0, ["plain", text]) for text in sorted(set(mentioned)) if len(text) <= 60)
    rest = ("", value + value, value[:1], value[1:], value.upper(), value.lower(), value.title(), value[::-1], "x", "7")
    yield from ((1, ["plain", text]) for text in rest)
    yield from (
        (2, ["plain", text]) for text in (f" {value}", f"{value} ", f"{value}\n", value + NON_ASCII, value * 40)
    )


def _vary_date(letter: str, value: str) -> Iterator[tuple[int, Any]]:
    kind = datetime.date if letter == "date" else datetime.datetime
    day = kind.fromisoformat(value)
    for days in (1, -1, 31, 365, -365):
        try:
            yield 1, [letter, (day + datetime.timedelta(days=days)).isoformat()]
        except OverflowError:
            continue
    yield 1, [letter, day.replace(year=2024, month=2, day=29).isoformat()]
    yield 1, [letter, day.replace(month=12, day=31).isoformat()]


def _vary_sequence(letter: str, items: list[Any]) -> Iterator[tuple[int, Any]]:
    yield 0, [letter, []]
    if items:
        yield 0, [letter, [*items, items[0]]]
        yield from ((1, [letter, each]) for each in (items[::-1], items[:1], items[1:], items * 5))


# --- near or odd -----------------------------------------------------------------------------------------------------


def _get_value_kinds(recipe: Any) -> set[Any]:
    letter, value = recipe[0], recipe[1]
    if letter in NUMBERS and not isinstance(value, (str, bool, type(None))):
        return {(type(value).__name__, _get_sign(value))}
    if letter in ("float", "Decimal"):
        return {(letter, _get_sign(float(value)))}
    if letter == "plain":
        return {(type(value).__name__, _classify_text(value) if isinstance(value, str) else "")}
    return {(letter, len(value) if letter == "tuple" else "")}  # tuples of different lengths count as different types


def _get_sign(value: float) -> str:
    return "negative" if value < 0 else "counted"


def _classify_text(text: str) -> str:
    if not text:
        return "plain"
    if not text.isascii():
        return "strange"
    spaced = text != text.strip() or "  " in text or not text.isprintable()
    return "spaced" if spaced else "plain"


def _get_magnitude(recipe: Any) -> float:
    letter, value = recipe[0], recipe[1]
    if letter in ("float", "Decimal"):
        return abs(float(value))
    return abs(value) if letter == "plain" and type(value) is int else 0


def _is_near(recipe: Any, kinds: set[Any], largest: float, *, optional: bool) -> bool:
    if recipe == ["plain", None]:
        return optional or ("NoneType", "") in kinds
    if recipe[0] in ("dict", "OrderedDict") and not recipe[1]:
        return False  # a record without fields
    return (
        _get_value_kinds(recipe) <= kinds
        and _get_magnitude(recipe) <= max(SMALL_NUMBER, largest * NEAR_FACTOR)
        and not _is_dictionary(recipe)
    )


def _is_dictionary(recipe: Any) -> bool:
    """Return whether a recipe describes a dictionary. Its variations lack keys, on which the code may rely."""
    return recipe[0] in ("dict", "OrderedDict")


# --- guesses ---------------------------------------------------------------------------------------------------------

_BY_HINT: dict[str, list[Any]] = {
    "int": [["plain", 7], ["plain", 3], ["plain", 12]],
    "float": [["float", "2.5"], ["float", "7.25"], ["float", "12.0"]],
    "str": [["plain", "abc"], ["plain", "de f"], ["plain", "7"]],
    "bool": [["plain", True], ["plain", False], ["plain", True]],
    "list": [["list", [["plain", 3], ["plain", 1], ["plain", 2]]]] * 3,
    "list[int]": [["list", [["plain", 3], ["plain", 1], ["plain", 2]]]] * 3,
    "list[float]": [["list", [["float", "3.5"], ["float", "1.25"]]]] * 3,
    "list[str]": [["list", [["plain", "b"], ["plain", "a"], ["plain", "c"]]]] * 3,
    "dict[str,int]": [["dict", [[["plain", "a"], ["plain", 3]], [["plain", "b"], ["plain", 1]]]]] * 3,
}


def _guess_calls(target: dict[str, Any]) -> Iterator[Case]:
    """Yield calls for a function that no test calls: from annotations (`hinted`), or with plain types (`guessed`)."""
    if target["kind"] not in ("function", "static") or not target["guessable"]:
        return
    needed = target["needed"]
    plain = [target["hints"].get(name, "").replace(" ", "").replace("|None", "") for name in needed]
    if needed and all(hint in _BY_HINT for hint in plain):
        yield _make_guess(target, plain, "hinted")
    elif needed and not any(plain):
        for hint in ("int", "str", "float", "list[int]", "list[str]"):
            yield _make_guess(target, [hint] * len(needed), "guessed")
    elif not needed:
        yield _make_guess(target, [], "hinted")


def _make_guess(target: dict[str, Any], hints: list[str], origin: str) -> Case:
    args = [_BY_HINT[hint][number % 3] for number, hint in enumerate(hints)]
    return {
        "target": target["id"],
        "module": target["module"],
        "self": None,
        "args": args,
        "kwargs": {},
        "origin": origin,
    }
