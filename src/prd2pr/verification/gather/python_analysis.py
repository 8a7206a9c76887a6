"""The analysis of Python steps: the files to read, the tests of each phase and the facts about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from prd2pr.domain.evidence import ChangedTest, Fact, RunReport
from prd2pr.domain.paths import PathRules
from prd2pr.domain.records import UNTESTED_KINDS
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.results.removal import Removal
from prd2pr.domain.test_runs import (
    compare_base_with_head,
    expand_test_ids,
    strip_test_parameters,
)
from prd2pr.errors import UnknownRevision
from prd2pr.languages.differential_plan import DifferentialPlan
from prd2pr.languages.mutation_plan import MutationPlan
from prd2pr.languages.python.complexity import measure_improvement
from prd2pr.languages.python.differential.plan import (
    DifferentialTests,
    TimedTest,
    plan_differential,
    select_differential_tests,
)
from prd2pr.languages.python.mutation.exemptions import drop_registration_differences
from prd2pr.languages.python.mutation.plan import find_perturbations, find_used_modules, plan_mutations
from prd2pr.languages.python.pytest_settings import PYTEST_CONFIG_FILES, read_pytest_settings
from prd2pr.languages.python.rules.source_code.doctests import check_doctests
from prd2pr.languages.python.rules.test_code.contradictions import check_conflicting_tests, check_repeated_failures
from prd2pr.languages.python.rules.test_code.existing_helpers import check_existing_helpers
from prd2pr.languages.python.rules.test_code.misspelt_imports import check_misspelt_imports
from prd2pr.languages.python.rules.test_code.unrelated_failures import check_unrelated_failures
from prd2pr.languages.python.runner.project import PytestProject, make_pytest_project
from prd2pr.languages.python.shared_expectations import find_dependent_tests
from prd2pr.languages.python.signatures import get_module_name
from prd2pr.languages.python.test_model.module import FactContext
from prd2pr.languages.python.test_naming import DEFAULT_NAMING
from prd2pr.languages.python.testpaths import find_tests_outside_testpaths
from prd2pr.languages.rule_isolation import collect_facts
from prd2pr.languages.test_runner import DifferentialRequest, RunRequest, TestRunner
from prd2pr.state.git import Git
from prd2pr.verification.codebase import LOCKED_KINDS, Codebase, TreePair, load_tree_pair
from prd2pr.verification.gather.analysis import RedReading, StepAnalysis
from prd2pr.verification.gather.changed_tests import count_checks, exclude_declared_removals, find_changed_tests
from prd2pr.verification.gather.context import GatherCase
from prd2pr.verification.gather.python_facts import (
    build_fact_context,
    find_changed_source_facts,
    find_data_facts,
    find_dead_code_removal,
    find_new_test_coverage,
    find_shadowing_modules,
    find_subject_lines,
    find_test_facts,
    list_called_names,
    list_certain_tests,
    list_changed_signatures,
    list_declared_tests,
    list_project_names,
)
from prd2pr.verification.gather.stubs import start_stub_runs
from prd2pr.verification.story_tests import (
    RedTests,
    drop_earlier_failures,
    dump_all_tests,
    exclude_red_effects,
    find_boundary_examples,
    find_edited_tests,
    find_extended_tests,
    find_failing_setups,
    find_reclaimed_tests,
    find_red_tests,
    find_unproved_tests,
    restore_stopped_tests,
)

REFERENCE_SECONDS = 15.0  # limit on the total run time of the reference tests
MAX_REFERENCE_TESTS = 2000


class PythonAnalysis(StepAnalysis):
    """Reads a step of a Python project through its syntax trees, its pytest configuration and its runs."""

    varies_circumstances = True
    isolates_trials = True

    def find_canary_directories(self, tests: Iterable[tuple[str, str]]) -> set[str]:
        """Return the directories of the tests, except those that pytest no longer collects after the step."""
        project = read_pytest_project(self.pair.head)
        return super().find_canary_directories(
            (old, new) for old, new in tests if is_run_by_default(project, new) or not is_run_by_default(project, old)
        )

    def list_changed_test_files(self) -> tuple[str, ...]:
        return tuple(_list_changed_test_files(self.pair))

    def is_test_file(self, path: str) -> bool:
        return self.pair.naming.is_module(path)

    def read_red(self, touched: tuple[str, ...], modules: tuple[str, ...], head: RunReport) -> RedReading:
        case, pair, base = self.case, self.pair, self.case.base_report
        old, new, naming = pair.base.test_texts, pair.head.test_texts, pair.naming
        moved = find_dependent_tests(old, new, find_changed_samples(pair), naming)
        before, after = _pick_texts(old, modules), _pick_texts(new, modules)
        tests = find_red_tests(before, after, base, head, moved, naming=naming)
        comparison = exclude_red_effects(
            compare_base_with_head(base, head), tests, (before, after), base, head, naming=naming
        )
        fresh = frozenset(strip_test_parameters(test) for test in tests.fresh)
        context = build_fact_context(pair, fresh, case.story.planned if case.story else None, head)
        collected = {strip_test_parameters(result.id) for result in head.results}
        wait_for_stub_facts = start_stub_runs(case.context.runner, pair, tests.fresh, head, case.planned)
        step = _RedStep(touched, modules, tests, head, context)
        changed = _find_changed_tests(case, (before, after), head)
        fields = {
            "declared": list_declared_tests(pair, modules),
            "uncollected": tuple(test for test in list_certain_tests(pair, modules) if test not in collected),
            "coverage": find_new_test_coverage(pair, modules, fresh, case.story.criteria)
            if case.story and case.story.story
            else None,
            "project_names": list_project_names(pair, head),
            "flat_layout": pair.head.flat,
            "called": list_called_names(pair, modules),
            "subject_lines": find_subject_lines(pair, modules, context),
            "facts": (*_find_red_facts(case, step), *collect_facts(wait_for_stub_facts)),
            "changed_tests": changed,
        }
        return RedReading(tests, exclude_declared_removals(comparison, changed), fields)

    def find_claimed_tests(self) -> tuple[str, ...]:
        context = self.case.context
        return find_claimed_red_tests(context.git, context.rules, context.runner, self.case.base, self.case.base_report)

    def restore_stopped_tests(self, claimed: tuple[str, ...]) -> tuple[str, ...]:
        case, base = self.case, self.case.base_report
        pair = _load_commit_pair(case.context.git, case.context.rules, case.base) if base.collect_errors else None
        if pair is None:
            return claimed
        edited = find_edited_tests(pair.base.test_texts, pair.head.test_texts, pair.naming)
        return restore_stopped_tests(claimed, base, case.context.runner.run(RunRequest(pair.base.tree)), edited)

    def find_oracle_blobs(self) -> dict[str, str]:
        return self.pair.find_oracle_blobs()

    def find_removal(self, kept: set[str]) -> Removal | None:
        return find_dead_code_removal(self.pair, kept)

    def plan_mutations(self, new: Codebase, old: Codebase, tests: tuple[str, ...]) -> MutationPlan:
        changed = self.pair.changed_source
        files = {test.partition("::")[0] for test in tests}
        return plan_mutations(
            _pick_texts(old.source_texts, changed),
            _pick_texts(new.source_texts, changed),
            _pick_texts(self.pair.base.test_texts, files),
            seed=new.tree,
            most=self.case.context.mutants,
        )

    def plan_verified_mutations(self, tests: tuple[str, ...]) -> MutationPlan:
        """Plan mutants of the modules that the tests import, and of those that these import.

        Functions are not knocked out, because code that no test executes belongs to other requirements.
        """
        head = self.pair.head
        files = _pick_texts(head.test_texts, {test.partition("::")[0] for test in tests})
        used = find_used_modules(files, head.source_texts)
        plan = plan_mutations({}, used, files, seed=head.tree, most=self.case.context.mutants)
        return replace(plan, knock_outs=())

    def drop_exempt_results(self, mutation: MutationResult) -> MutationResult:
        return drop_registration_differences(mutation, self.pair.base.test_texts, self.pair.head.source_texts)

    def start_comparison(
        self, tests: tuple[str, ...], restore: Mapping[str, str]
    ) -> Callable[[], DifferentialResult] | None:
        case = self.case
        if not case.context.compare or (case.story and case.story.kind in UNTESTED_KINDS):
            return None
        asked = choose_reference_tests(self.pair, expand_test_ids(tests, case.base_report), case.base_report)
        return start_differential(case.context.runner, self.pair, asked, restore)

    def find_source_facts(self, tests: set[str]) -> tuple[Fact, ...]:
        pair, base, phase = self.pair, self.case.base_report, self.case.phase
        return (
            *collect_facts(find_changed_source_facts, pair, tests, phase),
            *collect_facts(find_data_facts, pair, phase),
            *collect_facts(find_shadowing_modules, pair, base),
            *collect_facts(check_doctests, pair.base.source_texts, pair.head.source_texts, base, phase),
        )

    def describe_refactoring(self) -> dict[str, Any]:
        pair = self.pair
        before, after = (side.texts(lambda path: path in pair.changed_source) for side in (pair.base, pair.head))
        return {
            "signatures_before": list_changed_signatures(pair.base, pair),
            "signatures_after": list_changed_signatures(pair.head, pair),
            "improvement": measure_improvement(before, after),
        }


# --- pytest's configuration -------------------------------------------------------------------------------------------


def read_pytest_project(codebase: Codebase) -> PytestProject:
    return make_pytest_project(read_pytest_settings(codebase.texts(lambda path: path in PYTEST_CONFIG_FILES)))


def is_run_by_default(project: PytestProject, test: str) -> bool:
    """Return whether a plain `pytest` run collects the file of this test."""
    path = test.partition("::")[0]
    roots = [root.removeprefix("./") for root in project.testpaths]  # may contain globs
    inside = not roots or any(root in {".", path} or fnmatchcase(path, f"{root}/*") for root in roots)
    return inside and not project.is_ignored(path)


# --- RED --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RedStep:
    """The test files and tests of a RED step, and their run."""

    touched: tuple[str, ...]  # changed test files, with helpers and data
    modules: tuple[str, ...]  # touched files that contain tests
    tests: RedTests
    head: RunReport
    context: FactContext


def _find_red_facts(case: GatherCase, new: _RedStep) -> Iterator[Fact]:
    pair, base, head, fresh = case.pair, case.base_report, new.head, new.tests.fresh
    before, after, naming = pair.base.test_texts, pair.head.test_texts, pair.naming
    changed, project = _pick_texts(after, new.modules), new.context.project_modules
    yield from collect_facts(find_test_facts, pair, new.touched, new.context)
    own, carried = (frozenset(map(strip_test_parameters, tests)) for tests in (fresh, new.tests.carried))
    yield from collect_facts(check_existing_helpers, before, after, own, carried, naming)
    yield from collect_facts(find_reclaimed_tests, before, changed, base, fresh, naming)
    yield from collect_facts(check_repeated_failures, before, changed, base, fresh, naming)
    yield from collect_facts(
        find_tests_outside_testpaths,
        pair.base.testpaths,
        _list_added_files(pair, new.modules),
        pair.base.entries,
        naming,
    )
    yield from collect_facts(check_unrelated_failures, changed, head, fresh, project, naming)
    yield from collect_facts(check_conflicting_tests, after, fresh, project, naming)
    yield from collect_facts(find_boundary_examples, base, head, fresh)
    yield from collect_facts(find_failing_setups, changed, head, fresh)
    yield from collect_facts(
        check_misspelt_imports,
        _pick_texts(after, new.touched),
        before,
        pair.head.source_texts,
        pair.head.modules,
        case.planned,
    )


def _list_added_files(pair: TreePair, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path not in pair.base.entries]


def _pick_texts(texts: Mapping[str, str], paths: Iterable[str]) -> dict[str, str]:
    return {path: texts[path] for path in paths if path in texts}


# --- which tests a person's RED commit claims -------------------------------------------------------------------------


def find_claimed_red_tests(
    git: Git, rules: PathRules, runner: TestRunner, commit: str, report: RunReport
) -> tuple[str, ...]:
    """Return the tests that fail because of this commit.

    Usually the changed files show which ones. If an old test fails in a changed file, or if shared helpers or data
    changed, the previous commit is tested too; that run is usually cached as RED's baseline.
    """
    pair = _load_commit_pair(git, rules, commit)
    modules = [path for path in _list_changed_test_files(pair) if pair.naming.is_module(path)] if pair else []
    before = {path: text for path, text in pair.base.test_texts.items() if path in modules} if pair else {}
    after = {path: text for path, text in pair.head.test_texts.items() if path in modules} if pair else {}
    more = pair is not None and bool(find_changed_samples(pair) or _list_changed_helpers(pair))
    naming = pair.naming if pair else DEFAULT_NAMING
    found = find_unproved_tests(report, before, after, more=more, naming=naming)
    if not found.doubtful or pair is None:
        return found.claimed
    kept = drop_earlier_failures(found.doubtful, runner.run(RunRequest(pair.base.tree)))
    return tuple(sorted((*found.claimed, *kept))) or found.doubtful


def find_changed_samples(pair: TreePair) -> tuple[str, ...]:
    """Return the changed data files that belong to the tests."""
    kinds = [change for change in pair.changes if change.kind in LOCKED_KINDS and change.status == "modified"]
    return tuple(change.path for change in kinds if not change.path.endswith(".py"))


def _list_changed_helpers(pair: TreePair) -> list[str]:
    return [path for path in _list_changed_test_files(pair) if not pair.naming.is_module(path)]


def _list_changed_test_files(pair: TreePair) -> list[str]:
    return [change.path for change in pair.python_changes(*LOCKED_KINDS)]


def _load_commit_pair(git: Git, rules: PathRules, commit: str) -> TreePair | None:
    """Return the trees of the commit and of its first parent, or None if only a tree is known."""
    try:
        commits = git.ancestors(commit, 2)
    except UnknownRevision:
        return None
    if len(commits) > 1:
        return load_tree_pair(git, rules, commits[1], commits[0], with_state=False)
    return TreePair(Codebase(git, git.empty_tree, rules), Codebase(git, git.code_tree(commit), rules))


# --- REFACTOR: the same calls to old and new code ---------------------------------------------------------------------


def choose_reference_tests(pair: TreePair, story: Iterable[str], base: RunReport) -> DifferentialTests:
    """Choose tests that pass before the step and call the changed code."""
    files = set(pair.head.test_texts)
    passing = [
        TimedTest(result.id, result.seconds)
        for result in base.results
        if result.outcome == "passed" and result.id.partition("::")[0] in files
    ]
    names = [get_module_name(path) for path in sorted(pair.changed_source)]
    return select_differential_tests(
        story, passing, pair.base.test_texts, names, seconds=REFERENCE_SECONDS, most=MAX_REFERENCE_TESTS
    )


def start_differential(
    runner: TestRunner, pair: TreePair, asked: DifferentialTests, restore: Mapping[str, str]
) -> Callable[[], DifferentialResult] | None:
    """Start the differential tests. Return None if no Python source changed or no test calls the changed code."""
    plan = build_differential_plan(pair)
    if not asked.tests or not plan.old:
        return None
    return runner.start_differential_run(DifferentialRequest(pair.head.tree, asked.tests, plan, asked.partial, restore))


def build_differential_plan(pair: TreePair) -> DifferentialPlan:
    changed = pair.changed_source
    python = {path for path in changed if path.endswith(".py")}
    others = pair.base.texts(lambda path: path in changed - python)
    gone = {path: None for path in changed - python if path not in pair.base.entries}
    return plan_differential(
        pair.base.source_texts, pair.head.source_texts, python, {**others, **gone}, seed=pair.head.tree
    )


def _find_changed_tests(
    case: GatherCase, texts: tuple[Mapping[str, str], Mapping[str, str]], head: RunReport
) -> tuple[ChangedTest, ...]:
    """Find the existing tests that differ. `texts` are the changed test modules before and after the step."""
    naming, base = case.pair.naming, case.base_report
    edited = find_edited_tests(*texts, naming)
    grown = {test for test in edited if _only_gained_examples(test, base, head)} & find_extended_tests(*texts, naming)
    old, new = (count_checks(find_perturbations(side), dict(dump_all_tests(side, naming)), edited) for side in texts)
    return find_changed_tests(case.story, edited - grown, (old, new), base, head)


def _only_gained_examples(test: str, base: RunReport, head: RunReport) -> bool:
    now = head.by_id()
    return all(each in now for each in base.by_id() if strip_test_parameters(each) == test)
