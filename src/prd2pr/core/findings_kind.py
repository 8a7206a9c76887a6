"""One row of the findings table.

A row shows what is refused (`bad`) and what is not (`good`): as Python where the code itself is at fault, else in a
line of words. `tests/core/test_finding_examples.py` reads the Python with the very rules.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.core.records import Phase

_PHASES = {"RED": Phase.RED, "GRN": Phase.GREEN, "RFC": Phase.REFACTOR, "INT": Phase.INTEGRATED}


@dataclass(frozen=True)
class FindingKind:
    code: str
    title: str
    explanation: str
    bad: str = field(kw_only=True)
    good: str = field(kw_only=True)
    hint: str = field(kw_only=True)
    severity: Literal["error", "warning"] = "error"
    unswitchable: bool = False
    reserved: bool = False  # the code is taken, the check is not built yet

    @property
    def phase(self) -> Phase | None:
        """The gate that it belongs to; None for findings about any run or about a branch."""
        return _PHASES.get(self.code[:3])


def law(code: str, title: str, explanation: str, *, bad: str, good: str, hint: str) -> FindingKind:
    """An error that no setting can lessen: without it a proof would be worth nothing."""
    return FindingKind(code, title, explanation, bad=bad, good=good, hint=hint, unswitchable=True)


def rule(code: str, title: str, explanation: str, *, bad: str, good: str, hint: str) -> FindingKind:
    """An error that a project may decide to see differently."""
    return FindingKind(code, title, explanation, bad=bad, good=good, hint=hint)


def advice(code: str, title: str, explanation: str, *, bad: str, good: str, hint: str) -> FindingKind:
    return FindingKind(code, title, explanation, bad=bad, good=good, hint=hint, severity="warning")


def reserved(code: str, title: str, explanation: str, *, bad: str, good: str, hint: str) -> FindingKind:
    return FindingKind(code, title, explanation, bad=bad, good=good, hint=hint, reserved=True)


def is_python(example: str) -> bool:
    """Whether an example is code. Words may parse by accident (`sandbox: none`), but define and do nothing."""
    try:
        body = ast.parse(example).body
    except SyntaxError:
        return False
    return any(not isinstance(node, ast.Expr | ast.AnnAssign) for node in body)
