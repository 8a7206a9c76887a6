"""Make faults as text edits for parsed languages."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from prd2pr.languages.mutation_plan import Edit, Fault, FaultKind
from prd2pr.languages.syntax.nodes import get_last_line, get_line, get_text

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_SHOWN = 60


def make_fault(
    kind: FaultKind,
    path: str,
    edit: Edit,
    *,
    around: Node,
    lines: tuple[int, int],
    function: str,
    change: str,
    exemption: str = "",
) -> Fault:
    """Make a fault in the statement `around`. A test that executes one of the `lines` executes the fault."""
    line = get_line(around)
    return Fault(
        hashlib.sha256(f"{kind} {path} {edit}".encode()).hexdigest()[:12],
        kind,
        path,
        line,
        lines,
        function,
        change,
        edit,
        (around.start_byte, around.end_byte, line),
        exemption=exemption,
    )


def make_perturbation(path: str, test: str, node: Node, other: str) -> Fault:
    """Make a fault that replaces an expected value with another of the same type."""
    return make_fault(
        "perturbation",
        path,
        (node.start_byte, node.end_byte, other),
        around=node,
        lines=(get_line(node), get_last_line(node)),
        function=test,
        change=f"`{get_text(node)[:_MAX_SHOWN]}` replaced by `{other[:_MAX_SHOWN]}`",
    )
