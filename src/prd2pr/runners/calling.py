"""Makes calls and tells what each came to. What reaches outside of the process is stopped, what draws lots is left.

Executed by the project's own Python: standard library alone. Always inside a fork that ends with the calls.
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

Say = Callable[[dict[str, Any]], None]


class Chance:
    """Whether a call has drawn lots: two forks of one process draw the same ones, so the results would not tell."""

    def __init__(self) -> None:
        gc.unfreeze()  # what was set aside before the fork is not listed
        self._sources = [each for each in gc.get_objects() if isinstance(each, random.Random)]
        self._sources = [each for each in self._sources if not isinstance(each, random.SystemRandom)]
        self._drawn = 0
        self._before: list[Any] = []
        self._draw = os.urandom
        os.urandom = self._counted
        if hasattr(random, "_urandom"):
            random._urandom = self._counted

    def begin(self) -> None:
        self._drawn = 0
        self._before = self._states()

    def was_asked(self) -> bool:
        return bool(self._drawn) or self._states() != self._before

    def _counted(self, size: int) -> bytes:
        self._drawn += 1
        return self._draw(size)

    def _states(self) -> list[Any]:
        numbers = sys.modules.get("numpy.random")
        more = [numbers.get_state()[2]] if numbers is not None and hasattr(numbers, "get_state") else []
        return [*(each.getstate() for each in self._sources), *more]


def make_calls(cases: list[dict[str, Any]], tools: Any, files: dict[str, str], answer: Say) -> None:
    fence, chance = tools.fence.Fence(), Chance()
    sys.argv = ["python"]
    sys.dont_write_bytecode = True  # what is imported while a call is made reaches nowhere
    raises = {name: _raising_lines(name) for name in files}
    for case in cases:
        tools.forks.limit(CALL_CPU)
        answer({"case": case["id"], "outcome": _outcome(case, tools.recipes, fence, chance, raises)})


def _outcome(
    case: dict[str, Any], recipes: Any, fence: Any, chance: Chance, raises: dict[str, set[int]]
) -> dict[str, Any]:
    printed = io.StringIO()
    fence.touched = ""
    chance.begin()
    try:
        with _fenced(fence), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            owner = recipes.make(case["self"]) if case["self"] is not None else None
            args = [recipes.make(each) for each in case["args"]]
            kwargs = {name: recipes.make(each) for name, each in case["kwargs"].items()}
            function = _function(case, owner, recipes)
    except BaseException:  # noqa: BLE001 whatever the project's own code does
        return {"unjudged": "its input could not be made"}
    try:
        with _fenced(fence), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            outcome: dict[str, Any] = {"returned": recipes.told(_called(function, args, kwargs))}
    except BaseException as error:  # noqa: BLE001 the same
        outcome = {"raised": _types(error), "meant": _is_meant(error, raises)}
    if fence.touched:
        return {"unjudged": f"reaches outside: {fence.touched}"}
    if chance.was_asked():
        return {"unjudged": "draws lots"}
    with _fenced(fence), contextlib.suppress(Exception):
        outcome["left"] = recipes.told([*args, *kwargs.values()])
        outcome["printed"] = printed.getvalue()[:2000]
    return outcome


@contextlib.contextmanager
def _fenced(fence: Any) -> Iterator[None]:
    fence.up = True
    try:
        yield
    finally:
        fence.up = False


def _function(case: dict[str, Any], owner: Any, recipes: Any) -> Any:
    name = case["called"]
    if owner is None:
        return recipes.looked_up(case["module"], name)
    last = name.rpartition(".")[2]
    if case["kind"] == "property":
        return lambda: getattr(owner, last)
    return getattr(owner, last)


def _called(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    result = function(*args, **kwargs)
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    return result


def _types(error: BaseException) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__ if kind is not object]


def _is_meant(error: BaseException, raises: dict[str, set[int]]) -> bool:
    """Raised by a `raise` or an `assert` of the project's own: it was decided, and did not just happen."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and step.tb_lineno in raises.get(step.tb_frame.f_code.co_filename, ())


def _raising_lines(name: str) -> set[int]:
    try:
        tree = ast.parse(Path(name).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Raise, ast.Assert)):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found
