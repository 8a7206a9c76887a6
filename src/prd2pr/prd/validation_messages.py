"""Readable messages for pydantic errors in a file that a person wrote."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from prd2pr.prd.strict_yaml import KeyPath


@dataclass(frozen=True)
class FieldProblem:
    path: KeyPath
    what: str
    remedy: str


def find_close_match(word: str, known: Iterable[str]) -> str:
    """Return the known word that was probably meant, or an empty string if none is close."""
    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else ""


def build_field_problem(
    error: ErrorDetails, model: type[BaseModel], patterns: Mapping[str, str] | None = None
) -> FieldProblem:
    """Describe a pydantic error. `patterns` describes the model's regular expressions in words."""
    remedy = _format_rule(error, patterns or {})
    path: KeyPath = tuple(part for part in error["loc"] if part != "[key]")
    if error["type"] == "extra_forbidden":
        return _build_unknown_key_problem(path, model)
    if "[key]" in error["loc"]:
        return FieldProblem(path, f"`{path[-1]}` is not a valid name under `{format_key_path(path[:-1])}`", remedy)
    if error["type"] == "missing":
        return FieldProblem(path, f"`{format_key_path(path)}` is missing", f"Add `{path[-1]}` there.")
    return FieldProblem(path, f"`{format_key_path(path)}` cannot be {format_value(error['input'])}", remedy)


def format_key_path(path: KeyPath) -> str:
    return ".".join(str(part) for part in path) or "the file"


def format_value(value: Any) -> str:
    """Return a value nearly as it was written."""
    if value is None or value in ("", [], {}):
        return "empty"
    if isinstance(value, str):
        return f"`{value}`" if len(value) <= 60 else f"`{value[:57]}…`"
    if isinstance(value, list | tuple | dict):
        return "a group of keys" if isinstance(value, dict) else "a list"
    return str(value).lower()


def _build_unknown_key_problem(path: KeyPath, model: type[BaseModel]) -> FieldProblem:
    owner = find_model(model, path[:-1])
    known = list(owner.model_fields) if owner else []
    key, place = str(path[-1]), f" under `{format_key_path(path[:-1])}`" if len(path) > 1 else ""
    match = find_close_match(key, known)
    what = f"unknown key `{key}`{place}" + (f"; did you mean `{match}`?" if match else "")
    if match:
        return FieldProblem(path, what, f"Write `{match}`, or remove the line.")
    return FieldProblem(path, what, f"The keys here are: {', '.join(known)}." if known else "Remove it.")


def find_model(model: type[BaseModel], path: KeyPath) -> type[BaseModel] | None:
    """Return the model of the keys below `path`."""
    current: type[BaseModel] | None = model
    remaining = list(path)
    while remaining and current is not None:
        field = current.model_fields.get(str(remaining.pop(0)))
        annotation = unwrap_optional(field.annotation) if field else None
        if get_origin(annotation) is dict and remaining:
            remaining.pop(0)
            annotation = get_args(annotation)[1]
        current = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    return current


def unwrap_optional(annotation: Any) -> Any:
    """Return `float` for `float | None`."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(arg for arg in get_args(annotation) if arg is not type(None))
    return annotation


# How to fix the value, by pydantic's error type. `{…}` is filled from the error's context.
_RULES: dict[str, str] = {
    "literal_error": "Allowed: {expected}.",
    "bool_type": "Write true or false.",
    "bool_parsing": "Write true or false.",
    "int_type": "Write a whole number, without quotes.",
    "int_from_float": "Write a whole number.",
    "float_type": "Write a number, without quotes.",
    "string_type": "Write text; put it in quotes if it looks like a number.",
    "tuple_type": "Write a list: `[a, b]`, or one `- a` per line.",
    "list_type": "Write a list: `[a, b]`, or one `- a` per line.",
    "dict_type": "Write keys below it, indented, as `key: value`.",
    "model_type": "Write keys below it, indented, as `key: value`.",
    "model_attributes_type": "Write keys below it, indented, as `key: value`.",
    "greater_than": "It must be more than {gt:g}.",
    "greater_than_equal": "It must be {ge:g} or more.",
    "less_than": "It must be less than {lt:g}.",
    "less_than_equal": "It must be {le:g} or less.",
    "finite_number": "Write a finite number.",
    "string_too_short": "It must not be empty.",
    "too_short": "It must not be empty.",
    "string_pattern_mismatch": "It must have the form {pattern}.",
}


def _format_rule(error: ErrorDetails, patterns: Mapping[str, str]) -> str:
    context = error.get("ctx", {})
    if error["type"] == "value_error":
        return str(context["error"])
    if context.get("pattern") in patterns:
        return patterns[context["pattern"]]
    rule = _RULES.get(error["type"])
    return rule.format_map(context) if rule else f"{error['msg']}."
