"""Asks the story's functions for what their tests do not ask: plain inputs of the same shape as those of the tests.

Executed by the project's own Python, like the launcher: standard library alone. What is given are the calls that tests
made with nothing but plain values. The same calls give the same questions, on any machine.
"""

from __future__ import annotations

import base64
import contextlib
import io
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

MOST_FUNCTIONS, MOST_CASES, MOST_NEAR = 12, 12, 40
LONGEST = 300  # characters of a value that is told
PLAIN = (bool, int, float, str, type(None))

Call = dict[str, Any]
Arguments = tuple[list[Any], dict[str, Any]]


def questions(calls: list[Call]) -> Iterator[tuple[list[Call], list[tuple[Call, Arguments]]]]:
    """For each function the calls of the tests, and calls beside them."""
    groups: dict[tuple[str, str], dict[str, Call]] = {}
    for call in calls:
        groups.setdefault((call["module"], call["function"]), {}).setdefault(call["data"], call)
    for _, group in list(groups.items())[:MOST_FUNCTIONS]:
        asked = list(group.values())[:MOST_CASES]
        yield asked, list(_near(asked))


def _near(asked: list[Call]) -> Iterator[tuple[Call, Arguments]]:
    seen = {call["data"] for call in asked}
    found: list[list[tuple[Call, Arguments]]] = []
    for call in asked:
        mine: list[tuple[Call, Arguments]] = []
        given = arguments_of(call)
        draw = random.Random(call["data"])  # noqa: S311 the same for the same call
        for other in _others(given, draw) if given is not None else ():
            data = _kept(other)
            if data and data not in seen:
                seen.add(data)
                mine.append((call, other))
        found.append(mine)
    longest = max(map(len, found), default=0)
    in_turn = [mine[at] for at in range(longest) for mine in found if at < len(mine)]
    yield from in_turn[:MOST_NEAR]


def arguments_of(call: Call) -> Arguments | None:
    """None where there is more in them than plain values, and an object that holds nothing to call a method of."""
    try:
        positional, named = pickle.loads(base64.b64decode(call["data"]))  # noqa: S301 made in the same sandbox
    except Exception:  # noqa: BLE001 what cannot be made here is not asked
        return None
    own = [each for at, each in enumerate(positional) if not (at == 0 and "." in call["function"] and _is_bare(each))]
    plain = all(is_plain(each) for each in (*own, *named.values()))
    return (positional, named) if plain and (own or named) else None


def _is_bare(value: Any) -> bool:
    return type(value).__module__ != "builtins" and getattr(value, "__dict__", None) == {}


def is_plain(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(is_plain(each) for each in value)
    if type(value) is dict:
        return all(is_plain(each) for pair in value.items() for each in pair)
    return type(value) in PLAIN


def _kept(arguments: Arguments) -> str:
    try:
        return base64.b64encode(pickle.dumps(arguments)).decode()
    except Exception:  # noqa: BLE001
        return ""


def _others(given: Arguments, draw: random.Random) -> Iterator[Arguments]:
    positional, named = given
    for at, value in enumerate(positional):
        for other in varied(value, draw):
            yield [*positional[:at], other, *positional[at + 1 :]], named
    for name, value in named.items():
        for other in varied(value, draw):
            yield positional, {**named, name: other}


# --- values -----------------------------------------------------------------------------------------------------------


def varied(value: Any, draw: random.Random) -> list[Any]:
    """Values of the same shape: what takes the one would take some of the others."""
    kind = type(value)
    if kind is int:
        steps = [value + step for step in (1, -1, 2, -2, 3, 4, -4, 7, 10, -10)] + [value * 2, value * 10, value // 2]
        return [each for each in steps if (each > 0) == (value > 0) or value == 0]
    if kind is float:
        return [value + 1, value * 2, value + 0.5, value / 2, value + 10, value * 3]
    if kind is str:
        return _texts(value, draw)
    if kind in (list, tuple):
        return [kind(each) for each in _lists(list(value), draw)]
    if kind is dict:
        return [{**value, key: other} for key in value for other in varied(value[key], draw)[:2]]
    return []


def _texts(text: str, draw: random.Random) -> list[str]:
    replaced = ["".join(_replaced(each, draw, digits=any(map(str.isdigit, text))) for each in text) for _ in range(6)]
    places = [at for at, each in enumerate(text) if each in "0123456789"]
    stepped = [_stepped(text, at) for at in draw.sample(places, min(8, len(places)))]
    words = text.split(" ")
    shorter = [text[:at] + text[at + 1 :] for at in draw.sample(range(len(text)), min(4, len(text)))]
    moved = [" ".join(words[::-1]), text[::-1], " ".join([*words, words[0]]), text + text[-1:], text + text]
    return [each for each in (*stepped, *replaced, *shorter, *moved) if each]


def _stepped(text: str, at: int) -> str:
    """With one digit changed by one: a time or a date mostly stays one."""
    digit = int(text[at])
    return f"{text[:at]}{digit + 1 if digit < 9 else 8}{text[at + 1 :]}"


def _replaced(letter: str, draw: random.Random, *, digits: bool) -> str:
    """In a text with digits only these: what stands beside them are units, signs and codes."""
    if letter.isdigit():
        return draw.choice("123456789")
    if digits or not letter.isalpha():
        return letter
    other = draw.choice("abdefgilmnorstu")
    return other.upper() if letter.isupper() else other


def _lists(items: list[Any], draw: random.Random) -> list[list[Any]]:
    changed = [
        [*items[:at], other, *items[at + 1 :]]
        for at in range(min(len(items), 3))
        for other in varied(items[at], draw)[:4]
    ]
    numbers = bool(items) and all(type(each) is int for each in items)
    lifted = [[each + step for each in items] for step in (1, 2, 5)] if numbers else []
    return [items[:-1], items[1:], items[::-1], items + items, items + items[:1], *lifted, *changed]


# --- answers ----------------------------------------------------------------------------------------------------------


def asked_near(calls: list[Call], tools: Any, make: Callable[..., Any], fence: Any) -> list[dict[str, Any]]:
    """`tools`: how a function is found and its answers are told. `fence`: lets no call reach out of this process."""
    found = []
    for asked, near in questions(calls):
        function = _function(asked[0], tools) if near else None
        if function is None:
            continue
        cases = [each for call in asked if (each := _case(call, function, tools, make, fence))]
        if len(cases) < 2:
            continue
        told = [_told(function, arguments, make, fence) for _, arguments in near]
        keys = ("path", "line", "function", "test")
        found.append({**{key: asked[0][key] for key in keys}, "cases": cases, "near": told})
    return found


def _function(call: Call, tools: Any) -> Any:
    try:
        return tools.function_of(call["module"], call["function"])
    except BaseException:  # noqa: BLE001 a module that will not be imported here
        return None


def _case(call: Call, function: Any, tools: Any, make: Callable[..., Any], fence: Any) -> dict[str, str] | None:
    """What the tests were answered, if anybody is answered so."""
    given, again = arguments_of(call), arguments_of(call)
    if given is None or again is None:
        return None
    told = _told(function, given, make, fence)
    with _quietly(fence):
        same = tools.outcome_of(lambda: make(function, *again), again)["text"] == call["text"]
    return told if same and "answer" in told else None


def _told(function: Any, arguments: Arguments, make: Callable[..., Any], fence: Any) -> dict[str, str]:
    positional, named = arguments
    own = [each for each in positional if is_plain(each)]
    given = repr((*own, *named.values()))
    try:
        with _quietly(fence):
            answer = make(function, positional, named)
    except BaseException as error:  # noqa: BLE001 whatever the project's own code does
        return {"given": given[:LONGEST], "raised": type(error).__name__}
    text = repr(answer) if is_plain(answer) else ""
    return {"given": given, "answer": text} if 0 < len(text) <= LONGEST >= len(given) else {"given": given[:LONGEST]}


@contextlib.contextmanager
def _quietly(fence: Any) -> Iterator[None]:
    fence.up = True
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        fence.up = False
