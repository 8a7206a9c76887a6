"""The gates: pure functions from evidence to a verdict."""

from __future__ import annotations

from collections.abc import Callable

from prd2pr.core.evidence import Evidence, Verdict
from prd2pr.core.gates.common import GatePolicy
from prd2pr.core.gates.green import green_gate
from prd2pr.core.gates.integrated import integrated_gate
from prd2pr.core.gates.red import red_gate
from prd2pr.core.gates.refactor import refactor_gate
from prd2pr.core.records import Phase

__all__ = ["GATES", "GatePolicy", "green_gate", "integrated_gate", "red_gate", "refactor_gate"]

GATES: dict[Phase, Callable[[Evidence, GatePolicy], Verdict]] = {
    Phase.RED: red_gate,
    Phase.GREEN: green_gate,
    Phase.REFACTOR: refactor_gate,
    Phase.INTEGRATED: integrated_gate,
}
