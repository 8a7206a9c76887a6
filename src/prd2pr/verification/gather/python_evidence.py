"""Evidence for Python: what RED, GREEN, REFACTOR and INTEGRATED read and run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from prd2pr.domain.evidence import Evidence, Fact, PathKind, RunReport
from prd2pr.domain.paths import PathRules
from prd2pr.domain.records import UNTESTED_KINDS, Phase
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.test_runs import (
    compare_base_with_head,
    expand_test_ids,
    strip_test_parameters,
    summarize_run,
)
from prd2pr.errors import UnknownRevision
from prd2pr.languages.differential_plan import DifferentialPlan
from prd2pr.languages.python.complexity import measure_improvement
from prd2pr.languages.python.differential.plan import (
    DifferentialTests,
    TimedTest,
    plan_differential,
    select_differential_tests,
)
from prd2pr.languages.python.mutation.exemptions import drop_registration_differences
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
from prd2pr.languages.test_runner import OTHER_SEED, DifferentialRequest, RunRequest, TestRunner
from prd2pr.state.git import Git
from prd2pr.verification.codebase import LOCKED_KINDS, Codebase, TreePair, load_tree_pair
from prd2pr.verification.gather.context import (
    GatherCase,
    find_parent_directories,
    gather_integrated,
    is_green,
    is_passing,
    list_restored_blobs,
)
from prd2pr.verification.gather.mutation import MutationTrial, repeat_trial, start_mutation_trial
from prd2pr.verification.gather.python_facts import (
    build_fact_context,
    find_data_facts,
    find_dead_code_removal,
    find_new_test_coverage,
    find_shadowing_modules,
    find_source_facts,
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
    exclude_red_effects,
    find_boundary_examples,
    find_failing_setups,
    find_reclaimed_tests,
    find_red_tests,
    find_unproved_tests,
)

REFERENCE_SECONDS = 15.0  # total run time of the reference tests
MAX_REFERENCE_TESTS = 2000


def read_pytest_project(codebase: Codebase) -> PytestProject:
    return make_pytest_project(read_pytest_settings(codebase.texts(lambda path: path in PYTEST_CONFIG_FILES)))


def is_run_by_default(project: PytestProject, test: str) -> bool:
    """Whether a plain `pytest` run collects the file of this test."""
    path = test.partition("::")[0]
    roots = [root.removeprefix("./") for root in project.testpaths]  # globs among them
    inside = not roots or any(root in {".", path} or fnmatchcase(path, f"{root}/*") for root in roots)
    return inside and not project.is_ignored(path)


# --- RED --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RedStep:
    """The test files and tests of a RED step, with their run."""

    touched: tuple[str, ...]  # files that belong to the tests
    modules: tuple[str, ...]  # those among them that hold tests
    tests: RedTests
    head: RunReport
    context: FactContext


def _gather_red(case: GatherCase) -> Evidence:
    pair, base = case.pair, case.base_report
    touched = tuple(change.path for change in pair.python_changes(*LOCKED_KINDS))
    modules = tuple(path for path in touched if pair.naming.is_module(path))
    if modules:  # usually the files of the new tests; otherwise this early run is not used
        case.context.runner.begin(_build_repeat_request(case, modules), in_parallel=True)
    head = case.head_report(find_parent_directories(modules), followed_by=(OTHER_SEED,))
    moved = find_dependent_tests(pair.base.test_texts, pair.head.test_texts, find_changed_samples(pair), pair.naming)
    before, after = _pick_texts(pair.base.test_texts, modules), _pick_texts(pair.head.test_texts, modules)
    tests = find_red_tests(before, after, base, head, moved, naming=pair.naming)
    comparison = exclude_red_effects(
        compare_base_with_head(base, head), tests, (before, after), base, head, naming=pair.naming
    )
    fresh = frozenset(strip_test_parameters(test) for test in tests.fresh)
    context = build_fact_context(pair, fresh, case.story.planned if case.story else None, head)
    collected = {strip_test_parameters(result.id) for result in head.results}
    wait_for_stub_facts = start_stub_runs(case.context.runner, pair, tests.fresh, head, case.planned)
    repeat = _build_repeat_request(case, tuple({test.partition("::")[0] for test in tests.all})) if tests.all else None
    new = _RedStep(touched, modules, tests, head, context)
    return Evidence(
        **case.build_common_fields(),
        declared=list_declared_tests(pair, modules),
        uncollected=tuple(test for test in list_certain_tests(pair, modules) if test not in collected),
        story_tests=tests.all,
        coverage=find_new_test_coverage(pair, modules, fresh, case.story.criteria) if case.story else None,
        project_names=list_project_names(pair, head),
        flat_layout=pair.head.flat,
        called=list_called_names(pair, modules),
        subject_lines=find_subject_lines(pair, modules, context),
        facts=(*_find_red_facts(case, new), *wait_for_stub_facts()),
        comparison=case.exclude_flaky(comparison, comparison.regressed) if head.honest else comparison,
        base_run=summarize_run(base, tests.all),
        head_run=summarize_run(head, tests.all),
        repeat_run=summarize_run(case.context.runner.run(repeat), tests.all) if repeat else None,
    )


def _find_red_facts(case: GatherCase, new: _RedStep) -> Iterator[Fact]:
    pair, base, head, fresh = case.pair, case.base_report, new.head, new.tests.fresh
    before, after, naming = pair.base.test_texts, pair.head.test_texts, pair.naming
    changed, project = _pick_texts(after, new.modules), new.context.project_modules
    yield from find_test_facts(pair, new.touched, new.context)
    carried = frozenset(map(strip_test_parameters, new.tests.carried))
    yield from check_existing_helpers(before, after, frozenset(map(strip_test_parameters, fresh)), carried, naming)
    yield from find_reclaimed_tests(before, changed, base, fresh, naming)
    yield from check_repeated_failures(before, changed, base, fresh, naming)
    yield from find_tests_outside_testpaths(
        pair.base.testpaths, _list_added_files(pair, new.modules), pair.base.entries, naming
    )
    yield from check_unrelated_failures(changed, head, fresh, project, naming)
    yield from check_conflicting_tests(after, fresh, project, naming)
    yield from find_boundary_examples(base, head, fresh)
    yield from find_failing_setups(changed, head, fresh)
    yield from check_misspelt_imports(
        _pick_texts(after, new.touched), before, pair.head.source_texts, pair.head.modules, case.planned
    )


def _build_repeat_request(case: GatherCase, files: Sequence[str]) -> RunRequest:
    """Build the request that runs the story's files again, in reverse order and with another hash seed."""
    paths = tuple(sorted(files))
    return RunRequest(
        case.pair.head.tree, paths=paths, order="reversed", hash_seed=OTHER_SEED, followed_by=(), later=(0,)
    )


# --- GREEN and REFACTOR: the tests are locked -------------------------------------------------------------------------


def _gather_locked(case: GatherCase) -> Evidence:
    pair, base = case.pair, case.base_report
    shown, held = _list_claimed_tests(case), case.hidden_tests
    claimed = (*shown, *held)
    read = {test.partition("::")[0] for test in shown}
    own = {test.partition("::")[0] for test in claimed}
    expected = {**pair.base.locked, **pair.find_oracle_blobs(), **(case.story.locked if case.story else {})}
    refactor = case.phase is Phase.REFACTOR
    removal = find_dead_code_removal(pair, {*own, *(case.story.locked if case.story else ())}) if refactor else None
    if removal and removal.is_open:
        expected = {path: blob for path, blob in expected.items() if path not in removal.files}
    locked = pair.list_locked_files(expected, lambda path: path in own)
    trial = _start_trial(case, shown, list_restored_blobs(locked))
    earlier = _start_earlier_trial(case, shown) if refactor else None
    comparison = _start_comparison(case, shown, list_restored_blobs(locked)) if refactor else None
    head = case.head_report(find_parent_directories(own), list_restored_blobs(locked))
    parity = comparison() if comparison else None
    mutation = trial.wait() if trial else None
    before = earlier.wait() if earlier else None
    if mutation and not mutation.problems and not is_green(claimed, base, head):
        # Concurrent runs may compete for a port or file. A failure only then is not the code's fault.
        head = case.head_report(find_parent_directories(own), list_restored_blobs(locked), afresh=True)
    if trial and mutation and mutation.problems and is_green(claimed, base, head):
        mutation = repeat_trial(trial)
    tests = expand_test_ids(claimed, head)
    compared = compare_base_with_head(base, head)
    if is_passing(claimed, head):
        others = tuple(test for test in compared.regressed if test not in tests)
        compared = case.exclude_flaky(compared, others, list_restored_blobs(locked))
    green = is_passing(claimed, head) and not compared.regressed
    if parity and parity.problems and green and (alone := _start_comparison(case, shown, list_restored_blobs(locked))):
        parity = alone()  # it may have timed out next to three other processes
    return Evidence(
        **case.build_common_fields(),
        locked=locked,
        story_tests=tests,
        facts=(
            *find_source_facts(pair, read, case.phase),
            *find_data_facts(pair, case.phase),
            *find_shadowing_modules(pair, base),
            *check_doctests(pair.base.source_texts, pair.head.source_texts, base, case.phase),
        ),
        comparison=compared,
        base_run=summarize_run(base, expand_test_ids(claimed, base)),
        head_run=summarize_run(head, tests),
        signatures_before=list_changed_signatures(pair.base, pair) if refactor else (),
        signatures_after=list_changed_signatures(pair.head, pair) if refactor else (),
        improvement=_measure_improvement(pair) if refactor else {},
        bite=drop_registration_differences(mutation, pair.base.test_texts, pair.head.source_texts)
        if mutation and green
        else None,
        bite_before=before,
        removal=removal,
        parity=parity if green else None,
    )


def _start_trial(case: GatherCase, tests: tuple[str, ...], restore: Mapping[str, str]) -> MutationTrial | None:
    """Start mutating the code that the step added; None for a story that needs no tests."""
    if case.story and case.story.kind in UNTESTED_KINDS:
        return None
    context, pair = case.context, case.pair
    return start_mutation_trial(context.runner, pair.head, pair.base, pair, tests, restore, context.mutants)


def _start_earlier_trial(case: GatherCase, tests: tuple[str, ...]) -> MutationTrial | None:
    """Start mutating the code as it was before the refactoring."""
    context, pair = case.context, case.pair
    return start_mutation_trial(context.runner, pair.base, pair.head, pair, tests, {}, context.mutants, ways=False)


def _start_comparison(
    case: GatherCase, tests: tuple[str, ...], restore: Mapping[str, str]
) -> Callable[[], DifferentialResult] | None:
    """Start comparing the code before and after a refactoring on the same calls."""
    if not case.context.compare or (case.story and case.story.kind in UNTESTED_KINDS):
        return None
    asked = choose_reference_tests(case.pair, expand_test_ids(tests, case.base_report), case.base_report)
    return start_differential(case.context.runner, case.pair, asked, restore)


def _list_claimed_tests(case: GatherCase) -> tuple[str, ...]:
    """Return the tests proved RED; for a person's commits, those that the previous commit added and left failing."""
    if case.story:
        return case.story.red_tests
    if case.phase is Phase.REFACTOR:
        return ()  # failures before a refactoring are baseline; the comparison covers passing tests
    return find_claimed_red_tests(
        case.context.git, case.context.rules, case.context.runner, case.base, case.base_report
    )


def _measure_improvement(pair: TreePair) -> dict[str, Any]:
    paths = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    before = pair.base.texts(lambda path: path in paths)
    return measure_improvement(before, pair.head.texts(lambda path: path in paths))


# --- INTEGRATED: the tests move ---------------------------------------------------------------------------------------


def _gather_integrated(case: GatherCase) -> Evidence:
    # No prewarmed process is needed next: the next story starts with its design.
    directories = partial(_find_canary_directories, case.pair)
    return gather_integrated(case, case.build_common_fields(), directories, followed_by=())


def _find_canary_directories(pair: TreePair, tests: Iterable[tuple[str, str]]) -> set[str]:
    """Return the directories of the moved tests, without tests that left the directories that pytest collects."""
    project = read_pytest_project(pair.head)
    kept = [new for old, new in tests if is_run_by_default(project, new) or not is_run_by_default(project, old)]
    return find_parent_directories(test.partition("::")[0] for test in kept)


PYTHON_GATHERERS: dict[Phase, Callable[[GatherCase], Evidence]] = {
    Phase.RED: _gather_red,
    Phase.GREEN: _gather_locked,
    Phase.REFACTOR: _gather_locked,
    Phase.INTEGRATED: _gather_integrated,
}


def _list_added_files(pair: TreePair, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path not in pair.base.entries]


def _pick_texts(texts: Mapping[str, str], paths: Iterable[str]) -> dict[str, str]:
    return {path: texts[path] for path in paths if path in texts}


# --- which tests a person's RED commit claims -------------------------------------------------------------------------


def find_claimed_red_tests(
    git: Git, rules: PathRules, runner: TestRunner, commit: str, report: RunReport
) -> tuple[str, ...]:
    """Return the tests that fail because of this commit.

    Usually the changed texts show it. If an old test fails in a changed file, or shared helpers or data changed, the
    previous commit is run too; that run is usually cached as RED's baseline.
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
    """Return changed data files of the tests."""
    kinds = [change for change in pair.changes if change.kind in LOCKED_KINDS and change.status == "modified"]
    return tuple(change.path for change in kinds if not change.path.endswith(".py"))


def _list_changed_helpers(pair: TreePair) -> list[str]:
    return [path for path in _list_changed_test_files(pair) if not pair.naming.is_module(path)]


def _list_changed_test_files(pair: TreePair) -> list[str]:
    return [change.path for change in pair.python_changes(*LOCKED_KINDS)]


def _load_commit_pair(git: Git, rules: PathRules, commit: str) -> TreePair | None:
    """Return the commit and its first parent as a tree pair; None if only a tree is known."""
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
    names = [get_module_name(change.path) for change in pair.changes if change.kind is PathKind.SOURCE]
    return select_differential_tests(
        story, passing, pair.base.test_texts, names, seconds=REFERENCE_SECONDS, most=MAX_REFERENCE_TESTS
    )


def start_differential(
    runner: TestRunner, pair: TreePair, asked: DifferentialTests, restore: Mapping[str, str]
) -> Callable[[], DifferentialResult] | None:
    """Start the comparison; None if no Python source changed or no test calls it."""
    plan = build_differential_plan(pair)
    if not asked.tests or not plan.old:
        return None
    return runner.start_differential_run(DifferentialRequest(pair.head.tree, asked.tests, plan, asked.partial, restore))


def build_differential_plan(pair: TreePair) -> DifferentialPlan:
    changed = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    python = {path for path in changed if path.endswith(".py")}
    others = pair.base.texts(lambda path: path in changed - python)
    gone = {path: None for path in changed - python if path not in pair.base.entries}
    return plan_differential(
        pair.base.source_texts, pair.head.source_texts, python, {**others, **gone}, seed=pair.head.tree
    )
