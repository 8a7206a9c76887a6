"""Calls the story's functions with inputs that their tests do not use: plain values of the same shape.

Runs under the project's own Python, like the launcher, and uses only the standard library. Only calls with plain values
are varied. The same calls give the same inputs on any machine.
"""

from __future__ import annotations

import base64
import contextlib
import io
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

MAX_FUNCTIONS, MAX_CASES, MAX_NEARBY = 12, 12, 40
MAX_LENGTH = 300  # characters of a reported value
PLAIN_TYPES = (bool, int, float, str, type(None))

Call = dict[str, Any]
Arguments = tuple[list[Any], dict[str, Any]]


def generate_nearby_calls(calls: list[Call]) -> Iterator[tuple[list[Call], list[tuple[Call, Arguments]]]]:
    """For each function, yield the calls made by the tests and calls with nearby inputs."""
    groups: dict[tuple[str, str], dict[str, Call]] = {}
    for call in calls:
        groups.setdefault((call["module"], call["function"]), {}).setdefault(call["data"], call)
    for _, group in list(groups.items())[:MAX_FUNCTIONS]:
        recorded = list(group.values())[:MAX_CASES]
        yield recorded, list(_vary_recorded_calls(recorded))


def _vary_recorded_calls(recorded: list[Call]) -> Iterator[tuple[Call, Arguments]]:
    seen = {call["data"] for call in recorded}
    found: list[list[tuple[Call, Arguments]]] = []
    for call in recorded:
        variations: list[tuple[Call, Arguments]] = []
        given = load_arguments(call)
        draw = random.Random(call["data"])  # noqa: S311 seeded, so that the same call gives the same inputs
        for other in _vary_arguments(given, draw) if given is not None else ():
            data = _pickle_arguments(other)
            if data and data not in seen:
                seen.add(data)
                variations.append((call, other))
        found.append(variations)
    longest = max(map(len, found), default=0)
    interleaved = [variations[index] for index in range(longest) for variations in found if index < len(variations)]
    yield from interleaved[:MAX_NEARBY]


def load_arguments(call: Call) -> Arguments | None:
    """Return the arguments, or None if any of them, apart from a stateless `self`, is not a plain value."""
    try:
        positional, named = pickle.loads(base64.b64decode(call["data"]))  # noqa: S301 made in the same sandbox
    except Exception:  # noqa: BLE001 skip arguments that cannot be rebuilt here
        return None
    own = [
        each for at, each in enumerate(positional) if not (at == 0 and "." in call["function"] and _is_stateless(each))
    ]
    plain = all(is_plain_value(each) for each in (*own, *named.values()))
    return (positional, named) if plain and (own or named) else None


def _is_stateless(value: Any) -> bool:
    return type(value).__module__ != "builtins" and getattr(value, "__dict__", None) == {}


def is_plain_value(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(is_plain_value(each) for each in value)
    if type(value) is dict:
        return all(is_plain_value(each) for pair in value.items() for each in pair)
    return type(value) in PLAIN_TYPES


def _pickle_arguments(arguments: Arguments) -> str:
    try:
        return base64.b64encode(pickle.dumps(arguments)).decode()
    except Exception:  # noqa: BLE001
        return ""


def _vary_arguments(given: Arguments, draw: random.Random) -> Iterator[Arguments]:
    positional, named = given
    for at, value in enumerate(positional):
        for other in vary_value(value, draw):
            yield [*positional[:at], other, *positional[at + 1 :]], named
    for name, value in named.items():
        for other in vary_value(value, draw):
            yield positional, {**named, name: other}


# --- values -----------------------------------------------------------------------------------------------------------


def vary_value(value: Any, draw: random.Random) -> list[Any]:
    """Return values of the same shape. Code that accepts the original value should accept some of these."""
    kind = type(value)
    if kind is int:
        steps = [value + step for step in (1, -1, 2, -2, 3, 4, -4, 7, 10, -10)] + [value * 2, value * 10, value // 2]
        return [each for each in steps if (each > 0) == (value > 0) or value == 0]
    if kind is float:
        return [value + 1, value * 2, value + 0.5, value / 2, value + 10, value * 3]
    if kind is str:
        return _vary_text(value, draw)
    if kind in (list, tuple):
        return [kind(each) for each in _vary_list(list(value), draw)]
    if kind is dict:
        return [{**value, key: other} for key in value for other in vary_value(value[key], draw)[:2]]
    return []


def _vary_text(text: str, draw: random.Random) -> list[str]:
    replaced = [
        "".join(_replace_letter(each, draw, digits=any(map(str.isdigit, text))) for each in text) for _ in range(6)
    ]
    places = [at for at, each in enumerate(text) if each in "0123456789"]
    stepped = [_step_digit(text, at) for at in draw.sample(places, min(8, len(places)))]
    words = text.split(" ")
    shorter = [text[:at] + text[at + 1 :] for at in draw.sample(range(len(text)), min(4, len(text)))]
    moved = [" ".join(words[::-1]), text[::-1], " ".join([*words, words[0]]), text + text[-1:], text + text]
    return [each for each in (*stepped, *replaced, *shorter, *moved) if each]


def _step_digit(text: str, at: int) -> str:
    """Change one digit by one. A time or date usually stays valid."""
    digit = int(text[at])
    return f"{text[:at]}{digit + 1 if digit < 9 else 8}{text[at + 1 :]}"


def _replace_letter(letter: str, draw: random.Random, *, digits: bool) -> str:
    """Return a replacement for a character.

    If the string contains digits, its letters are kept as units, signs or codes.
    """
    if letter.isdigit():
        return draw.choice("123456789")
    if digits or not letter.isalpha():
        return letter
    other = draw.choice("abdefgilmnorstu")
    return other.upper() if letter.isupper() else other


def _vary_list(items: list[Any], draw: random.Random) -> list[list[Any]]:
    changed = [
        [*items[:at], other, *items[at + 1 :]]
        for at in range(min(len(items), 3))
        for other in vary_value(items[at], draw)[:4]
    ]
    numbers = bool(items) and all(type(each) is int for each in items)
    lifted = [[each + step for each in items] for step in (1, 2, 5)] if numbers else []
    return [items[:-1], items[1:], items[::-1], items + items, items + items[:1], *lifted, *changed]


# --- answers ----------------------------------------------------------------------------------------------------------


def try_nearby_inputs(calls: list[Call], tools: Any, caller: Callable[..., Any], guard: Any) -> list[dict[str, Any]]:
    """Call each function with nearby inputs.

    `tools` finds functions and records outcomes; `guard` blocks side effects.
    """
    found = []
    for recorded, near in generate_nearby_calls(calls):
        function = _find_function(recorded[0], tools) if near else None
        if function is None:
            continue
        cases = [each for call in recorded if (each := _replay_case(call, function, tools, caller, guard))]
        if len(cases) < 2:
            continue
        described = [_describe_call(function, arguments, caller, guard) for _, arguments in near]
        keys = ("path", "line", "function", "test")
        found.append({**{key: recorded[0][key] for key in keys}, "cases": cases, "near": described})
    return found


def _find_function(call: Call, tools: Any) -> Any:
    try:
        return tools.find_function(call["module"], call["function"])
    except BaseException:  # noqa: BLE001 the module may fail to import here
        return None


def _replay_case(
    call: Call, function: Any, tools: Any, caller: Callable[..., Any], guard: Any
) -> dict[str, str] | None:
    """Replay a recorded call outside the test. Return its outcome if it is the same as in the test, otherwise None."""
    given, again = load_arguments(call), load_arguments(call)
    if given is None or again is None:
        return None
    described = _describe_call(function, given, caller, guard)
    with _silence_output(guard):
        same = tools.record_outcome(lambda: caller(function, *again), again)["text"] == call["text"]
    return described if same and "answer" in described else None


def _describe_call(function: Any, arguments: Arguments, caller: Callable[..., Any], guard: Any) -> dict[str, str]:
    positional, named = arguments
    own = [each for each in positional if is_plain_value(each)]
    given = repr((*own, *named.values()))
    try:
        with _silence_output(guard):
            answer = caller(function, positional, named)
    except BaseException as error:  # noqa: BLE001 the project's code may raise anything
        return {"given": given[:MAX_LENGTH], "raised": type(error).__name__}
    text = repr(answer) if is_plain_value(answer) else ""
    return (
        {"given": given, "answer": text} if 0 < len(text) <= MAX_LENGTH >= len(given) else {"given": given[:MAX_LENGTH]}
    )


@contextlib.contextmanager
def _silence_output(guard: Any) -> Iterator[None]:
    guard.active = True
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        guard.active = False
