"""Makes calls and records their outcomes, blocking side effects and reporting the use of randomness.

Runs under the project's own Python and uses only the standard library. Always runs in a fork that exits after the
calls.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import gc
import inspect
import io
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CALL_CPU = 0.5

Send = Callable[[dict[str, Any]], None]


class RandomnessMonitor:
    """Detects whether a call used randomness.

    Comparing the results of two forks would not reveal it, because both draw the same numbers.
    """

    def __init__(self) -> None:
        gc.unfreeze()  # gc does not list frozen objects
        self._sources = [each for each in gc.get_objects() if isinstance(each, random.Random)]
        self._sources = [each for each in self._sources if not isinstance(each, random.SystemRandom)]
        self._drawn = 0
        self._before: list[Any] = []
        self._draw = os.urandom
        os.urandom = self._counted
        if hasattr(random, "_urandom"):
            random._urandom = self._counted

    def reset(self) -> None:
        self._drawn = 0
        self._before = self._states()

    def was_used(self) -> bool:
        return bool(self._drawn) or self._states() != self._before

    def _counted(self, size: int) -> bytes:
        self._drawn += 1
        return self._draw(size)

    def _states(self) -> list[Any]:
        numbers = sys.modules.get("numpy.random")
        more = [numbers.get_state()[2]] if numbers is not None and hasattr(numbers, "get_state") else []
        return [*(each.getstate() for each in self._sources), *more]


def make_calls(cases: list[dict[str, Any]], tools: Any, files: dict[str, str], reply: Send) -> None:
    """Make the calls and reply with the outcome of each."""
    guard, randomness = tools.side_effect_guard.SideEffectGuard(), RandomnessMonitor()
    sys.argv = ["python"]
    sys.dont_write_bytecode = True  # an import during a call must not write bytecode
    raises = {name: _find_raising_lines(name) for name in files}
    for case in cases:
        tools.forks.limit_cpu(CALL_CPU)
        reply({"case": case["id"], "outcome": _record_outcome(case, tools.value_recipes, guard, randomness, raises)})


def _record_outcome(
    case: dict[str, Any], recipes: Any, guard: Any, randomness: RandomnessMonitor, raises: dict[str, set[int]]
) -> dict[str, Any]:
    printed = io.StringIO()
    guard.violation = ""
    randomness.reset()
    try:
        with _activate_guard(guard), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            owner = recipes.build_value(case["self"]) if case["self"] is not None else None
            args = [recipes.build_value(each) for each in case["args"]]
            kwargs = {name: recipes.build_value(each) for name, each in case["kwargs"].items()}
            function = _find_callable(case, owner, recipes)
    except BaseException:  # noqa: BLE001 the project's code may raise anything
        return {"unjudged": "its input could not be created"}
    try:
        with _activate_guard(guard), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            outcome: dict[str, Any] = {"returned": recipes.observe_value(_call(function, args, kwargs))}
    except BaseException as error:  # noqa: BLE001 the project's code may raise anything
        outcome = {"raised": _list_type_names(error), "meant": _is_deliberate(error, raises)}
    if guard.violation:
        return {"unjudged": f"has side effects: {guard.violation}"}
    if randomness.was_used():
        return {"unjudged": "uses randomness"}
    with _activate_guard(guard), contextlib.suppress(Exception):
        outcome["left"] = recipes.observe_value([*args, *kwargs.values()])
        outcome["printed"] = printed.getvalue()[:2000]
    return outcome


@contextlib.contextmanager
def _activate_guard(guard: Any) -> Iterator[None]:
    guard.active = True
    try:
        yield
    finally:
        guard.active = False


def _find_callable(case: dict[str, Any], owner: Any, recipes: Any) -> Any:
    name = case["called"]
    if owner is None:
        return recipes.look_up_name(case["module"], name)
    last = name.rpartition(".")[2]
    if case["kind"] == "property":
        return lambda: getattr(owner, last)
    return getattr(owner, last)


def _call(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    result = function(*args, **kwargs)
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    return result


def _list_type_names(error: BaseException) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__ if kind is not object]


def _is_deliberate(error: BaseException, raises: dict[str, set[int]]) -> bool:
    """Return whether the error was raised by a `raise` or `assert` in the project's own code."""
    frame_entry = error.__traceback__
    while frame_entry is not None and frame_entry.tb_next is not None:
        frame_entry = frame_entry.tb_next
    return frame_entry is not None and frame_entry.tb_lineno in raises.get(frame_entry.tb_frame.f_code.co_filename, ())


def _find_raising_lines(name: str) -> set[int]:
    try:
        tree = ast.parse(Path(name).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Raise, ast.Assert)):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found
