"""What two versions made of the same calls: which differences there are, and which of them are grave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prd2pr.core.parity.likeness import likeness
from prd2pr.core.parity.plan import ParityPlan, Target
from prd2pr.core.parity.record import Compared, Differing, Origin
from prd2pr.core.parity.showing import shown_call, shown_outcome

SHOWN = 3  # differences of one function; the others are counted
_MEANT: frozenset[str] = frozenset({"recorded", "near", "hinted"})  # values that the function was made for


def compared(
    plan: ParityPlan,
    cases: Iterable[Mapping[str, Any]],
    before: Mapping[str, Mapping[str, Any]],
    after: Mapping[str, Mapping[str, Any]],
) -> tuple[tuple[Compared, ...], tuple[Differing, ...]]:
    functions: list[Compared] = []
    differences: list[Differing] = []
    every = list(cases)
    for target in plan.targets:
        mine = [case for case in every if case["target"] == target.id]
        if not mine or target.kind == "init":
            continue
        found: list[Differing] = []
        unjudged = 0
        for case in mine:
            old, new = before.get(str(case["id"]), _LOST), after.get(str(case["id"]), _LOST)
            weight = _blurred(case["origin"], old, new)
            if "unjudged" in old or "unjudged" in new:
                unjudged += 1
            else:
                weight = weigh(case["origin"], old, new, unordered=plan.unordered)
            if weight is not None:
                found.append(_differing(target, case, old, new, grave=weight))
        found.sort(key=lambda each: (not each.grave, _RANK[each.origin]))
        differences += found[:SHOWN]
        functions.append(
            Compared(
                function=_dotted(target),
                path=target.path,
                calls=len(mine),
                recorded=sum(case["origin"] == "recorded" for case in mine),
                unjudged=unjudged,
                differing=len(found),
            )
        )
    return tuple(functions), tuple(differences)


# Why a call cannot be judged, where that is the code's own doing. As `runners/calling.py` and `comparing.py` say it.
BLURRING = ("draws lots", "reaches outside", "not the same twice", "the process ended")
_LOST: Mapping[str, Any] = {"unjudged": "it was not told"}
_RANK: dict[Origin, int] = {"recorded": 0, "near": 1, "hinted": 2, "guessed": 3, "odd": 4}


def _blurred(origin: Origin, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool | None:
    """The old code answered plainly. Who lets chance, the outside or an end into it could hide anything behind them."""
    why = str(new.get("unjudged", ""))
    if "unjudged" in old or not why.startswith(BLURRING):
        return None
    return True if origin in _MEANT else None


def weigh(origin: Origin, old: Mapping[str, Any], new: Mapping[str, Any], *, unordered: bool = False) -> bool | None:
    """None: no difference that anybody would mind. Else whether it is grave.

    An error that just happened, on values that nobody has shown to be meant, says that the code was not made for them:
    what the new code does there is its own affair. An error that was raised on purpose is a promise on any value.
    """
    if "raised" in old:
        return _after_an_error(origin, old, new, unordered=unordered)
    if "raised" in new:
        return origin in _MEANT
    found = likeness(old["returned"], new["returned"], unordered=unordered)
    if found == "other" or old.get("printed") != new.get("printed"):
        return origin in _MEANT or origin == "guessed"
    if found == "close" and origin in _MEANT:
        return False
    if origin in _MEANT and _left_otherwise(old, new, unordered=unordered):
        return False
    return None


def _after_an_error(origin: Origin, old: Mapping[str, Any], new: Mapping[str, Any], *, unordered: bool) -> bool | None:
    if "raised" in new and old["raised"][0] in new["raised"]:
        # Who refuses something on purpose leaves what it was given as it is, or halfway: that is a promise as well.
        half_done = origin in _MEANT and old["meant"] and _left_otherwise(old, new, unordered=unordered)
        return True if half_done else None
    if origin == "recorded":
        return True
    if not old["meant"]:
        return None
    return origin != "guessed"


def _left_otherwise(old: Mapping[str, Any], new: Mapping[str, Any], *, unordered: bool) -> bool:
    """What the call did to its arguments."""
    if "left" not in old or "left" not in new:
        return False
    return likeness(old["left"], new["left"], unordered=unordered) == "other"


def _differing(
    target: Target, case: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], *, grave: bool
) -> Differing:
    was, now = shown_outcome(old), shown_outcome(new)
    return Differing(
        function=_dotted(target),
        path=target.path,
        line=target.line_now,
        given=shown_call(case),
        before=was,
        after=now if now != was else f"{now}, with its arguments left otherwise",
        origin=case["origin"],
        grave=grave,
    )


def _dotted(target: Target) -> str:
    return f"{target.module}.{target.name}"
