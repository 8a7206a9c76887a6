"""One row of the findings table.

An entry shows what is refused (`bad`) and what is accepted (`good`), as Python if the finding is about code and
otherwise in words. `tests/languages/python/test_finding_examples.py` applies the rules to the Python examples.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.domain.records import Phase

_PHASES = {"RED": Phase.RED, "GRN": Phase.GREEN, "RFC": Phase.REFACTOR, "INT": Phase.INTEGRATED}


@dataclass(frozen=True)
class FindingKind:
    code: str
    title: str
    explanation: str
    bad: str = field(kw_only=True)
    good: str = field(kw_only=True)
    remedy: str = field(kw_only=True)
    severity: Literal["error", "warning"] = "error"
    unswitchable: bool = False
    reserved: bool = False  # the code is reserved for a check that does not exist yet

    @property
    def phase(self) -> Phase | None:
        """The phase whose gate reports the finding, or None for findings about any run or about a branch."""
        return _PHASES.get(self.code[:3])


def define_strict_error(code: str, title: str, explanation: str, *, bad: str, good: str, remedy: str) -> FindingKind:
    """Define an error whose severity cannot be changed, since every proof depends on it."""
    return FindingKind(code, title, explanation, bad=bad, good=good, remedy=remedy, unswitchable=True)


def define_error(code: str, title: str, explanation: str, *, bad: str, good: str, remedy: str) -> FindingKind:
    """Define an error whose severity a project can change."""
    return FindingKind(code, title, explanation, bad=bad, good=good, remedy=remedy)


def define_warning(code: str, title: str, explanation: str, *, bad: str, good: str, remedy: str) -> FindingKind:
    return FindingKind(code, title, explanation, bad=bad, good=good, remedy=remedy, severity="warning")


def is_python_example(example: str) -> bool:
    """Return whether an example is code. Prose that parses by accident (`sandbox: none`) is not."""
    try:
        body = ast.parse(example).body
    except SyntaxError:
        return False
    return any(not isinstance(node, ast.Expr | ast.AnnAssign) for node in body)
