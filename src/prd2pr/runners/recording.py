"""Watches tests call the project's functions, and writes each call down as a recipe.

Executed by the project's own Python: standard library alone.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

MOST_CALLS = 25  # different ones, of one function
MOST_OBJECTS = 400
MOST_SINCE = 40  # calls that an object is made by
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Recorder:
    """`targets`: functions by file and first line; `init` and what is not `judged` tell how objects are made."""

    def __init__(self, targets: list[dict[str, Any]], recipes: Any, is_known: Callable[[str], bool]) -> None:
        self._targets = {(each["file"], each["line"], each["name"].rpartition(".")[2]): each for each in targets}
        self._recipes, self._is_known = recipes, is_known
        self._writer = recipes.Writer(self._made_of, is_known)
        self._active: list[Any] = []  # frames of targets, outermost first
        self._owners: list[int] = []  # the object that each of them belongs to
        self._objects: dict[int, Any] = {}  # kept, so that no other object gets its number
        self._traces: dict[int, dict[str, Any]] = {}
        self._torn: set[int] = set()  # objects that were worked on where nobody could write it down
        self._resumed: dict[int, Any] = {}
        self._calls: dict[str, dict[str, dict[str, Any]]] = {}
        self.unspoken: dict[str, int] = {}

    def start(self) -> None:
        sys.setprofile(self._event)

    def stop(self) -> None:
        sys.setprofile(None)

    def calls(self) -> list[dict[str, Any]]:
        return [call for found in self._calls.values() for call in found.values()]

    def _event(self, frame: Any, event: str, _arg: Any) -> None:
        code = frame.f_code
        if event == "call":
            target = self._targets.get((code.co_filename, code.co_firstlineno, code.co_name))
            if target is not None and not self._was_resumed(frame):
                self._called(frame, target)
        elif event == "return" and self._active and self._active[-1] is frame:
            self._active.pop()
            self._owners.pop()

    def _was_resumed(self, frame: Any) -> bool:
        if not frame.f_code.co_flags & RESUMED:
            return False
        seen = id(frame) in self._resumed
        self._resumed[id(frame)] = frame
        return seen

    def _called(self, frame: Any, target: dict[str, Any]) -> None:
        positional, keywords = _arguments(frame)
        owner = positional.pop(0) if target["kind"] in ("method", "property", "init") and positional else None
        if target["kind"] == "class" and positional:
            positional.pop(0)
        inside = bool(self._active)
        try:
            self._write_down(frame, target, owner, positional, keywords, inside=inside)
        finally:
            self._active.append(frame)
            self._owners.append(id(owner))

    def _write_down(
        self, frame: Any, target: dict[str, Any], owner: Any, positional: list[Any], keywords: dict[str, Any], *,
        inside: bool,
    ) -> None:  # fmt: skip
        if inside and owner is not None and self._owners[0] == id(owner):
            return  # part of a call that is written down already
        try:
            call: dict[str, Any] = {
                "args": [self._writer.write(value) for value in positional],
                "kwargs": {name: self._writer.write(value) for name, value in keywords.items()},
            }
            if target["kind"] == "init":
                self._begin(owner, call)
                return
            call["self"] = self._writer.write(owner) if owner is not None else None
        except self._recipes.Unspeakable:
            self.unspoken[target["id"]] = self.unspoken.get(target["id"], 0) + 1
            self._torn.add(id(owner))
            return
        if owner is not None and id(owner) in self._traces:
            if inside:
                self._torn.add(id(owner))
                return
            if target["kind"] == "method":
                since = {"name": target["name"].rpartition(".")[2], "args": call["args"], "kwargs": call["kwargs"]}
                self._traces[id(owner)]["since"].append(since)
        if target["judged"]:
            self._keep(target, frame.f_globals.get("__name__", ""), call)

    def _keep(self, target: dict[str, Any], module: str, call: dict[str, Any]) -> None:
        known = self._calls.setdefault(target["id"], {})
        if len(known) < MOST_CALLS:
            known.setdefault(json.dumps(call), {"target": target["id"], "module": module, **call})

    def _begin(self, owner: Any, call: dict[str, Any]) -> None:
        if id(owner) not in self._traces and len(self._objects) < MOST_OBJECTS:
            self._objects[id(owner)] = owner
            self._traces[id(owner)] = {"begin": call, "since": []}

    def _made_of(self, value: Any) -> Any:
        trace = self._traces.get(id(value))
        if trace is None:
            return None
        kind = type(value)
        if id(value) in self._torn or "<" in kind.__qualname__ or not self._is_known(kind.__module__):
            raise self._recipes.Unspeakable
        if len(trace["since"]) > MOST_SINCE or self._recipes.looked_up(kind.__module__, kind.__qualname__) is not kind:
            raise self._recipes.Unspeakable
        return ["made", kind.__module__, kind.__qualname__, trace["begin"], list(trace["since"])]


def _arguments(frame: Any) -> tuple[list[Any], dict[str, Any]]:
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
