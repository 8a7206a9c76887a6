"""What pydantic found wrong with a person's file, in words for a person."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from prd2pr.core.strict_yaml import KeyPath


@dataclass(frozen=True)
class Complaint:
    path: KeyPath
    what: str
    remedy: str


def close_match(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, or nothing."""
    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else ""


def complaint(error: ErrorDetails, model: type[BaseModel], patterns: Mapping[str, str] | None = None) -> Complaint:
    """`patterns`: what a regular expression of the model asks for, in words."""
    remedy = _rule(error, patterns or {})
    path: KeyPath = tuple(part for part in error["loc"] if part != "[key]")
    if error["type"] == "extra_forbidden":
        return _unknown_key(path, model)
    if "[key]" in error["loc"]:
        return Complaint(path, f"`{path[-1]}` is not a valid name under `{dotted(path[:-1])}`", remedy)
    if error["type"] == "missing":
        return Complaint(path, f"`{dotted(path)}` is missing", f"Add `{path[-1]}` there.")
    return Complaint(path, f"`{dotted(path)}` cannot be {shown(error['input'])}", remedy)


def dotted(path: KeyPath) -> str:
    return ".".join(str(part) for part in path) or "the file"


def shown(value: Any) -> str:
    """A value as the person wrote it, or nearly."""
    if value is None or value in ("", [], {}):
        return "empty"
    if isinstance(value, str):
        return f"`{value}`" if len(value) <= 60 else f"`{value[:57]}…`"
    if isinstance(value, list | tuple | dict):
        return "a group of keys" if isinstance(value, dict) else "a list"
    return str(value).lower()


def _unknown_key(path: KeyPath, model: type[BaseModel]) -> Complaint:
    owner = model_at(model, path[:-1])
    known = list(owner.model_fields) if owner else []
    key, place = str(path[-1]), f" under `{dotted(path[:-1])}`" if len(path) > 1 else ""
    meant = close_match(key, known)
    what = f"unknown key `{key}`{place}" + (f"; did you mean `{meant}`?" if meant else "")
    if meant:
        return Complaint(path, what, f"Write `{meant}`, or remove the line.")
    return Complaint(path, what, f"The keys here are: {', '.join(known)}." if known else "Remove it.")


def model_at(model: type[BaseModel], path: KeyPath) -> type[BaseModel] | None:
    """The model that the keys under `path` belong to."""
    current: type[BaseModel] | None = model
    remaining = list(path)
    while remaining and current is not None:
        field = current.model_fields.get(str(remaining.pop(0)))
        annotation = plain_type(field.annotation) if field else None
        if get_origin(annotation) is dict and remaining:
            remaining.pop(0)
            annotation = get_args(annotation)[1]
        current = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    return current


def plain_type(annotation: Any) -> Any:
    """`float | None` → `float`."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(arg for arg in get_args(annotation) if arg is not type(None))
    return annotation


# Pydantic's error types → what would be right. `{…}` is filled from the error's context.
_RULES: dict[str, str] = {
    "literal_error": "Allowed: {expected}.",
    "bool_type": "Write true or false.",
    "bool_parsing": "Write true or false.",
    "int_type": "Write a whole number, without quotes.",
    "int_from_float": "Write a whole number.",
    "float_type": "Write a number, without quotes.",
    "string_type": "Write text; put it in quotes if it looks like a number.",
    "tuple_type": "Write a list: `[a, b]`, or one `- a` a line.",
    "list_type": "Write a list: `[a, b]`, or one `- a` a line.",
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


def _rule(error: ErrorDetails, patterns: Mapping[str, str]) -> str:
    context = error.get("ctx", {})
    if error["type"] == "value_error":
        return str(context["error"])
    if context.get("pattern") in patterns:
        return patterns[context["pattern"]]
    rule = _RULES.get(error["type"])
    return rule.format_map(context) if rule else f"{error['msg']}."
