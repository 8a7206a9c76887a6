"""Records the calls that tests make to the story's functions, if their arguments can be pickled.

Runs under the project's own Python, like the launcher, and uses only the standard library.
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

MAX_CALL_BYTES = 20_000  # limit for one call's pickled arguments
MAX_CALLS, MAX_CALLS_PER_FUNCTION = 150, 25
DEFERRED_CODE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class CallRecorder:
    """Records calls from tests to `functions`, which are given as knock-out faults.

    A call is considered to come from a test if the caller's file is in `testing`, a tuple of files and directories.
    """

    def __init__(
        self,
        functions: list[dict[str, Any]],
        place: Callable[[str], str],
        testing: tuple[str, ...],
        describe_outcome: Any,
    ):
        self._functions: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for each in functions:
            key = place(each["path"]), each["function"].rpartition(".")[2]
            self._functions.setdefault(key, []).append(each)
        self._testing = testing
        self._describe_outcome = describe_outcome  # renders a result and its arguments as text
        self._known: dict[Any, dict[str, Any] | None] = {}
        self._counted: Counter[str] = Counter()
        self.test = ""
        self.calls: list[dict[str, Any]] = []
        self.unrecorded = 0  # calls with an argument that cannot be pickled

    def trace_call(self, frame: Any, line: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return a trace function if this call should be recorded, otherwise None. Line events are passed to `line`."""
        function = self._find_function(frame.f_code)
        back = frame.f_back
        if function is None or back is None or not back.f_code.co_filename.startswith(self._testing):
            return None
        call, arguments = self._record_arguments(frame, function)
        return None if call is None else self._trace_return(call, arguments, line)

    def _find_function(self, code: Any) -> dict[str, Any] | None:
        if code not in self._known:
            same = self._functions.get((code.co_filename, code.co_name), [])
            below = [each for each in same if each["line"] >= code.co_firstlineno]
            found = min(below, key=lambda each: int(each["line"]), default=None)
            self._known[code] = None if code.co_flags & DEFERRED_CODE else found
        return self._known[code]

    def _record_arguments(self, frame: Any, function: dict[str, Any]) -> tuple[dict[str, Any] | None, Any]:
        name = function["function"]
        if len(self.calls) >= MAX_CALLS or self._counted[name] >= MAX_CALLS_PER_FUNCTION:
            return None, None
        positional, named = _read_frame_arguments(frame)
        try:
            data = pickle.dumps((positional, named))
        except Exception:  # noqa: BLE001 mocks, open files, objects defined inside tests
            data = b""
        if not data or len(data) > MAX_CALL_BYTES:
            self.unrecorded += 1
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
            "shown": _render_call(name, positional, named),
        }, (positional, named)

    def _trace_return(self, call: dict[str, Any], arguments: Any, line: Callable[..., Any]) -> Callable[..., Any]:
        raised: list[BaseException] = []

        def follow(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                raised.clear()  # an earlier exception has been caught
                line(frame, event, argument)
            elif event == "exception":
                raised[:] = [argument[1]]
            elif event == "return":
                error = raised[0] if raised and argument is None else None
                self.calls.append({**call, "text": self._describe_outcome(argument, error, arguments)})
            return follow

        return follow


def _read_frame_arguments(frame: Any) -> tuple[list[Any], dict[str, Any]]:
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


def _render_call(name: str, positional: list[Any], named: dict[str, Any]) -> str:
    parts = [_shorten(each) for each in positional] + [f"{key}={_shorten(each)}" for key, each in named.items()]
    return f"{name}({', '.join(parts)})"[:160]


def _shorten(value: Any) -> str:
    if type(value) in (bool, int, float, str, bytes, type(None), list, tuple, dict):
        text = repr(value)
        return text if len(text) <= 60 else text[:57] + "…"
    return f"<{type(value).__name__}>"


def find_stateful_functions(calls: list[dict[str, Any]]) -> set[str]:
    """Return the functions that gave different answers to the same arguments, which means that they keep state."""
    answers: dict[tuple[str, str], str] = {}
    return {
        call["function"]
        for call in calls
        if answers.setdefault((call["function"], call["data"]), call["text"]) != call["text"]
    }


def find_changed_answers(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[str]:
    """Return the calls that were answered differently the second time, except those of stateful functions."""
    stateful = find_stateful_functions(first)
    before = {(call["function"], call["data"]): call["text"] for call in first}
    return [
        call["shown"]
        for call in second
        if not call["bare"]
        and call["function"] not in stateful
        and before.get((call["function"], call["data"]), call["text"]) != call["text"]
    ]


def list_test_places(checkout: str, paths: list[str], home: str) -> tuple[str, ...]:
    """Return the paths that count as tests: test files and pytest, as in `pytest.raises(ValueError, f, 1)`."""
    return (*(str(Path(checkout, path)) for path in paths), home + os.sep)
