"""Observe the existing tests that a story changes or removes because a requirement changes what they assert."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from prd2pr.domain.evidence import ChangedTest, Comparison, RunReport
from prd2pr.domain.records import DeclaredTestChange
from prd2pr.domain.results.mutation import MutantResult
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.languages.mutation_plan import Fault, MutationPlan
from prd2pr.languages.test_runner import MutationRequest, RunRequest
from prd2pr.prd.requirement_ids import get_requirement_key
from prd2pr.state.git import BlobRef
from prd2pr.verification.codebase import load_tree_pair
from prd2pr.verification.gather.analysis import StepAnalysis
from prd2pr.verification.gather.context import GatherCase
from prd2pr.verification.story_context import StoryContext

Analyze = Callable[[GatherCase], StepAnalysis]
_ERROR_WORDS = """
    raises assertRaises assertRaisesRegex throws rejects toThrow toThrowError should_panic is_err unwrap_err expect_err
    ErrorIs ErrorAs EqualError ErrorContains
"""
_ERROR_CHECKS = re.compile(rf"\b(?:{'|'.join(_ERROR_WORDS.split())})\b|\berr == nil")
_EXACT = 2
_ALL = 100_000  # every mutant of the new code, to find those that the old tests detected in the old code


class MutationFailed(Exception):
    """Mutation testing of the changed tests failed. The text says why."""


# --- RED: the tests that differ ---------------------------------------------------------------------------------------


def find_changed_tests(
    story: StoryContext | None,
    edited: Iterable[str],
    checks: tuple[Mapping[str, int], Mapping[str, int]],
    base: RunReport,
    head: RunReport,
) -> tuple[ChangedTest, ...]:
    """Describe the existing tests that a step edits, and those that it removes as the story declares.

    `edited` are the tests whose content differs, and `checks` map tests to how strictly they compare, before and after
    the step. A test that only gained examples is not a changed test.
    """
    planned = {each.test: each for each in story.changed_tests} if story else {}
    wanted = {get_requirement_key(each) for each in story.requirements} if story else set()
    is_alone = story is not None and not story.story  # without a plan that says which requirements there are
    then, now = base.by_id(), {strip_test_parameters(test) for test in head.by_id()}
    passed: dict[str, list[str]] = {}
    for test, result in then.items():
        if result.outcome == "passed":
            passed.setdefault(strip_test_parameters(test), []).append(test)
    stopped = {failure.path for failure in head.collect_errors}
    gone = {test for test in passed if test not in now and test in planned and test.partition("::")[0] not in stopped}
    found = []
    for test in sorted({*edited, *gone} & passed.keys()):
        plan = planned.get(test)
        is_wanted = plan is not None and (is_alone or get_requirement_key(plan.requirement) in wanted)
        found.append(
            ChangedTest(
                test=test,
                requirement=plan.requirement if plan and is_wanted else "",
                removal_declared=bool(plan and plan.removed),
                removed=test in gone,
                checks_before=checks[0].get(test, 0),
                checks_after=checks[1].get(test, 0),
            )
        )
    return tuple(found)


def exclude_declared_removals(comparison: Comparison, changed: Iterable[ChangedTest]) -> Comparison:
    """Remove from the comparison the tests that are removed as declared."""
    gone = {each.test for each in changed if each.removed and each.removal_declared}
    vanished = tuple(test for test in comparison.vanished if strip_test_parameters(test) not in gone)
    counted = len(comparison.vanished) - len(vanished)
    update = {"vanished": vanished, "collected_before": comparison.collected_before - counted}
    return comparison.model_copy(update=update) if counted else comparison


def count_checks(faults: Iterable[Fault], bodies: Mapping[str, str], tests: Iterable[str]) -> dict[str, int]:
    """Measure how strictly each test compares: 2 for each expected value or error, and 1 for each expected part.

    `faults` replace the expected values.
    """
    counted: Counter[tuple[str, str]] = Counter()
    for fault in faults:
        counted[fault.path, fault.function] += _weigh(fault)
    return {
        test: sum(weight for (path, name), weight in counted.items() if _is_named(test, path, name))
        + _EXACT * len(_ERROR_CHECKS.findall(bodies.get(test, "")))
        for test in tests
    }


def _weigh(fault: Fault) -> int:
    """Return 1 for a part of the result, as in `"a" in text`, and 0 for one of several accepted values or a pattern."""
    text = fault.edit[2]
    if text.endswith((', "container")', ', "pattern")')):
        return 0
    return 1 if text.endswith(', "member")') else _EXACT


def _is_named(test: str, path: str, name: str) -> bool:
    file, _, inner = test.partition("::")
    return file == path and bool(name) and name in {inner.replace("::", "."), inner.rpartition(" > ")[2]}


# --- GREEN: what the old versions detected ----------------------------------------------------------------------------


@dataclass(frozen=True)
class OldTests:
    """The old versions of the changed tests, in the code before RED and in the new code."""

    case: GatherCase
    head: RunReport
    analyze: Analyze

    @property
    def _planned(self) -> tuple[DeclaredTestChange, ...]:
        return self.case.story.changed_tests if self.case.story else ()

    @property
    def _files(self) -> tuple[str, ...]:
        return tuple(sorted({each.test.partition("::")[0] for each in self._planned}))

    @cached_property
    def _former(self) -> GatherCase:
        """The step from nothing to the code and tests before RED, all of whose code counts as new."""
        git = self.case.context.git
        tree = self.case.story.before_red if self.case.story else ""
        pair = load_tree_pair(git, self.case.context.rules, git.empty_tree, tree, with_state=False)
        return replace(self.case, pair=replace(pair, base=pair.head))

    def observe(self) -> tuple[ChangedTest, ...]:
        """Return the planned tests that RED changed, with what their old versions show, or nothing if none changed."""
        story = self.case.story
        if story is None or not story.before_red or not self._planned:
            return ()
        old, new = self._former.pair.head, self.case.pair.head
        if all(old.entries.get(path) == new.entries.get(path) for path in self._files):
            return ()
        earlier, mutants = self._run_old_versions(), self._compare_mutants()
        outcomes = {strip_test_parameters(test): result.outcome for test, result in earlier.by_id().items()}
        now = {strip_test_parameters(test) for test in self.head.by_id()}
        found = tuple(
            ChangedTest(
                test=each.test,
                requirement=each.requirement,
                removal_declared=each.removed,
                removed=each.test not in now,
                on_new_code=outcomes.get(each.test),
            )
            for each in self._planned
        )
        return (found[0].model_copy(update=mutants), *found[1:])  # of all of them together

    def _run_old_versions(self) -> RunReport:
        entries, context = self._former.pair.head.entries, self.case.context
        old = {path: BlobRef(entries[path].blob, entries[path].mode) for path in self._files if path in entries}
        tree = context.git.edit_tree(self.case.pair.head.tree, old)
        request = RunRequest(tree, paths=tuple(sorted(old)), stack=self.case.suite_stack, followed_by=(0,))
        return context.runner.run(request)

    def _compare_mutants(self) -> dict[str, Any]:
        """Compare the mutants that the old tests detected with those that the tests of the new code detect."""
        tests = tuple(each.test for each in self._planned)
        try:
            before = self._mutate(self._former, tests, self.analyze(self._former).plan_verified_mutations(tests))
            killed = {_get_key(each): each for each in before if each.outcome == "killed"}
            return {"detected": len(killed), "lost": tuple(self._list_lost(killed)) if killed else ()}
        except MutationFailed as failure:
            return {"not_compared": str(failure)}

    def _list_lost(self, killed: Mapping[tuple[str, str, str], MutantResult]) -> Iterator[MutantResult]:
        whole = replace(self.case, context=replace(self.case.context, mutants=_ALL))
        passing = tuple(test for test, result in self.head.by_id().items() if result.outcome == "passed")
        again = self.analyze(whole).plan_verified_mutations(passing)
        kept = tuple(fault for fault in again.mutants if (fault.path, fault.function, fault.change) in killed)
        after = self._mutate(whole, passing, replace(again, knock_outs=(), perturbations=(), mutants=kept))
        noticed = {_get_key(each) for each in after if each.outcome != "survived" or each.elsewhere}
        present = {(fault.path, fault.function, fault.change) for fault in kept}
        yield from (each for key, each in killed.items() if key in present - noticed)

    def _mutate(self, case: GatherCase, tests: tuple[str, ...], plan: MutationPlan) -> tuple[MutantResult, ...]:
        if not plan.mutants:
            return ()
        plan = replace(plan, knock_outs=(), perturbations=())
        most = min(len(plan.mutants), case.context.mutants)
        request = MutationRequest(
            case.pair.head.tree, tests, plan, most, ways=False, hash_seed=0, stack=case.suite_stack
        )
        for _ in range(2):  # a run may fail because others run next to it
            result = case.context.runner.start_mutation_run(request)()
            if not result.problems:
                return result.mutants
        raise MutationFailed("; ".join(result.problems))


def _get_key(each: MutantResult) -> tuple[str, str, str]:
    return each.path, each.function, each.change
