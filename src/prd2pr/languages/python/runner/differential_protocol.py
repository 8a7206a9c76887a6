"""Builds the launcher's parameters for a differential run and reads its events."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from prd2pr.domain.results.differential import AFTER_STEP_PREFIX, DifferentialResult
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.domain.timeouts import describe_stopped_run
from prd2pr.languages.differential_plan import DifferentialPlan
from prd2pr.languages.python.differential.comparison import compare_outcomes, weigh_difference
from prd2pr.languages.python.differential.coverage_gaps import find_uncovered_code
from prd2pr.languages.python.runner.canary import Canary
from prd2pr.languages.python.runner.canary_text import SUBJECTS
from prd2pr.languages.python.runner.mutation_protocol import get_last_output_line, read_facts, remove_paths
from prd2pr.languages.test_runner import DifferentialRequest
from prd2pr.sandbox.process import ProcessRecord

END_EVENT = "differential_end"


CONTROL_TARGET = "hidden"
_WORDS = SUBJECTS.split()


@dataclass(frozen=True)
class ControlModule:
    """A control module whose function returns another value after the step, which the comparison must detect."""

    module: str
    name: str
    summand: int

    @property
    def path(self) -> str:
        return f"{self.module}.py"

    @property
    def old(self) -> str:
        return f"def {self.name}(value):\n    return value + {self.summand}\n"

    @property
    def new(self) -> str:
        return f"def {self.name}(value):\n    return value + {self.summand + 1}\n"


def make_control() -> ControlModule:
    """Make a control module with random names."""
    word = secrets.choice(_WORDS)
    return ControlModule(
        f"{word}_{secrets.token_hex(3)}", f"{secrets.choice(_WORDS)}_{word}", secrets.randbelow(90) + 3
    )


def build_differential_parameters(
    request: DifferentialRequest, canaries: list[Canary], planted: ControlModule
) -> dict[str, Any]:
    plan = request.plan
    targets = [
        {**asdict(each), "hints": dict(each.hints), "needed": list(each.needed)}
        for each in plan.targets
    ]  # fmt: skip
    control = {
        "id": CONTROL_TARGET, "name": planted.name, "module": planted.module, "path": planted.path, "line": 1,
        "kind": "function", "hints": {}, "needed": ["value"], "guessable": True, "judged": True,
    }  # fmt: skip
    return {
        "tests": list(request.tests),
        "hidden": list(canaries[0].ids),
        "files": sorted({*(test.partition("::")[0] for test in request.tests), canaries[0].path}),
        "targets": [*targets, control],
        "hidden_calls": [
            {
                "target": CONTROL_TARGET,
                "module": planted.module,
                "self": None,
                "args": [["plain", 7]],
                "kwargs": {},
            }
        ],
        "old": {**dict(plan.old), planted.path: planted.old},
        "watched": [*plan.watched, planted.path],
        "constants": dict(plan.constants),
        "modules": list(plan.modules),
        "seed": plan.seed,
    }


def read_differential_result(
    watched: ProcessRecord, nonce: str, request: DifferentialRequest, canary: Canary, private_paths: Iterable[str]
) -> DifferentialResult:
    """Read the events of a differential run.

    The result contains a problem if the run did not finish or a control failed.
    """
    facts, ended = read_facts(watched.events, nonce, END_EVENT)
    problems = [_read_problem(fact, private_paths) for fact in facts if "problem" in fact]
    if watched.killed:
        problems.append(describe_stopped_run("the comparison", watched.killed))
    elif not ended and not problems:
        problems.append(f"the differential run ended early{get_last_output_line(watched.output)}")
    facts_by_side = _DifferentialFacts(facts)
    problems += [] if problems else facts_by_side.find_problems(canary)
    if problems:
        return DifferentialResult(problems=tuple(dict.fromkeys(problems)), seconds=round(watched.seconds, 3))
    functions, differences = compare_outcomes(
        request.plan, facts_by_side.cases, facts_by_side.outcomes("before"), facts_by_side.outcomes("after")
    )
    return DifferentialResult(
        functions=functions,
        differences=differences,
        unrun=_find_uncovered(request.plan, facts_by_side),
        tests=len(request.tests),
        partial=request.partial,
        seconds=round(watched.seconds, 3),
    )


def _read_problem(fact: Mapping[str, Any], private_paths: Iterable[str]) -> str:
    return (AFTER_STEP_PREFIX if fact["side"] == "after" else "") + remove_paths(str(fact["problem"]), private_paths)


class _DifferentialFacts:
    """The facts reported by both sides of a differential run."""

    def __init__(self, facts: Iterable[Mapping[str, Any]]) -> None:
        self._facts = list(facts)

    def get(self, side: str, name: str) -> Any:
        return next((fact[name] for fact in self._facts if fact.get("side") == side and name in fact), None)

    @property
    def cases(self) -> list[Mapping[str, Any]]:
        return list(self.get("before", "cases") or [])

    def outcomes(self, side: str) -> Mapping[str, Mapping[str, Any]]:
        return dict(self.get(side, "outcomes") or {})

    def lines(self, side: str) -> dict[str, frozenset[int]]:
        found: dict[str, set[int]] = {}
        for path, line in self.get(side, "lines") or []:
            found.setdefault(path, set()).add(line)
        return {path: frozenset(lines) for path, lines in found.items()}

    def find_problems(self, canary: Canary) -> list[str]:
        """Return the reasons not to trust the comparison: a missed deliberate change, or an unexpected test outcome."""
        for side, when in (("before", ""), ("after", AFTER_STEP_PREFIX)):
            failed, passed = self.get(side, "failed") or [], self.get(side, "passed") or []
            ends_as_expected = _all_cases_in(canary.failing, failed, passed) and _all_cases_in(
                canary.passing, passed, failed
            )
            if not ends_as_expected:
                return [f"{when}a test that must fail, or one that must pass, had another outcome"]
        planted = [case for case in self.cases if case["target"] == CONTROL_TARGET and case["origin"] == "recorded"]
        before, after = self.outcomes("before"), self.outcomes("after")
        for case in planted:
            name = str(case["id"])
            if "returned" in before.get(name, {}) and "returned" in after.get(name, {}):
                return [] if weigh_difference("recorded", before[name], after[name]) else [_CONTROL_MISSED]
        return [_CONTROL_MISSED]


def _all_cases_in(test: str, wanted: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether all cases of the test, with and without parameters, are in `wanted` and none is in `others`."""
    return test in map(strip_test_parameters, wanted) and test not in map(strip_test_parameters, others)


_CONTROL_MISSED = "a function that was changed deliberately was not reported as different"


def _find_uncovered(plan: DifferentialPlan, facts: _DifferentialFacts) -> Any:
    old_texts = {path: text for path, text in plan.old if text is not None and path.endswith(".py")}
    return find_uncovered_code(old_texts, dict(plan.new), facts.lines("before"), facts.lines("after"))
