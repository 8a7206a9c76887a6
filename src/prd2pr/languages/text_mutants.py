"""Faults as text edits, for languages parsed with tree-sitter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from prd2pr.languages.mutation_plan import Fault
from prd2pr.languages.syntax import get_last_line, get_line, get_text

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_SHOWN = 60


def make_knock_out(path: str, name: str, function: Node, body: Node, inserted: str, *, excused: str = "") -> Fault:
    """Insert an error right after the opening brace. The rest stays, so that nothing it uses becomes unused."""
    edit = (body.start_byte + 1, body.start_byte + 1, inserted)
    lines, span = (get_line(body), get_last_line(body)), (function.start_byte, function.end_byte, get_line(function))
    id_ = _make_id("knock_out", path, edit)
    return Fault(
        id_, "knock_out", path, get_line(function), lines, name, f"`{name}` panics", edit, span, exemption=excused
    )


def make_perturbation(path: str, test: str, node: Node, other: str) -> Fault:
    """Replace an expected value by another of the same type."""
    edit = (node.start_byte, node.end_byte, other)
    lines, span = (get_line(node), get_last_line(node)), (node.start_byte, node.end_byte, get_line(node))
    change = f"`{get_text(node)[:_MAX_SHOWN]}` replaced by `{other[:_MAX_SHOWN]}`"
    return Fault(_make_id("perturbation", path, edit), "perturbation", path, lines[0], lines, test, change, edit, span)


FunctionSpan = tuple[int, int, str]  # from, to, name of a function


def make_text_mutants(
    path: str, changed: Iterable[int], names: Sequence[FunctionSpan], changes: Iterable[tuple[Node, str]]
) -> tuple[Fault, ...]:
    """Make mutants on changed lines inside functions. `changes`: nodes with their replacements."""
    lines = frozenset(changed)
    return tuple(
        _make_mutant(path, node, other, names)
        for node, other in changes
        if get_line(node) in lines and any(begin <= node.start_byte < end for begin, end, _ in names)
    )


def _make_mutant(path: str, node: Node, other: str, names: Sequence[FunctionSpan]) -> Fault:
    edit = (node.start_byte, node.end_byte, other)
    around = node.parent if node.parent is not None and not node.is_named else node
    whole = " ".join(get_text(around).split())[:_MAX_SHOWN]
    line = get_line(node)
    inside = min((end - begin, found) for begin, end, found in names if begin <= node.start_byte < end)[1]
    change = f"`{get_text(node)[:40]}` → `{other[:40]}` in `{whole}`"
    span = (node.start_byte, node.end_byte, line)
    return Fault(_make_id("mutant", path, edit), "mutant", path, line, (line, line), inside, change, edit, span)


def _make_id(kind: str, path: str, edit: tuple[int, int, str]) -> str:
    return hashlib.sha256(f"{kind} {path} {edit}".encode()).hexdigest()[:12]
