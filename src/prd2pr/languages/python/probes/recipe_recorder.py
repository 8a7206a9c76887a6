"""Records the calls that tests make to the project's functions as recipes.

Runs under the project's own Python and uses only the standard library.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

MAX_CALLS = 25  # distinct calls per function
MAX_OBJECTS = 400
MAX_OBJECT_CALLS = 40  # recorded calls that brought an object into its state
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class RecipeRecorder:
    """Records calls to `targets`, which are identified by file and first line.

    Targets that are `init` or not `judged` are recorded only to learn how objects got their state.
    """

    def __init__(self, targets: list[dict[str, Any]], recipes: Any, is_known: Callable[[str], bool]) -> None:
        self._targets = {(each["file"], each["line"], each["name"].rpartition(".")[2]): each for each in targets}
        self._recipes, self._is_known = recipes, is_known
        self._writer = recipes.RecipeWriter(self._creation_recipe, is_known)
        self._active: list[Any] = []  # frames of running targets, outermost first
        self._owners: list[int] = []  # id of the object that each active frame belongs to
        self._objects: dict[int, Any] = {}  # keeps references, so that no other object gets the same id
        self._traces: dict[int, dict[str, Any]] = {}
        self._incomplete: set[int] = set()  # objects changed in a way that could not be recorded
        self._resumed: dict[int, Any] = {}
        self._calls: dict[str, dict[str, dict[str, Any]]] = {}
        self.unrecorded: dict[str, int] = {}

    def start(self) -> None:
        sys.setprofile(self._on_event)

    def stop(self) -> None:
        sys.setprofile(None)

    def calls(self) -> list[dict[str, Any]]:
        return [call for found in self._calls.values() for call in found.values()]

    def _on_event(self, frame: Any, event: str, _arg: Any) -> None:
        code = frame.f_code
        if event == "call":
            target = self._targets.get((code.co_filename, code.co_firstlineno, code.co_name))
            if target is not None and not self._is_resumption(frame):
                self._on_call(frame, target)
        elif event == "return" and self._active and self._active[-1] is frame:
            self._active.pop()
            self._owners.pop()

    def _is_resumption(self, frame: Any) -> bool:
        if not frame.f_code.co_flags & RESUMED:
            return False
        is_known = id(frame) in self._resumed
        self._resumed[id(frame)] = frame
        return is_known

    def _on_call(self, frame: Any, target: dict[str, Any]) -> None:
        positional, keywords = _read_frame_arguments(frame)
        owner = positional.pop(0) if target["kind"] in ("method", "property", "init") and positional else None
        if target["kind"] == "class" and positional:
            positional.pop(0)
        inside = bool(self._active)
        try:
            self._record_call(frame, target, owner, positional, keywords, inside=inside)
        finally:
            self._active.append(frame)
            self._owners.append(id(owner))

    def _record_call(
        self, frame: Any, target: dict[str, Any], owner: Any, positional: list[Any], keywords: dict[str, Any], *,
        inside: bool,
    ) -> None:  # fmt: skip
        if inside and owner is not None and self._owners[0] == id(owner):
            return  # part of a call that is recorded already
        try:
            call: dict[str, Any] = {
                "args": [self._writer.write(value) for value in positional],
                "kwargs": {name: self._writer.write(value) for name, value in keywords.items()},
            }
            if target["kind"] == "init":
                self._record_creation(owner, call)
                return
            call["self"] = self._writer.write(owner) if owner is not None else None
        except self._recipes.Unrecordable:
            self.unrecorded[target["id"]] = self.unrecorded.get(target["id"], 0) + 1
            self._incomplete.add(id(owner))
            return
        if owner is not None and id(owner) in self._traces:
            if inside:
                self._incomplete.add(id(owner))
                return
            if target["kind"] == "method":
                since = {"name": target["name"].rpartition(".")[2], "args": call["args"], "kwargs": call["kwargs"]}
                self._traces[id(owner)]["since"].append(since)
        if target["judged"]:
            self._store_call(target, frame.f_globals.get("__name__", ""), call)

    def _store_call(self, target: dict[str, Any], module: str, call: dict[str, Any]) -> None:
        known = self._calls.setdefault(target["id"], {})
        if len(known) < MAX_CALLS:
            known.setdefault(json.dumps(call), {"target": target["id"], "module": module, **call})

    def _record_creation(self, owner: Any, call: dict[str, Any]) -> None:
        if id(owner) not in self._traces and len(self._objects) < MAX_OBJECTS:
            self._objects[id(owner)] = owner
            self._traces[id(owner)] = {"begin": call, "since": []}

    def _creation_recipe(self, value: Any) -> Any:
        trace = self._traces.get(id(value))
        if trace is None:
            return None
        kind = type(value)
        if id(value) in self._incomplete or "<" in kind.__qualname__ or not self._is_known(kind.__module__):
            raise self._recipes.Unrecordable
        if (
            len(trace["since"]) > MAX_OBJECT_CALLS
            or self._recipes.look_up_name(kind.__module__, kind.__qualname__) is not kind
        ):
            raise self._recipes.Unrecordable
        return ["made", kind.__module__, kind.__qualname__, trace["begin"], list(trace["since"])]


def _read_frame_arguments(frame: Any) -> tuple[list[Any], dict[str, Any]]:
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames
    count, only = code.co_argcount, code.co_kwonlyargcount
    positional = [values[name] for name in names[:count]]
    keywords = {name: values[name] for name in names[count : count + only]}
    at = count + only
    if code.co_flags & inspect.CO_VARARGS:
        positional += values[names[at]]
        at += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        keywords.update(values[names[at]])
    return positional, keywords
