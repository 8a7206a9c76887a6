"""Makes recorded calls once more: in the test process, and as a program of its own that knows nothing of tests.

Executed by the project's own Python, like the launcher: standard library alone. As a program it reads what to call from
its standard input, and makes all calls twice, each time in a fork that has imported nothing of the project before.
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

DEEPEST = 7
LONGEST = 20_000
WALL, CPU = 10.0, 5.0
NEAR_WALL, NEAR_CPU = 4.0, 1.5

_SHOWN_BY_THEMSELVES = (
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, uuid.UUID,
    range, slice,
)  # fmt: skip


_BASES: tuple[Any, ...] = (int, float, str, bytes, tuple, list, set, frozenset)


class Untold(Exception):
    """A value that cannot be compared between two processes."""


# --- values as texts --------------------------------------------------------------------------------------------------


def told(value: Any, depth: int = 0) -> str:
    """The same text for the same value in any process; nothing about where in memory it is."""
    if depth > DEEPEST:
        raise Untold
    text = "".join(_parts(value, depth + 1))
    if len(text) > LONGEST:
        raise Untold
    return text


def _parts(value: Any, depth: int) -> Iterator[str]:
    kind = type(value)
    if value is None or kind in (bool, int, float, complex, str, bytes, bytearray):
        yield repr(value)
    elif kind in (list, tuple, collections.deque):
        yield f"{kind.__name__}({', '.join(told(each, depth) for each in value)})"
    elif kind in (set, frozenset):
        yield f"{kind.__name__}({', '.join(sorted(told(each, depth) for each in value))})"
    elif isinstance(value, dict):
        yield f"{kind.__name__}({', '.join(_items(value, depth))})"
    elif isinstance(value, enum.Enum):
        yield f"{kind.__qualname__}.{value.name}"
    elif isinstance(value, pathlib.PurePath):
        yield f"Path({str(value)!r})"
    elif isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)):
        yield f"<{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}>"
    elif isinstance(value, _SHOWN_BY_THEMSELVES):
        yield repr(value)
    else:
        yield from _object(value, depth)


def _items(value: dict[Any, Any], depth: int) -> list[str]:
    """Without what only a test run puts into the environment."""
    kept = [(key, each) for key, each in value.items() if not str(key).startswith("PYTEST_")]
    return sorted(f"{told(key, depth)}: {told(each, depth)}" for key, each in kept)


def _object(value: Any, depth: int) -> Iterator[str]:
    kind = type(value)
    slots = [name for base in kind.__mro__ for name in _names(vars(base).get("__slots__", ()))]
    state = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    state.update(getattr(value, "__dict__", {}))
    if isinstance(value, BaseException):
        state["args"] = value.args
    for base in _BASES:
        if isinstance(value, base):
            state["="] = base(value)
            break
    else:
        if not state and not hasattr(value, "__dict__"):
            raise Untold
    yield f"{kind.__module__}.{kind.__qualname__}({', '.join(_items(state, depth))})"


def _names(slots: Any) -> list[str]:
    return [name for name in ([slots] if isinstance(slots, str) else slots) if not name.startswith("__")]


def outcome_of(call: Callable[[], Any], arguments: Any) -> dict[str, Any]:
    """What came of a call: its result, or what it raised, and what it did to its arguments."""
    try:
        result = call()
    except OSError as error:
        return {"text": f"raises {_raised(error)}", "file": str(error.filename or "")}
    except BaseException as error:  # noqa: BLE001 SystemExit is an answer too
        return {"text": f"raises {_raised(error)}"}
    return {"text": shown_outcome(result, arguments)}


def recorded(result: Any, error: BaseException | None, arguments: Any) -> str:
    return f"raises {_raised(error)}" if error is not None else shown_outcome(result, arguments)


def shown_outcome(result: Any, arguments: Any) -> str:
    try:
        text = told(result)
    except Exception:  # noqa: BLE001 properties of the project's own classes may raise anything
        return ""
    try:
        return f"{text}\n{told(arguments)}"
    except Exception:  # noqa: BLE001
        return text


def _raised(error: BaseException) -> str:
    try:
        return told(error)
    except Exception:  # noqa: BLE001
        return type(error).__qualname__


# --- calls ------------------------------------------------------------------------------------------------------------


def function_of(module: str, name: str) -> types.FunctionType:
    owner: Any = importlib.import_module(module)
    for part in name.split("."):
        if isinstance(owner, type) and part.startswith("__") and not part.endswith("__"):
            part = f"_{owner.__name__.lstrip('_')}{part}"  # noqa: PLW2901
        owner = vars(owner)[part]
    while not isinstance(owner, types.FunctionType) or hasattr(owner, "__wrapped__"):
        owner = _inner(owner)
    return owner


def _inner(value: Any) -> Any:
    if isinstance(value, property):
        return value.fget
    if isinstance(value, functools.cached_property):
        return value.func
    return getattr(value, "__wrapped__", None) or value.__func__


def replay(calls: list[dict[str, Any]], caller: Callable[[dict[str, Any]], Callable[..., Any]]) -> list[dict[str, Any]]:
    """All of them in their order. `caller`: from where a call is made."""
    return [_replayed(call, caller(call)) for call in calls]


def _replayed(call: dict[str, Any], by: Callable[..., Any]) -> dict[str, Any]:
    try:
        function = function_of(call["module"], call["function"])
        positional, named = pickle.loads(base64.b64decode(call["data"]))  # noqa: S301 made in the same sandbox
    except (ImportError, AttributeError, LookupError, TypeError, pickle.PickleError) as error:
        return {"text": "", "why": f"{type(error).__name__}: {error}"[:200]}
    except BaseException as error:  # noqa: BLE001 a module that will not be imported here
        return {"text": f"raises {_raised(error)} when it is imported"}
    return outcome_of(lambda: by(function, positional, named), (positional, named))


def plain_call(function: Callable[..., Any], positional: Any, named: Any) -> Any:
    return function(*positional, **named)


def call_from(name: str, path: str, module: str) -> Callable[..., Any]:
    """A call that comes from a place that looks like this one."""
    code = plain_call.__code__.replace(co_name=name, co_filename=path)
    return types.FunctionType(code, {"__name__": module, "__file__": path, "__builtins__": __builtins__})


# --- as a program -----------------------------------------------------------------------------------------------------


def main() -> None:
    order = json.loads(sys.stdin.buffer.read())
    forks, nearby, fence = (_beside(name) for name in ("forks", "nearby", "fence"))
    sys.path[:] = order["path"]
    sys.argv[:] = [order["name"]]
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.chdir(order["cwd"])
    out, quiet = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    by = call_from("main", f"{order['cwd']}/{order['name']}.py", order["name"])
    passes: list[dict[str, Any]] = []

    def work(answer: Callable[[dict[str, Any]], None]) -> None:
        answer({"outcomes": replay(order["calls"], lambda _call: by)})

    def ask_near(answer: Callable[[dict[str, Any]], None]) -> None:
        tools = types.SimpleNamespace(function_of=function_of, outcome_of=outcome_of)
        sys.dont_write_bytecode = True
        answer({"near": nearby.asked_near(order["calls"], tools, by, fence.Fence())})

    for _ in range(2):
        ended = forks.forked(work, passes.append, cpu=CPU, wall=WALL, shut=(out,))
        if ended:
            passes.append({"ended": ended})
            break
    forks.forked(ask_near, passes.append, cpu=NEAR_CPU, wall=NEAR_WALL, shut=(out,))
    data = json.dumps(passes).encode()
    while data:
        data = data[os.write(out, data) :]


def _beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(f"{name}.py is missing beside this file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
