"""What a code means, for whoever asks: findings of gates, errors, and what can be wrong with a plan."""

from __future__ import annotations

import difflib

from prd2pr.core.error_kinds import BY_CODE
from prd2pr.core.findings import FINDINGS, weight
from prd2pr.core.plan_problems import PLAN_PROBLEMS
from prd2pr.core.said.readings import Explained


def explained(code: str) -> Explained:
    kind = FINDINGS.get(code)
    if kind is not None:
        return Explained(code, kind.title, kind.explanation, kind.bad, kind.good, kind.hint, weight(kind))
    problem = PLAN_PROBLEMS.get(code)
    if problem is not None:
        return Explained(code, problem.title, problem.explanation)
    error = BY_CODE.get(code)
    if error is not None:
        return Explained(code, error.title, error.explanation, hint=error.way_out)
    near = difflib.get_close_matches(code, [*FINDINGS, *PLAN_PROBLEMS, *BY_CODE], n=3, cutoff=0.6)
    return Explained(code, did_you_mean=tuple(near))
