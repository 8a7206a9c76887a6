"""Giving the same calls to the code before and after a refactoring, beside the run of the whole suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prd2pr.core.evidence import PathKind, RunReport
from prd2pr.core.parity.plan import Asked, ParityPlan, TimedTest, asked_tests, parity_plan
from prd2pr.core.parity.record import Parity
from prd2pr.core.signatures import module_name
from prd2pr.flows.codebase import Pair
from prd2pr.ports import ParityRequest, TestRunner

SECONDS = 15.0  # of tests that are asked
MOST_TESTS = 2000


def holding_tests(pair: Pair, story: Iterable[str], base: RunReport) -> Asked:
    """Tests that pass before the step and show how the changed code is used."""
    files = set(pair.head.test_texts)
    passing = [
        TimedTest(result.id, result.seconds)
        for result in base.results
        if result.outcome == "passed" and result.id.partition("::")[0] in files
    ]
    names = [module_name(change.path) for change in pair.changes if change.kind is PathKind.SOURCE]
    return asked_tests(story, passing, pair.base.test_texts, names, seconds=SECONDS, most=MOST_TESTS)


def start_comparison(
    runner: TestRunner, pair: Pair, asked: Asked, restore: Mapping[str, str]
) -> Callable[[], Parity] | None:
    """None where nothing of the project's Python has changed, or no test shows how it is used."""
    plan = plan_of(pair)
    if not asked.tests or not plan.old:
        return None
    return runner.start_parity(ParityRequest(pair.head.tree, asked.tests, plan, asked.partial, restore))


def plan_of(pair: Pair) -> ParityPlan:
    changed = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    python = {path for path in changed if path.endswith(".py")}
    others = pair.base.texts(lambda path: path in changed - python)
    gone = {path: None for path in changed - python if path not in pair.base.entries}
    return parity_plan(pair.base.source_texts, pair.head.source_texts, python, {**others, **gone}, seed=pair.head.tree)
