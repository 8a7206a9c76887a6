"""Deliberate faults as edits of a text, for languages that are read by tree-sitter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.other.syntax import last_line, line_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SHOWN = 60


def knock_out(path: str, name: str, function: Node, body: Node, inserted: str, *, excused: str = "") -> Fault:
    """An error right behind the opening brace. The rest stays, out of reach: so nothing that it uses becomes unused."""
    edit = (body.start_byte + 1, body.start_byte + 1, inserted)
    lines, span = (line_of(body), last_line(body)), (function.start_byte, function.end_byte, line_of(function))
    id_ = _id("knock_out", path, edit)
    return Fault(
        id_, "knock_out", path, line_of(function), lines, name, f"`{name}` panics", edit, span, excused=excused
    )


def perturbation(path: str, test: str, node: Node, other: str) -> Fault:
    """An expected value, replaced by another of the same type."""
    edit = (node.start_byte, node.end_byte, other)
    lines, span = (line_of(node), last_line(node)), (node.start_byte, node.end_byte, line_of(node))
    said = f"`{text_of(node)[:_SHOWN]}` replaced by `{other[:_SHOWN]}`"
    return Fault(_id("perturbation", path, edit), "perturbation", path, lines[0], lines, test, said, edit, span)


Named = tuple[int, int, str]  # from, to, name of a function


def mutants(
    path: str, changed: Iterable[int], names: Sequence[Named], changes: Iterable[tuple[Node, str]]
) -> tuple[Fault, ...]:
    """Small faults on changed lines, inside of functions. `changes`: a node, and what stands in its place."""
    lines = frozenset(changed)
    return tuple(
        _mutant(path, node, other, names)
        for node, other in changes
        if line_of(node) in lines and any(begin <= node.start_byte < end for begin, end, _ in names)
    )


def _mutant(path: str, node: Node, other: str, names: Sequence[Named]) -> Fault:
    edit = (node.start_byte, node.end_byte, other)
    around = node.parent if node.parent is not None and not node.is_named else node
    whole = " ".join(text_of(around).split())[:_SHOWN]
    line = line_of(node)
    inside = min((end - begin, found) for begin, end, found in names if begin <= node.start_byte < end)[1]
    said = f"`{text_of(node)[:40]}` → `{other[:40]}` in `{whole}`"
    span = (node.start_byte, node.end_byte, line)
    return Fault(_id("mutant", path, edit), "mutant", path, line, (line, line), inside, said, edit, span)


def _id(kind: str, path: str, edit: tuple[int, int, str]) -> str:
    return hashlib.sha256(f"{kind} {path} {edit}".encode()).hexdigest()[:12]
