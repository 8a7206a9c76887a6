"""What the launcher told of old code and new, parsed at the door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prd2pr.core.out_of_time import stopped
from prd2pr.core.parity.judging import compared, weigh
from prd2pr.core.parity.plan import ParityPlan
from prd2pr.core.parity.record import AFTER, Parity
from prd2pr.core.parity.unrun import new_and_unrun
from prd2pr.ports import ParityRequest
from prd2pr.runners.bite_events import facts_told, last_words, tidy_place
from prd2pr.runners.canary import Canary
from prd2pr.runners.parity_order import HIDDEN
from prd2pr.runners.watch import Watched

END = "compared"


def read_parity(watched: Watched, nonce: str, request: ParityRequest, canary: Canary, hidden: Iterable[str]) -> Parity:
    facts, ended = facts_told(watched.events, nonce, END)
    problems = [_problem(fact, hidden) for fact in facts if "problem" in fact]
    if watched.killed:
        problems.append(stopped("the comparison", watched.killed))
    elif not ended and not problems:
        problems.append(f"the process that compares ended early{last_words(watched.output)}")
    told = _Told(facts)
    problems += [] if problems else told.doubts(canary)
    if problems:
        return Parity(problems=tuple(dict.fromkeys(problems)), seconds=round(watched.seconds, 3))
    functions, differences = compared(request.plan, told.cases, told.outcomes("before"), told.outcomes("after"))
    return Parity(
        functions=functions,
        differences=differences,
        unrun=_unrun(request.plan, told),
        tests=len(request.tests),
        partial=request.partial,
        seconds=round(watched.seconds, 3),
    )


def _problem(fact: Mapping[str, Any], hidden: Iterable[str]) -> str:
    return (AFTER if fact["side"] == "after" else "") + tidy_place(str(fact["problem"]), hidden)


class _Told:
    def __init__(self, facts: Iterable[Mapping[str, Any]]) -> None:
        self._facts = list(facts)

    def of(self, side: str, name: str) -> Any:
        return next((fact[name] for fact in self._facts if fact.get("side") == side and name in fact), None)

    @property
    def cases(self) -> list[Mapping[str, Any]]:
        return list(self.of("before", "cases") or [])

    def outcomes(self, side: str) -> Mapping[str, Mapping[str, Any]]:
        return dict(self.of(side, "outcomes") or {})

    def lines(self, side: str) -> dict[str, frozenset[int]]:
        found: dict[str, set[int]] = {}
        for path, line in self.of(side, "lines") or []:
            found.setdefault(path, set()).add(line)
        return {path: frozenset(lines) for path, lines in found.items()}

    def doubts(self, canary: Canary) -> list[str]:
        """A comparison that does not see what was changed on purpose sees nothing."""
        for side, when in (("before", ""), ("after", AFTER)):
            failed, passed = self.of(side, "failed") or [], self.of(side, "passed") or []
            if canary.failing not in failed or canary.passing not in passed:
                return [f"{when}a test that must fail, or one that must pass, did not do so"]
        planted = [case for case in self.cases if case["target"] == HIDDEN and case["origin"] == "recorded"]
        before, after = self.outcomes("before"), self.outcomes("after")
        for case in planted:
            name = str(case["id"])
            if "returned" in before.get(name, {}) and "returned" in after.get(name, {}):
                return [] if weigh("recorded", before[name], after[name]) else [_BLIND]
        return [_BLIND]


_BLIND = "a function that was changed on purpose was not found to differ"


def _unrun(plan: ParityPlan, told: _Told) -> Any:
    old = {path: text for path, text in plan.old if text is not None and path.endswith(".py")}
    return new_and_unrun(old, dict(plan.new), told.lines("before"), told.lines("after"))
