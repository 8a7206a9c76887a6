"""Evidence for languages other than Python, gathered the same way for all through their `Language` description."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prd2pr.domain.evidence import (
    Evidence,
    Fact,
    FailureKind,
    PathKind,
    RunReport,
    Signature,
    StackFacts,
    TestResult,
)
from prd2pr.domain.records import UNTESTED_KINDS, Phase
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.test_runs import (
    compare_base_with_head,
    expand_test_ids,
    strip_test_parameters,
    summarize_run,
)
from prd2pr.languages.base import DeclaredTestCase, Language, ParsedTestFile, SourceContext, TestContext
from prd2pr.languages.capabilities import list_unchecked_layers
from prd2pr.languages.criteria_coverage import match_criteria
from prd2pr.languages.mutation_plan import MutationPlan, rank_faults
from prd2pr.languages.registry import get_language
from prd2pr.languages.test_runner import MutationRequest, RunRequest
from prd2pr.verification.codebase import LOCKED_KINDS, Codebase
from prd2pr.verification.gather.context import (
    GatherCase,
    find_parent_directories,
    gather_integrated,
    is_green,
    is_passing,
    list_restored_blobs,
)
from prd2pr.verification.story_tests import RedTests

REPEAT_SEED = 1


def find_declared_red_tests(
    before: Mapping[str, ParsedTestFile], after: Mapping[str, ParsedTestFile], base: RunReport, head: RunReport
) -> RedTests:
    """Find the tests that the step added or changed, in the test files that it touched."""
    then, now = base.by_id(), head.by_id()
    known = {strip_test_parameters(test) for test in then}
    old = {test.id: test.body for file in before.values() for test in file.tests}
    edited = {test.id for file in after.values() for test in file.tests if old.get(test.id, test.body) != test.body}
    fresh = {test for test in now if strip_test_parameters(test) not in known or strip_test_parameters(test) in edited}
    fresh |= {test for test in now if "[" in test and test not in then}
    carried = [
        test
        for test, result in now.items()
        if test not in fresh and test.partition("::")[0] in after and _is_stopped_by_import(result)
    ]
    return RedTests(tuple(sorted(fresh)), tuple(sorted(carried)))


def _is_stopped_by_import(result: TestResult) -> bool:
    failure = result.failure
    return failure is not None and failure.stage == "collect" and failure.kind is FailureKind.MISSING_SYMBOL


def find_reclaimed_declarations(
    before: Mapping[str, ParsedTestFile],
    after: Mapping[str, ParsedTestFile],
    failing: Mapping[str, str],
    fresh: frozenset[str],
) -> Iterator[Fact]:
    """Report new tests that are copies of a test that failed before. `failing`: body → id."""
    there = {test.id for file in before.values() for test in file.tests}
    for path, file in after.items():
        for test in file.tests:
            if test.id in fresh and test.id not in there and test.body in failing:
                message = f"same test as `{failing[test.body]}`, which failed before"
                yield Fact(code="RED502", path=path, line=test.line, test=test.id, message=message)


@dataclass(frozen=True)
class LanguageStep:
    """A step with the source and test texts of its language."""

    case: GatherCase

    @cached_property
    def language(self) -> Language:
        return get_language(self.case.stack.language)

    def _own(self, path: str) -> bool:
        return self.case.stack.contains_path(path) and self.language.owns(path)

    def source(self, side: Codebase) -> dict[str, str]:
        return side.texts(lambda path: self._own(path) and side.kind(path) is PathKind.SOURCE)

    def tests(self, side: Codebase) -> dict[str, str]:
        """Return path -> text of the language's test files and helpers."""
        return side.texts(lambda path: self._own(path) and side.kind(path) in LOCKED_KINDS)

    @cached_property
    def source_before(self) -> dict[str, str]:
        return self.source(self.case.pair.base)

    @cached_property
    def source_after(self) -> dict[str, str]:
        return self.source(self.case.pair.head)

    @cached_property
    def tests_before(self) -> dict[str, str]:
        return self.tests(self.case.pair.base)

    @cached_property
    def tests_after(self) -> dict[str, str]:
        return self.tests(self.case.pair.head)

    @cached_property
    def manifests(self) -> dict[str, str]:
        """Path -> text of the dependency manifests before the step."""
        base = self.case.pair.base
        return base.texts(lambda path: self.case.stack.contains_path(path) and base.kind(path) is PathKind.MANIFEST)

    @cached_property
    def for_tests(self) -> frozenset[str]:
        return self.language.find_test_directories(self.manifests)

    @cached_property
    def helpers(self) -> frozenset[str]:
        """Names of assertion helpers in shared test modules and test-only source."""
        shared = {path: text for path, text in self.tests_after.items() if not self.language.is_test_file(path)}
        shared |= {path: text for path, text in self.source_after.items() if path.startswith(tuple(self.for_tests))}
        return frozenset(
            name for path, text in shared.items() for name in self.language.find_asserting_functions(path, text)
        )

    def files(self, texts: Mapping[str, str], paths: Iterable[str]) -> dict[str, ParsedTestFile]:
        return {path: self.language.read_tests(path, texts[path]) for path in paths if path in texts}

    def touched(self, *kinds: PathKind) -> list[str]:
        changes = self.case.pair.changes
        return [
            each.path for each in changes if each.kind in kinds and each.status != "deleted" and self._own(each.path)
        ]

    def build_common_fields(self) -> dict[str, Any]:
        stack, phase = self.case.stack, self.case.phase
        lacking = list_unchecked_layers(stack.runner, phase)
        facts = StackFacts(language=stack.language, runner=stack.runner, root=stack.root, not_checked=lacking)
        modules = {self.language.name_module(path).partition(".")[0] for path in self.source_after}
        return {**self.case.build_common_fields(), "project_modules": tuple(sorted(modules)), "stack": facts}


# --- RED --------------------------------------------------------------------------------------------------------------


def _gather_red(case: GatherCase) -> Evidence:
    step, base = LanguageStep(case), case.base_report
    touched = step.touched(*LOCKED_KINDS)
    modules = [path for path in touched if step.language.is_test_file(path)]
    head = case.head_report(find_parent_directories(modules))
    before, after = step.files(step.tests_before, modules), step.files(step.tests_after, modules)
    tests = find_declared_red_tests(before, after, base, head)
    comparison = compare_base_with_head(base, head)
    kept = tuple(test for test in comparison.regressed if test not in tests.carried)
    vanished = tuple(test for test in comparison.vanished if strip_test_parameters(test) not in tests.carried)
    comparison = comparison.model_copy(update={"regressed": kept, "vanished": vanished})
    fresh = frozenset(strip_test_parameters(test) for test in tests.fresh)
    common = step.build_common_fields()
    missing = _list_missing_names(head)
    common["project_modules"] = tuple(
        sorted({*common["project_modules"], *(name.partition(".")[0] for name in missing)})
    )
    declared = [test for path in modules for test in after[path].tests if path in after]
    collected = {strip_test_parameters(result.id) for result in head.results}
    story = case.story
    return Evidence(
        **common,
        declared=tuple(test.id for test in declared),
        uncollected=tuple(test.id for test in declared if test.id not in collected and not test.pattern),
        story_tests=tests.all,
        facts=(
            *_find_test_facts(step, touched, fresh),
            *find_reclaimed_declarations(before, after, _find_failing_bodies(step, base), fresh),
        ),
        coverage=_find_new_coverage(declared or _list_undeclared_tests(step, fresh), story.criteria, fresh)
        if story
        else None,
        project_names=_list_project_names(step, missing),
        flat_layout=not step.source_after or any("/" not in path for path in step.source_after),
        called=_list_called_names(after.values()),
        subject_lines={path: file.subject_lines for path, file in after.items()},
        comparison=case.exclude_flaky(comparison, kept) if head.honest else comparison,
        base_run=summarize_run(base, tests.all),
        head_run=summarize_run(head, tests.all),
        repeat_run=summarize_run(_run_repeat(case, tests), tests.all) if tests.all else None,
    )


def _list_called_names(files: Collection[ParsedTestFile]) -> tuple[str, ...] | None:
    if any(file.called is None for file in files):
        return None
    return tuple(sorted({name for file in files for name in file.called or ()}))


def _find_test_facts(step: LanguageStep, touched: Iterable[str], fresh: frozenset[str]) -> tuple[Fact, ...]:
    planned = step.case.planned
    texts = step.tests_after
    context = TestContext(step.case.stack.runner, fresh, planned, step.helpers)
    return tuple(
        fact for path in touched if path in texts for fact in step.language.check_tests(path, texts[path], context)
    )


def _find_failing_bodies(step: LanguageStep, base: RunReport) -> dict[str, str]:
    """Return body → id of every test that failed before the step."""
    failing = {strip_test_parameters(result.id) for result in base.results if result.outcome in {"failed", "error"}}
    files = step.files(step.tests_before, {test.partition("::")[0] for test in failing})
    return {test.body: test.id for file in files.values() for test in file.tests if test.id in failing}


def _find_new_coverage(declared: Iterable[Any], criteria: tuple[str, ...], fresh: frozenset[str]) -> tuple[Any, ...]:
    return match_criteria([test for test in declared if test.id in fresh], criteria)


def _list_undeclared_tests(step: LanguageStep, fresh: frozenset[str]) -> list[DeclaredTestCase]:
    """Describe tests of a language without a parser by their ids in the run and their file's text."""
    texts = step.tests_after
    files = {test: texts.get(test.partition("::")[0], "") for test in sorted(fresh)}
    return [DeclaredTestCase(test, 0, 0, "", f"{test.partition('::')[2]}\n{text}") for test, text in files.items()]


def _list_project_names(step: LanguageStep, missing: set[str]) -> tuple[str, ...]:
    """Return the project's modules, and the public names of modules that a missing symbol points into."""
    parents = {name.rpartition(".")[0] for name in missing} | missing
    modules = {path: step.language.name_module(path) for path in step.source_after}
    found = set(sorted(set(modules.values()))[:2000])
    for path, module in modules.items():
        for parent in parents:
            if f".{parent}".endswith(f".{module}"):  # in Rust the crate's name comes first
                before = parent.removesuffix(module)
                names = step.language.list_signatures(path, step.source_after[path])
                found |= {f"{before}{each.name}" for each in names}
    return tuple(sorted(found))


def _list_missing_names(report: RunReport) -> set[str]:
    """Return the project's names that do not exist yet, judged by how they are imported."""
    failures = [result.failure for result in report.results if result.failure]
    lacking = [each for each in failures if each.kind is FailureKind.MISSING_SYMBOL]
    return {each.missing for each in lacking if "." in each.missing or each.stage == "collect"}


def _run_repeat(case: GatherCase, tests: RedTests) -> RunReport:
    paths = tuple(sorted({test.partition("::")[0] for test in tests.all}))
    request = RunRequest(
        case.pair.head.tree, paths=paths, order="reversed", hash_seed=REPEAT_SEED, stack=case.suite_stack
    )
    return case.context.runner.run(request)


# --- GREEN and REFACTOR -----------------------------------------------------------------------------------------------


def _gather_locked(case: GatherCase) -> Evidence:
    step, base, pair = LanguageStep(case), case.base_report, case.pair
    shown, held = _list_claimed_tests(step), case.hidden_tests
    claimed = (*shown, *held)
    own = {test.partition("::")[0] for test in claimed}
    expected = {**pair.base.locked, **(case.story.locked if case.story else {})}
    refactor = case.phase is Phase.REFACTOR
    locked = pair.list_locked_files(expected, lambda path: path in own)
    restore = list_restored_blobs(locked)
    asked = shown or (_list_passing_tests(step, base) if refactor else ())
    trial = _start_trial(step, asked, restore, pair.head.tree, step.source_before, step.source_after)
    head = case.head_report(find_parent_directories(own), restore)
    mutation = trial() if trial else None
    if not is_green(claimed, base, head):
        head = case.head_report(
            find_parent_directories(own), restore, afresh=True
        )  # concurrent runs may compete for a port
    tests = expand_test_ids(claimed, head)
    compared = compare_base_with_head(base, head)
    if is_passing(claimed, head):
        others = tuple(test for test in compared.regressed if test not in tests)
        compared = case.exclude_flaky(compared, others, restore)
    green = is_passing(claimed, head) and not compared.regressed
    before = None
    if refactor and green:
        earlier = _start_trial(step, asked, {}, pair.base.tree, step.source_after, step.source_before)
        before = earlier() if earlier else None
    changed = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    return Evidence(
        **step.build_common_fields(),
        locked=locked,
        story_tests=tests,
        facts=(
            *_find_source_facts(step, {path: step.tests_before[path] for path in own if path in step.tests_before}),
            *_find_manifest_facts(step),
        ),
        comparison=compared,
        base_run=summarize_run(base, expand_test_ids(claimed, base)),
        head_run=summarize_run(head, tests),
        signatures_before=_list_signatures(step, step.source_before, changed) if refactor else (),
        signatures_after=_list_signatures(step, step.source_after, changed) if refactor else (),
        improvement=_measure_improvement(step, changed) if refactor else {},
        bite=mutation if green else None,
        bite_before=before,
    )


def _list_claimed_tests(step: LanguageStep) -> tuple[str, ...]:
    """Return the tests proved RED; for a person's commits, whatever fails before GREEN."""
    case = step.case
    if case.story:
        return case.story.red_tests
    if case.phase is Phase.REFACTOR:
        return ()
    return tuple(sorted(each.id for each in case.base_report.results if each.outcome in {"failed", "error"}))


def _list_passing_tests(step: LanguageStep, base: RunReport) -> tuple[str, ...]:
    """Return the passing tests that protect a person's refactoring, without tests inside source files."""
    passed = (each.id for each in base.results if each.outcome == "passed")
    return tuple(sorted(test for test in passed if step.language.is_test_file(test.partition("::")[0])))


def _start_trial(  # noqa: PLR0917 what a trial depends on
    step: LanguageStep, tests: tuple[str, ...], restore: Mapping[str, str], tree: str,
    old: Mapping[str, str], new: Mapping[str, str],
) -> Callable[[], MutationResult] | None:  # fmt: skip
    """Start mutating the code that `new` adds to `old`."""
    case, language = step.case, step.language
    if not tests or (case.story and case.story.kind in UNTESTED_KINDS):
        return None
    changed = {change.path for change in case.pair.changes if change.kind is PathKind.SOURCE}
    knocked = [
        fault
        for path in sorted(changed)
        if path in new
        for fault in language.make_knock_outs(path, old.get(path, ""), new[path])
    ]
    files = {test.partition("::")[0] for test in tests}
    wrong = [
        fault
        for path in sorted(files)
        for fault in language.make_wrong_expectations(path, step.tests_before.get(path, ""))
    ]
    pairs = [(path, old.get(path, ""), new[path]) for path in sorted(changed & new.keys())]
    small = [fault for pair in pairs for fault in language.make_mutants(*pair)]
    green = case.phase is Phase.GREEN
    # A person's refactoring belongs to no story: all tests protect it, and only new functions are knocked out.
    asked = case.context.mutants if green or case.story else 0
    plan = MutationPlan(
        knock_outs=tuple(knocked),
        mutants=rank_faults(small, tree, asked),
        perturbations=rank_faults(_filter_story_faults(wrong, tests), tree, asked),
        answers=tuple(each for pair in pairs for each in language.replace_return_values(*pair)) if green else (),
        released=language.make_release_edits(step.manifests, [text for _, _, text in pairs]) if green else (),
    )
    if plan.is_empty:
        return MutationResult
    return case.context.runner.start_mutation_run(
        MutationRequest(tree, tests, plan, case.context.mutants, restore, ways=False)
    )


def _filter_story_faults(faults: Iterable[Any], tests: tuple[str, ...]) -> list[Any]:
    """Return the faults in the story's own tests, not in old tests of the same file."""
    titles = {strip_test_parameters(test).rpartition(" > ")[2].rpartition("::")[2] for test in tests}
    return [fault for fault in faults if fault.function in titles]


def _find_source_facts(step: LanguageStep, tests: Mapping[str, str]) -> tuple[Fact, ...]:
    context = SourceContext(tests, step.for_tests)
    before, after = step.source_before, step.source_after
    return tuple(
        fact
        for path in step.touched(PathKind.SOURCE)
        if path in after
        for fact in step.language.check_source(path, before.get(path, ""), after[path], context)
    )


def _find_manifest_facts(step: LanguageStep) -> tuple[Fact, ...]:
    changed = {change.path for change in step.case.pair.changes if change.kind is PathKind.MANIFEST}
    before, after = (side.texts(lambda path: path in changed) for side in (step.case.pair.base, step.case.pair.head))
    return tuple(
        fact for path in sorted(after) for fact in step.language.check_manifest(path, before.get(path, ""), after[path])
    )


def _list_signatures(step: LanguageStep, texts: Mapping[str, str], changed: set[str]) -> tuple[Signature, ...]:
    return tuple(
        each for path in sorted(changed) if path in texts for each in step.language.list_signatures(path, texts[path])
    )


def _measure_improvement(step: LanguageStep, changed: set[str]) -> dict[str, Any]:
    old = {path: text for path, text in step.source_before.items() if path in changed}
    new = {path: text for path, text in step.source_after.items() if path in changed}
    tokens = step.language.normalize_program
    same = old.keys() == new.keys() and all(tokens(path, old[path]) == tokens(path, new[path]) for path in old)
    return {
        "before": step.language.measure_source(old),
        "after": step.language.measure_source(new),
        "comment_only": bool(old) and same and {*old} == changed,
    }


# --- INTEGRATED -------------------------------------------------------------------------------------------------------


def _gather_integrated(case: GatherCase) -> Evidence:
    def find_directories(tests: Iterable[tuple[str, str]]) -> set[str]:
        return find_parent_directories(now.partition("::")[0] for _, now in tests)

    return gather_integrated(case, LanguageStep(case).build_common_fields(), find_directories)


OTHER_GATHERERS: dict[Phase, Callable[[GatherCase], Evidence]] = {
    Phase.RED: _gather_red,
    Phase.GREEN: _gather_locked,
    Phase.REFACTOR: _gather_locked,
    Phase.INTEGRATED: _gather_integrated,
}
