"""One row of the findings table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.core.records import Phase

_PHASES = {"RED": Phase.RED, "GRN": Phase.GREEN, "RFC": Phase.REFACTOR, "INT": Phase.INTEGRATED}


@dataclass(frozen=True)
class FindingKind:
    code: str
    title: str
    explanation: str
    example: str
    hint: str
    severity: Literal["error", "warning"] = "error"
    unswitchable: bool = False
    reserved: bool = False  # the code is taken, the check is not built yet

    @property
    def phase(self) -> Phase | None:
        """The gate that it belongs to; None for findings about any run or about a branch."""
        return _PHASES.get(self.code[:3])


def law(code: str, title: str, explanation: str, example: str, hint: str) -> FindingKind:
    """An error that no setting can lessen: without it a proof would be worth nothing."""
    return FindingKind(code, title, explanation, example, hint, unswitchable=True)


def rule(code: str, title: str, explanation: str, example: str, hint: str) -> FindingKind:
    """An error that a project may decide to see differently."""
    return FindingKind(code, title, explanation, example, hint)


def advice(code: str, title: str, explanation: str, example: str, hint: str) -> FindingKind:
    return FindingKind(code, title, explanation, example, hint, severity="warning")


def reserved(code: str, title: str, explanation: str, example: str, hint: str) -> FindingKind:
    return FindingKind(code, title, explanation, example, hint, reserved=True)
