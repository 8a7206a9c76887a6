"""Calls and what they came to, as a person would write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

LONG = 120


def shown_call(case: Mapping[str, Any]) -> str:
    name = str(case["called"])
    if case["self"] is not None:
        name = f"{_recipe(case['self'])}.{name.rpartition('.')[2]}"
    return _clipped(name if case["kind"] == "property" else f"{name}({_arguments(case)})", 2 * LONG)


def shown_outcome(outcome: Mapping[str, Any]) -> str:
    if "raised" in outcome:
        return f"raises {outcome['raised'][0]}"
    if "unjudged" in outcome:
        return f"unclear: {outcome['unjudged']}"
    printed = outcome.get("printed")
    text = _clipped(_told(outcome["returned"]), LONG)
    return f"{text}, printed {_clipped(repr(printed), LONG // 2)}" if printed else text


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# --- results, as `runners/recipes.py` tells them ----------------------------------------------------------------------


def _told(told: Any) -> str:
    show = _BY_SHAPE.get(told[0])
    return show(*told[1:]) if show else "…"


def _row(kind: str, items: list[Any]) -> str:
    inner = ", ".join(map(_told, items))
    if kind == "tuple":
        return f"({inner}{',' * (len(items) == 1)})"
    return f"[{inner}]" if kind == "list" else f"{kind}([{inner}])"


def _map(kind: str, pairs: list[Any]) -> str:
    inner = ", ".join(f"{_told(key)}: {_told(value)}" for key, value in pairs)
    return f"{{{inner}}}" if kind == "dict" else f"{kind}({{{inner}}})"


def _set(kind: str, items: list[Any]) -> str:
    inner = ", ".join(map(_told, items))
    return f"{{{inner}}}" if kind == "set" and items else f"{kind}([{inner}])"


def _object(kind: str, attributes: Mapping[str, Any]) -> str:
    return f"{kind}({', '.join(f'{name}={_told(value)}' for name, value in attributes.items())})"


_BY_SHAPE: dict[str, Callable[..., str]] = {
    "value": lambda kind, text: f"Path({text!r})" if kind == "Path" else str(text),
    "row": _row,
    "map": _map,
    "set": _set,
    "object": _object,
    "named": str,
}


# --- recipes of what is given -----------------------------------------------------------------------------------------


def _arguments(call: Mapping[str, Any]) -> str:
    named = [f"{name}={_recipe(each)}" for name, each in call["kwargs"].items()]
    return ", ".join([*map(_recipe, call["args"]), *named])


def _recipe(recipe: Any) -> str:
    show = _BY_LETTER.get(recipe[0])
    return show(*recipe[1:]) if show else f"{recipe[0]}({', '.join(map(str, recipe[1:]))})"


def _all(items: list[Any]) -> str:
    return ", ".join(map(_recipe, items))


def _pairs(pairs: list[Any]) -> str:
    return ", ".join(f"{_recipe(key)}: {_recipe(value)}" for key, value in pairs)


def _made(_module: str, name: str, begin: Mapping[str, Any], since: list[Any]) -> str:
    """An object, and the last things that were done to it."""
    return f"{name}({_arguments(begin)})" + "".join(f".{call['name']}({_arguments(call)})…" for call in since[-2:])


_BY_LETTER: dict[str, Callable[..., str]] = {
    "plain": repr,
    "float": str,
    "bytes": lambda text: repr(bytes.fromhex(text)),
    "list": lambda items: f"[{_all(items)}]",
    "tuple": lambda items: f"({_all(items)}{',' * (len(items) == 1)})",
    "set": lambda items: f"{{{_all(items)}}}" if items else "set()",
    "dict": lambda pairs: f"{{{_pairs(pairs)}}}",
    "data": lambda _, name, items: f"{name}({', '.join(f'{key}={_recipe(value)}' for key, value in items.items())})",
    "fields": lambda _, name, items: f"{name}({_all(items)})",
    "named": lambda _, name: str(name),
    "member": lambda _, name, member: f"{name}.{member}",
    "made": _made,
}
