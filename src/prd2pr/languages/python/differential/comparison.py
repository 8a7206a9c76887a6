"""Compares the outcomes of the same calls in two versions and decides which differences are serious."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prd2pr.domain.results.differential import BehaviorDifference, ComparedFunction, Origin
from prd2pr.languages.differential_plan import DifferentialPlan, DifferentialTarget
from prd2pr.languages.python.differential.equality import compare_values
from prd2pr.languages.python.differential.rendering import render_call, render_outcome

MAX_DIFFERENCES_SHOWN = 3  # differences listed per function; the others are only counted
_INTENDED_ORIGINS: frozenset[str] = frozenset(
    {"recorded", "near", "hinted"}
)  # values that the function was written for


def compare_outcomes(
    plan: DifferentialPlan,
    cases: Iterable[Mapping[str, Any]],
    before: Mapping[str, Mapping[str, Any]],
    after: Mapping[str, Mapping[str, Any]],
) -> tuple[tuple[ComparedFunction, ...], tuple[BehaviorDifference, ...]]:
    """Return the compared functions and the differences found in them."""
    functions: list[ComparedFunction] = []
    differences: list[BehaviorDifference] = []
    all_cases = list(cases)
    for target in plan.targets:
        own_cases = [case for case in all_cases if case["target"] == target.id]
        if not own_cases or target.kind == "init":
            continue
        found: list[BehaviorDifference] = []
        unjudged = 0
        for case in own_cases:
            old, new = before.get(str(case["id"]), _MISSING_OUTCOME), after.get(str(case["id"]), _MISSING_OUTCOME)
            weight = _weigh_nondeterminism(case["origin"], old, new)
            if "unjudged" in old or "unjudged" in new:
                unjudged += 1
            else:
                weight = weigh_difference(case["origin"], old, new, unordered=plan.unordered)
            if weight is not None:
                found.append(_make_difference(target, case, old, new, grave=weight))
        found.sort(key=lambda each: (not each.grave, _ORIGIN_RANK[each.origin]))
        differences += found[:MAX_DIFFERENCES_SHOWN]
        functions.append(
            ComparedFunction(
                function=_get_qualified_name(target),
                path=target.path,
                calls=len(own_cases),
                recorded=sum(case["origin"] == "recorded" for case in own_cases),
                unjudged=unjudged,
                differing=len(found),
            )
        )
    return tuple(functions), tuple(differences)


# Reasons in the code itself why a call cannot be judged. Same strings as in probes/calls.py and probes/differential.py.
NONDETERMINISM_REASONS = ("uses randomness", "has side effects", "not reproducible", "the process ended")
_MISSING_OUTCOME: Mapping[str, Any] = {"unjudged": "no outcome was reported"}
_ORIGIN_RANK: dict[Origin, int] = {"recorded": 0, "near": 1, "hinted": 2, "guessed": 3, "odd": 4}


def _weigh_nondeterminism(origin: Origin, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool | None:
    """Return True if only the new code is nondeterministic for an intended input, otherwise None.

    Randomness, side effects or an exit in the new code could hide any difference.
    """
    reason = str(new.get("unjudged", ""))
    if "unjudged" in old or not reason.startswith(NONDETERMINISM_REASONS):
        return None
    return True if origin in _INTENDED_ORIGINS else None


def weigh_difference(
    origin: Origin, old: Mapping[str, Any], new: Mapping[str, Any], *, unordered: bool = False
) -> bool | None:
    """Return whether the difference is serious, or None if there is no relevant difference.

    If the old code fails accidentally on values that no test shows to be intended, any new behavior is acceptable. An
    error that the old code raises deliberately is part of the contract for any value.
    """
    if "raised" in old:
        return _weigh_after_error(origin, old, new, unordered=unordered)
    if "raised" in new:
        return origin in _INTENDED_ORIGINS
    similarity = compare_values(old["returned"], new["returned"], unordered=unordered)
    if similarity == "other" or old.get("printed") != new.get("printed"):
        return origin in _INTENDED_ORIGINS or origin == "guessed"
    if similarity == "close" and origin in _INTENDED_ORIGINS:
        return False
    if origin in _INTENDED_ORIGINS and _differ_in_arguments(old, new, unordered=unordered):
        return False
    return None


def _weigh_after_error(
    origin: Origin, old: Mapping[str, Any], new: Mapping[str, Any], *, unordered: bool
) -> bool | None:
    if "raised" in new and old["raised"][0] in new["raised"]:
        # After a deliberate error, the state of the arguments is part of the contract.
        changed_arguments = (
            origin in _INTENDED_ORIGINS and old["meant"] and _differ_in_arguments(old, new, unordered=unordered)
        )
        return True if changed_arguments else None
    if origin == "recorded":
        return True
    if not old["meant"]:
        return None
    return origin != "guessed"


def _differ_in_arguments(old: Mapping[str, Any], new: Mapping[str, Any], *, unordered: bool) -> bool:
    """Return whether the two calls left their arguments in different states."""
    if "left" not in old or "left" not in new:
        return False
    return compare_values(old["left"], new["left"], unordered=unordered) == "other"


def _make_difference(
    target: DifferentialTarget, case: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], *, grave: bool
) -> BehaviorDifference:
    before, after = render_outcome(old), render_outcome(new)
    return BehaviorDifference(
        function=_get_qualified_name(target),
        path=target.path,
        line=target.line_now,
        given=render_call(case),
        before=before,
        after=after if after != before else f"{after}, with its arguments changed differently",
        origin=case["origin"],
        grave=grave,
    )


def _get_qualified_name(target: DifferentialTarget) -> str:
    return f"{target.module}.{target.name}"
