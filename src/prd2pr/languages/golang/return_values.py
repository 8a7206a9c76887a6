"""Make Go functions return other values, to find tests that do not check the result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.golang.files import SYNTAX
from prd2pr.languages.golang.functions import find_functions
from prd2pr.languages.mutation_plan import Edit, ReplacementKind
from prd2pr.languages.syntax.functions import ChangedFunction, Functions, KnockOut, read_program
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children

if TYPE_CHECKING:
    from tree_sitter import Node

_IMPORTS = '; import prd2pr_reflect "reflect"; import prd2pr_unsafe "unsafe"; import prd2pr_errors "errors"'
# If a result includes an error, either the error is removed or the other values change. This tells tests that only
# check for an error apart from those that check the value.
_OTHER = read_program("golang", "other_value.go")


def replace_returns(changed: ChangedFunction) -> Iterator[tuple[ReplacementKind, tuple[Edit, ...]]]:
    yield "other", _make_other_return(changed)
    yield "nothing", (_make_empty_return(changed),)


def _make_empty_return(changed: ChangedFunction) -> Edit:
    """Make the function return early. The rest of the body stays, so that no variable or import becomes unused."""
    at = changed.body.start_byte + 1
    values = ", ".join(_make_zero(kind) for kind, _ in _list_results(changed.node))
    return at, at, f" if true {{ return {values} }}; "


def _make_zero(kind: str) -> str:
    """Return a zero value. Pointers are not nil, so that a test fails on its assertion and not on a nil dereference."""
    return f"new({kind[1:]})" if kind.startswith("*") else f"*new({kind})"


def _make_other_return(changed: ChangedFunction) -> tuple[Edit, ...]:
    root, results = changed.file.root, _list_results(changed.node)
    clause = next(iter(list_children(root, "package_clause")), None)
    if not results or clause is None:
        return ()
    name = "prd2prOther" + hashlib.sha256(changed.path.encode()).hexdigest()[:8]
    names = [given or f"prd2prResult{at}" for at, (_, given) in enumerate(results)]
    shown = ", ".join(f"{given} {kind}" for given, (kind, _) in zip(names, results, strict=True))
    pointers = ", ".join(f"&{given}" for given in names)
    result, opening = get_field(changed.node, "result"), changed.body.start_byte + 1
    return (
        (clause.end_byte, clause.end_byte, _IMPORTS),
        (
            result.start_byte if result is not None else opening,
            opening,
            f"({shown}) {{ defer {name}({changed.number}, {pointers}); ",
        ),
        (root.end_byte, root.end_byte, "\n" + _OTHER.replace("NAME", name)),
    )


def _list_results(node: Node) -> list[tuple[str, str]]:
    """Return the type and name of each result. The name is empty if the result is unnamed."""
    result = get_field(node, "result")
    if result is None:
        return []
    return list(_walk_results(result)) if result.type == "parameter_list" else [(get_text(result), "")]


def _walk_results(result: Node) -> Iterator[tuple[str, str]]:
    for each in list_children(result):
        kind = get_field(each, "type")
        names = [get_text(name) for name in each.children_by_field_name("name")]
        for name in names or [""]:
            yield get_text(kind) if kind is not None else get_text(each), "" if name == "_" else name


FUNCTIONS = Functions(
    SYNTAX,
    find_functions,
    KnockOut(' panic("knocked out"); ', "panics"),
    replace_returns,
    entry_points=frozenset({"main", "init"}),
)
