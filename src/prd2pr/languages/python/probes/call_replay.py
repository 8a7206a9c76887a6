"""Replays recorded calls, either in the test process or as a separate program that has no access to the tests.

Runs under the project's own Python, like the launcher, and uses only the standard library. When run as a program, it
reads the calls from standard input and makes all of them twice, each time in a fork that has not imported anything from
the project yet.
"""

from __future__ import annotations

import base64
import collections
import datetime
import decimal
import enum
import fractions
import functools
import importlib
import importlib.util
import json
import os
import pathlib
import pickle
import sys
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any

MAX_DEPTH = 7
MAX_LENGTH = 20_000
WALL, CPU = 10.0, 5.0
NEAR_WALL, NEAR_CPU = 4.0, 1.5

_REPR_TYPES = (
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, uuid.UUID,
    range, slice,
)  # fmt: skip


_BUILTIN_BASES: tuple[Any, ...] = (int, float, str, bytes, tuple, list, set, frozenset)


class Incomparable(Exception):
    """A value that cannot be compared between two processes."""


# --- values as text ---------------------------------------------------------------------------------------------------


def describe_value(value: Any, depth: int = 0) -> str:
    """Render a value as text that is identical in every process and contains no memory addresses."""
    if depth > MAX_DEPTH:
        raise Incomparable
    text = "".join(_describe_parts(value, depth + 1))
    if len(text) > MAX_LENGTH:
        raise Incomparable
    return text


def _describe_parts(value: Any, depth: int) -> Iterator[str]:
    kind = type(value)
    if value is None or kind in (bool, int, float, complex, str, bytes, bytearray):
        yield repr(value)
    elif kind in (list, tuple, collections.deque):
        yield f"{kind.__name__}({', '.join(describe_value(each, depth) for each in value)})"
    elif kind in (set, frozenset):
        yield f"{kind.__name__}({', '.join(sorted(describe_value(each, depth) for each in value))})"
    elif isinstance(value, dict):
        yield f"{kind.__name__}({', '.join(_describe_items(value, depth))})"
    elif isinstance(value, enum.Enum):
        yield f"{kind.__qualname__}.{value.name}"
    elif isinstance(value, pathlib.PurePath):
        yield f"Path({str(value)!r})"
    elif isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)):
        yield f"<{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}>"
    elif isinstance(value, _REPR_TYPES):
        yield repr(value)
    else:
        yield from _describe_object(value, depth)


def _describe_items(value: dict[Any, Any], depth: int) -> list[str]:
    """Render the items, leaving out environment variables that only exist in a test run."""
    kept = [(key, each) for key, each in value.items() if not str(key).startswith("PYTEST_")]
    return sorted(f"{describe_value(key, depth)}: {describe_value(each, depth)}" for key, each in kept)


def _describe_object(value: Any, depth: int) -> Iterator[str]:
    kind = type(value)
    slots = [name for base in kind.__mro__ for name in _list_slot_names(vars(base).get("__slots__", ()))]
    state = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    state.update(getattr(value, "__dict__", {}))
    if isinstance(value, BaseException):
        state["args"] = value.args
    for base in _BUILTIN_BASES:
        if isinstance(value, base):
            state["="] = base(value)
            break
    else:
        if not state and not hasattr(value, "__dict__"):
            raise Incomparable
    yield f"{kind.__module__}.{kind.__qualname__}({', '.join(_describe_items(state, depth))})"


def _list_slot_names(slots: Any) -> list[str]:
    return [name for name in ([slots] if isinstance(slots, str) else slots) if not name.startswith("__")]


def record_outcome(call: Callable[[], Any], arguments: Any) -> dict[str, Any]:
    """Make a call and return its result or exception, together with the state of its arguments afterwards."""
    try:
        result = call()
    except OSError as error:
        return {"text": f"raises {_describe_error(error)}", "file": str(error.filename or "")}
    except BaseException as error:  # noqa: BLE001 SystemExit counts as an outcome too
        return {"text": f"raises {_describe_error(error)}"}
    return {"text": describe_return(result, arguments)}


def describe_result(result: Any, error: BaseException | None, arguments: Any) -> str:
    return f"raises {_describe_error(error)}" if error is not None else describe_return(result, arguments)


def describe_return(result: Any, arguments: Any) -> str:
    try:
        text = describe_value(result)
    except Exception:  # noqa: BLE001 properties of the project's classes may raise anything
        return ""
    try:
        return f"{text}\n{describe_value(arguments)}"
    except Exception:  # noqa: BLE001
        return text


def _describe_error(error: BaseException) -> str:
    try:
        return describe_value(error)
    except Exception:  # noqa: BLE001
        return type(error).__qualname__


# --- calls ------------------------------------------------------------------------------------------------------------


def find_function(module: str, name: str) -> types.FunctionType:
    owner: Any = importlib.import_module(module)
    for part in name.split("."):
        if isinstance(owner, type) and part.startswith("__") and not part.endswith("__"):
            part = f"_{owner.__name__.lstrip('_')}{part}"  # noqa: PLW2901
        owner = vars(owner)[part]
    while not isinstance(owner, types.FunctionType) or hasattr(owner, "__wrapped__"):
        owner = _unwrap(owner)
    return owner


def _unwrap(value: Any) -> Any:
    if isinstance(value, property):
        return value.fget
    if isinstance(value, functools.cached_property):
        return value.func
    return getattr(value, "__wrapped__", None) or value.__func__


def replay_calls(
    calls: list[dict[str, Any]], caller: Callable[[dict[str, Any]], Callable[..., Any]]
) -> list[dict[str, Any]]:
    """Replay all calls in order. `caller` returns the function that makes a given call."""
    return [_replay_call(call, caller(call)) for call in calls]


def _replay_call(call: dict[str, Any], caller: Callable[..., Any]) -> dict[str, Any]:
    try:
        function = find_function(call["module"], call["function"])
        positional, named = pickle.loads(base64.b64decode(call["data"]))  # noqa: S301 made in the same sandbox
    except (ImportError, AttributeError, LookupError, TypeError, pickle.PickleError) as error:
        return {"text": "", "why": f"{type(error).__name__}: {error}"[:200]}
    except BaseException as error:  # noqa: BLE001 the module may fail to import here
        return {"text": f"raises {_describe_error(error)} when it is imported"}
    return record_outcome(lambda: caller(function, positional, named), (positional, named))


def call_function(function: Callable[..., Any], positional: Any, named: Any) -> Any:
    return function(*positional, **named)


def make_caller(name: str, path: str, module: str) -> Callable[..., Any]:
    """Return a function that makes a call which appears to come from the given file and module."""
    code = call_function.__code__.replace(co_name=name, co_filename=path)
    return types.FunctionType(code, {"__name__": module, "__file__": path, "__builtins__": __builtins__})


# --- as a program -----------------------------------------------------------------------------------------------------


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    forks, nearby, side_effect_guard = (_load_sibling(name) for name in ("forks", "nearby_inputs", "side_effect_guard"))
    sys.path[:] = request["path"]
    sys.argv[:] = [request["name"]]
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.chdir(request["cwd"])
    out, null = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    caller = make_caller("main", f"{request['cwd']}/{request['name']}.py", request["name"])
    results: list[dict[str, Any]] = []

    def work(reply: Callable[[dict[str, Any]], None]) -> None:
        reply({"outcomes": replay_calls(request["calls"], lambda _call: caller)})

    def try_nearby(reply: Callable[[dict[str, Any]], None]) -> None:
        tools = types.SimpleNamespace(find_function=find_function, record_outcome=record_outcome)
        sys.dont_write_bytecode = True
        reply({"near": nearby.try_nearby_inputs(request["calls"], tools, caller, side_effect_guard.SideEffectGuard())})

    for _ in range(2):
        ended = forks.run_in_fork(work, results.append, cpu=CPU, wall=WALL, close_descriptors=(out,))
        if ended:
            results.append({"ended": ended})
            break
    forks.run_in_fork(try_nearby, results.append, cpu=NEAR_CPU, wall=NEAR_WALL, close_descriptors=(out,))
    data = json.dumps(results).encode()
    while data:
        data = data[os.write(out, data) :]


def _load_sibling(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(f"{name}.py is missing next to this file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
