"""What the launcher is told to try: the plan, and checks whose names nobody knows."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from prd2pr.core.bite.expectations import PERTURBED
from prd2pr.core.bite.plan import KNOCKED_OUT, Fault, expected_values
from prd2pr.ports import BiteRequest
from prd2pr.runners.canary import Canary

MOST_ANEW = 3  # mutants that need a run from the beginning: constants of a module, what runs on import
# How failures are worded matters to nobody here, and wording takes longer than most tests.
QUICK = ("--tb=no", "--verbosity=0")
SECONDS = 120  # for all faults of a step, after the first look


def order_of(request: BiteRequest, canaries: list[Canary], texts: dict[str, str]) -> dict[str, Any]:
    """`texts`: the canaries' files."""
    names = {PERTURBED: f"_{secrets.token_hex(8)}", KNOCKED_OUT: f"_{secrets.token_hex(8)}"}
    canary = canaries[0]
    function = canary.passing.partition("::")[2]
    wrong = [fault for fault in expected_values({canary.path: texts[canary.path]}) if fault.function == function]
    plan = request.plan
    return {
        "tests": list(request.tests),
        "hidden": list(canary.ids),
        "failing": canary.failing,
        "files": sorted({*(test.partition("::")[0] for test in request.tests), canary.path}),
        "knock_outs": _faults(plan.knock_outs, names),
        "mutants": _faults(plan.mutants, names),
        "perturbations": _faults(plan.perturbations, names),
        "canaries": _faults(wrong, names),
        "perturbed": names[PERTURBED],
        "most": request.most,
        "most_anew": min(MOST_ANEW, request.most),
        "seconds": SECONDS,
        "ways": request.ways,
    }


def _faults(faults: Iterable[Fault], names: dict[str, str]) -> list[dict[str, Any]]:
    found = []
    for fault in faults:
        start, end, text = fault.edit
        for placeholder, name in names.items():
            text = text.replace(placeholder, name)
        found.append({**asdict(fault), "edit": (start, end, text)})
    return found
