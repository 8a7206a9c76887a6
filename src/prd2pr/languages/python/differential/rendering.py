"""Renders calls and their outcomes as readable Python code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MAX_LENGTH = 120


def render_call(case: Mapping[str, Any]) -> str:
    name = str(case["called"])
    if case["self"] is not None:
        name = f"{_render_recipe(case['self'])}.{name.rpartition('.')[2]}"
    return _clip(name if case["kind"] == "property" else f"{name}({_render_arguments(case)})", 2 * MAX_LENGTH)


def render_outcome(outcome: Mapping[str, Any]) -> str:
    if "raised" in outcome:
        return f"raises {outcome['raised'][0]}"
    if "unjudged" in outcome:
        return f"unclear: {outcome['unjudged']}"
    printed = outcome.get("printed")
    text = _clip(_render_value(outcome["returned"]), MAX_LENGTH)
    return f"{text}, printed {_clip(repr(printed), MAX_LENGTH // 2)}" if printed else text


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# --- observed values, as made by probes/value_recipes.py ------------------------------------------------------------


def _render_value(observed: Any) -> str:
    render = _VALUE_RENDERERS.get(observed[0])
    return render(*observed[1:]) if render else "…"


def _render_sequence(kind: str, items: list[Any]) -> str:
    inner = ", ".join(map(_render_value, items))
    if kind == "tuple":
        return f"({inner}{',' * (len(items) == 1)})"
    return f"[{inner}]" if kind == "list" else f"{kind}([{inner}])"


def _render_mapping(kind: str, pairs: list[Any]) -> str:
    inner = ", ".join(f"{_render_value(key)}: {_render_value(value)}" for key, value in pairs)
    return f"{{{inner}}}" if kind == "dict" else f"{kind}({{{inner}}})"


def _render_set(kind: str, items: list[Any]) -> str:
    inner = ", ".join(map(_render_value, items))
    return f"{{{inner}}}" if kind == "set" and items else f"{kind}([{inner}])"


def _render_object(kind: str, attributes: Mapping[str, Any]) -> str:
    return f"{kind}({', '.join(f'{name}={_render_value(value)}' for name, value in attributes.items())})"


_VALUE_RENDERERS: dict[str, Callable[..., str]] = {
    "value": lambda kind, text: f"Path({text!r})" if kind == "Path" else str(text),
    "row": _render_sequence,
    "map": _render_mapping,
    "set": _render_set,
    "object": _render_object,
    "named": str,
}


# --- recipes of arguments ---------------------------------------------------------------------------------------------


def _render_arguments(call: Mapping[str, Any]) -> str:
    named = [f"{name}={_render_recipe(each)}" for name, each in call["kwargs"].items()]
    return ", ".join([*map(_render_recipe, call["args"]), *named])


def _render_recipe(recipe: Any) -> str:
    render = _RECIPE_RENDERERS.get(recipe[0])
    return render(*recipe[1:]) if render else f"{recipe[0]}({', '.join(map(str, recipe[1:]))})"


def _render_items(items: list[Any]) -> str:
    return ", ".join(map(_render_recipe, items))


def _render_pairs(pairs: list[Any]) -> str:
    return ", ".join(f"{_render_recipe(key)}: {_render_recipe(value)}" for key, value in pairs)


def _render_constructed(_module: str, name: str, constructor: Mapping[str, Any], calls: list[Any]) -> str:
    """Render the call that creates an object and the last calls of its methods."""
    return f"{name}({_render_arguments(constructor)})" + "".join(
        f".{call['name']}({_render_arguments(call)})…" for call in calls[-2:]
    )


_RECIPE_RENDERERS: dict[str, Callable[..., str]] = {
    "plain": repr,
    "float": str,
    "bytes": lambda text: repr(bytes.fromhex(text)),
    "list": lambda items: f"[{_render_items(items)}]",
    "tuple": lambda items: f"({_render_items(items)}{',' * (len(items) == 1)})",
    "set": lambda items: f"{{{_render_items(items)}}}" if items else "set()",
    "dict": lambda pairs: f"{{{_render_pairs(pairs)}}}",
    "data": lambda _, name, items: (
        f"{name}({', '.join(f'{key}={_render_recipe(value)}' for key, value in items.items())})"
    ),
    "fields": lambda _, name, items: f"{name}({_render_items(items)})",
    "named": lambda _, name: str(name),
    "member": lambda _, name, member: f"{name}.{member}",
    "made": _render_constructed,
}
