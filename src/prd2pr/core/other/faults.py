"""Deliberate faults as edits of a text, for languages that are read by tree-sitter."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.other.syntax import last_line, line_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SHOWN = 60


def knock_out(path: str, name: str, function: Node, body: Node, inserted: str) -> Fault:
    """An error right behind the opening brace. The rest stays, out of reach: so nothing that it uses becomes unused."""
    edit = (body.start_byte + 1, body.start_byte + 1, inserted)
    lines, span = (line_of(body), last_line(body)), (function.start_byte, function.end_byte, line_of(function))
    id_ = _id("knock_out", path, edit)
    return Fault(id_, "knock_out", path, line_of(function), lines, name, f"`{name}` panics", edit, span)


def perturbation(path: str, test: str, node: Node, other: str) -> Fault:
    """An expected value, replaced by another of the same type."""
    edit = (node.start_byte, node.end_byte, other)
    lines, span = (line_of(node), last_line(node)), (node.start_byte, node.end_byte, line_of(node))
    said = f"`{text_of(node)[:_SHOWN]}` replaced by `{other[:_SHOWN]}`"
    return Fault(_id("perturbation", path, edit), "perturbation", path, lines[0], lines, test, said, edit, span)


def _id(kind: str, path: str, edit: tuple[int, int, str]) -> str:
    return hashlib.sha256(f"{kind} {path} {edit}".encode()).hexdigest()[:12]
