"""Which calls the tests make into the story's functions, with arguments that can be kept by value.

Executed by the project's own Python, like the launcher: standard library alone.
"""

from __future__ import annotations

import base64
import inspect
import os
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

LARGEST = 20_000  # bytes of one call's arguments
MOST, MOST_OF_ONE = 150, 25
NOT_AT_ONCE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Recorder:
    """`functions`: faults that knock out each of them. `testing`: files from which tests call, and directories."""

    def __init__(
        self, functions: list[dict[str, Any]], place: Callable[[str], str], testing: tuple[str, ...], told: Any
    ):
        self._functions: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for each in functions:
            key = place(each["path"]), each["function"].rpartition(".")[2]
            self._functions.setdefault(key, []).append(each)
        self._testing = testing
        self._outcome = told  # of a result and arguments, as text
        self._known: dict[Any, dict[str, Any] | None] = {}
        self._counted: Counter[str] = Counter()
        self.test = ""
        self.calls: list[dict[str, Any]] = []
        self.unkept = 0  # calls with something among their arguments that cannot be kept

    def watch(self, frame: Any, line: Callable[..., Any]) -> Callable[..., Any] | None:
        """What follows the call, where it is one to record; `line` is told of lines."""
        function = self._function(frame.f_code)
        back = frame.f_back
        if function is None or back is None or not back.f_code.co_filename.startswith(self._testing):
            return None
        call, arguments = self._begun(frame, function)
        return None if call is None else self._following(call, arguments, line)

    def _function(self, code: Any) -> dict[str, Any] | None:
        if code not in self._known:
            same = self._functions.get((code.co_filename, code.co_name), [])
            below = [each for each in same if each["line"] >= code.co_firstlineno]
            found = min(below, key=lambda each: int(each["line"]), default=None)
            self._known[code] = None if code.co_flags & NOT_AT_ONCE else found
        return self._known[code]

    def _begun(self, frame: Any, function: dict[str, Any]) -> tuple[dict[str, Any] | None, Any]:
        name = function["function"]
        if len(self.calls) >= MOST or self._counted[name] >= MOST_OF_ONE:
            return None, None
        positional, named = _arguments(frame)
        try:
            data = pickle.dumps((positional, named))
        except Exception:  # noqa: BLE001 mocks, open files, what test functions define
            data = b""
        if not data or len(data) > LARGEST:
            self.unkept += 1
            return None, None
        self._counted[name] += 1
        return {
            "test": self.test,
            "path": function["path"],
            "line": function["line"],
            "module": frame.f_globals.get("__name__", ""),
            "function": name,
            "data": base64.b64encode(data).decode(),
            "bare": not positional and not named,
            "shown": _shown(name, positional, named),
        }, (positional, named)

    def _following(self, call: dict[str, Any], arguments: Any, line: Callable[..., Any]) -> Callable[..., Any]:
        raised: list[BaseException] = []

        def follow(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                raised.clear()  # what was raised before has been caught
                line(frame, event, argument)
            elif event == "exception":
                raised[:] = [argument[1]]
            elif event == "return":
                error = raised[0] if raised and argument is None else None
                self.calls.append({**call, "text": self._outcome(argument, error, arguments)})
            return follow

        return follow


def _arguments(frame: Any) -> tuple[list[Any], dict[str, Any]]:
    code, values = frame.f_code, frame.f_locals
    count, more = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    positional = [values[name] for name in names[:count]]
    named = {name: values[name] for name in names[count : count + more]}
    following = count + more
    if code.co_flags & inspect.CO_VARARGS:
        positional += values[names[following]]
        following += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named.update(values[names[following]])
    return positional, named


def _shown(name: str, positional: list[Any], named: dict[str, Any]) -> str:
    """For people; in a few words."""
    parts = [_short(each) for each in positional] + [f"{key}={_short(each)}" for key, each in named.items()]
    return f"{name}({', '.join(parts)})"[:160]


def _short(value: Any) -> str:
    if type(value) in (bool, int, float, str, bytes, type(None), list, tuple, dict):
        text = repr(value)
        return text if len(text) <= 60 else text[:57] + "…"
    return f"<{type(value).__name__}>"


def remembering(calls: list[dict[str, Any]]) -> set[str]:
    """Functions that gave two answers to the same arguments: the tests that hold want them to remember."""
    answers: dict[tuple[str, str], str] = {}
    return {
        call["function"]
        for call in calls
        if answers.setdefault((call["function"], call["data"]), call["text"]) != call["text"]
    }


def changed_minds(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[str]:
    """Calls that were answered otherwise the second time, by functions that nobody wants to remember anything."""
    wanted = remembering(first)
    before = {(call["function"], call["data"]): call["text"] for call in first}
    return [
        call["shown"]
        for call in second
        if not call["bare"]
        and call["function"] not in wanted
        and before.get((call["function"], call["data"]), call["text"]) != call["text"]
    ]


def test_places(checkout: str, paths: list[str], home: str) -> tuple[str, ...]:
    """Where calls of tests come from: their files, and pytest itself (`pytest.raises(ValueError, f, 1)`)."""
    return (*(str(Path(checkout, path)) for path in paths), home + os.sep)
