"""The analysis of steps in languages other than Python, through their `Language` description."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from prd2pr.domain.evidence import (
    ChangedTest,
    Fact,
    FailureKind,
    PathKind,
    RunReport,
    Signature,
    StackFacts,
    TestResult,
)
from prd2pr.domain.records import Phase
from prd2pr.domain.test_runs import compare_base_with_head, strip_test_parameters
from prd2pr.languages.base import DeclaredTestCase, Language, ParsedTestFile, SourceContext, TestContext
from prd2pr.languages.capabilities import list_unchecked_layers
from prd2pr.languages.criteria_coverage import match_criteria
from prd2pr.languages.mutation_plan import MutationPlan, rank_faults
from prd2pr.languages.registry import get_language
from prd2pr.languages.rule_isolation import collect_facts
from prd2pr.verification.codebase import LOCKED_KINDS, Codebase
from prd2pr.verification.gather.analysis import MAX_NAMED_MODULES, RedReading, StepAnalysis
from prd2pr.verification.gather.changed_tests import count_checks, exclude_declared_removals, find_changed_tests
from prd2pr.verification.story_tests import RedTests


class LanguageAnalysis(StepAnalysis):
    """Reads a step through the functions of its `Language`."""

    @cached_property
    def language(self) -> Language:
        return get_language(self.case.stack.language)

    def _owns(self, path: str) -> bool:
        return self.case.stack.contains_path(path) and self.language.owns(path)

    def _read(self, side: Codebase, *kinds: PathKind) -> dict[str, str]:
        return side.texts(lambda path: self._owns(path) and side.kind(path) in kinds)

    @cached_property
    def _source_before(self) -> dict[str, str]:
        return self._read(self.pair.base, PathKind.SOURCE)

    @cached_property
    def _source_after(self) -> dict[str, str]:
        return self._read(self.pair.head, PathKind.SOURCE)

    @cached_property
    def _tests_before(self) -> dict[str, str]:
        """The text of each test file and test helper before the step, by path."""
        return self._read(self.pair.base, *LOCKED_KINDS)

    @cached_property
    def _tests_after(self) -> dict[str, str]:
        return self._read(self.pair.head, *LOCKED_KINDS)

    @cached_property
    def _manifests(self) -> dict[str, str]:
        """The text of each dependency manifest before the step, by path."""
        base = self.pair.base
        return base.texts(lambda path: self.case.stack.contains_path(path) and base.kind(path) is PathKind.MANIFEST)

    @cached_property
    def _test_directories(self) -> frozenset[str]:
        return self.language.find_test_directories(self._manifests)

    def _list_changed_files(self, *kinds: PathKind) -> tuple[str, ...]:
        changes = self.pair.changes
        return tuple(
            each.path for each in changes if each.kind in kinds and each.status != "deleted" and self._owns(each.path)
        )

    def _parse_tests(self, texts: Mapping[str, str], paths: Iterable[str]) -> dict[str, ParsedTestFile]:
        return {path: self.language.read_tests(path, texts[path]) for path in paths if path in texts}

    def build_common_fields(self) -> dict[str, Any]:
        stack, phase = self.case.stack, self.case.phase
        lacking = list_unchecked_layers(stack.runner, phase)
        facts = StackFacts(language=stack.language, runner=stack.runner, root=stack.root, not_checked=lacking)
        return {**super().build_common_fields(), "project_modules": tuple(sorted(self._packages)), "stack": facts}

    @cached_property
    def _packages(self) -> frozenset[str]:
        """The top-level names of the project's modules."""
        return frozenset(self.language.name_module(path).partition(".")[0] for path in self._source_after)

    # --- RED ----------------------------------------------------------------------------------------------------------

    def list_changed_test_files(self) -> tuple[str, ...]:
        return self._list_changed_files(*LOCKED_KINDS)

    def is_test_file(self, path: str) -> bool:
        return self.language.is_test_file(path)

    def read_red(self, touched: tuple[str, ...], modules: tuple[str, ...], head: RunReport) -> RedReading:
        base, story = self.case.base_report, self.case.story
        before, after = self._parse_tests(self._tests_before, modules), self._parse_tests(self._tests_after, modules)
        tests = find_declared_red_tests(before, after, base, head)
        comparison = compare_base_with_head(base, head)
        kept = tuple(test for test in comparison.regressed if test not in tests.carried)
        vanished = tuple(test for test in comparison.vanished if strip_test_parameters(test) not in tests.carried)
        fresh = frozenset(strip_test_parameters(test) for test in tests.fresh)
        failures = (result.failure for result in head.results)
        helpers = self._parse_tests(self._tests_after, {each.path for each in failures if each} - {*modules})
        missing = _list_missing_names(head)
        declared = [test for file in after.values() for test in file.tests]
        collected = {strip_test_parameters(result.id) for result in head.results}
        described = [test for test in declared or self._describe_undeclared_tests(fresh) if test.id in fresh]
        changed = self._find_changed_tests((before, after), head)
        fields = {
            "project_modules": tuple(sorted(self._packages | {name.partition(".")[0] for name in missing})),
            "declared": tuple(test.id for test in declared),
            "uncollected": tuple(test.id for test in declared if test.id not in collected and not test.pattern),
            "coverage": match_criteria(described, story.criteria) if story else None,
            "project_names": self._list_project_names(missing),
            "flat_layout": not self._source_after or any("/" not in path for path in self._source_after),
            "called": _list_called_names(after.values()),
            "subject_lines": {path: file.subject_lines for path, file in {**helpers, **after}.items()},
            "changed_tests": changed,
            "facts": (
                *self._find_test_facts(touched, fresh),
                *find_reclaimed_declarations(before, after, self._find_failing_bodies(base), fresh),
            ),
        }
        comparison = comparison.model_copy(update={"regressed": kept, "vanished": vanished})
        return RedReading(tests, exclude_declared_removals(comparison, changed), fields)

    def _find_changed_tests(
        self, files: tuple[Mapping[str, ParsedTestFile], Mapping[str, ParsedTestFile]], head: RunReport
    ) -> tuple[ChangedTest, ...]:
        old, new = ({test.id: test.body for file in side.values() for test in file.tests} for side in files)
        edited = {test for test, body in new.items() if old.get(test, body) != body}
        sides = zip((self._tests_before, self._tests_after), (old, new), strict=True)
        plan_faults = self.language.make_wrong_expectations
        before, after = (
            count_checks(
                (fault for path in files[1] for fault in plan_faults(path, texts.get(path, ""))), bodies, edited
            )
            for texts, bodies in sides
        )
        return find_changed_tests(self.case.story, edited, (before, after), self.case.base_report, head)

    def _find_test_facts(self, touched: Iterable[str], fresh: frozenset[str]) -> Iterator[Fact]:
        shared = self._find_assertion_helpers()
        for path in touched:
            if path in self._tests_after:
                drivers = self._find_subject_helpers(path)
                context = TestContext(self.case.stack.runner, fresh, self.case.planned, shared, drivers)
                yield from collect_facts(self.language.check_tests, path, self._tests_after[path], context)

    def _find_assertion_helpers(self) -> frozenset[str]:
        """Return the names of assertion helpers in shared test modules and test-only source."""
        built_for_tests = tuple(self._test_directories)
        shared = {path: text for path, text in self._tests_after.items() if not self.language.is_test_file(path)}
        shared |= {path: text for path, text in self._source_after.items() if path.startswith(built_for_tests)}
        return frozenset(
            name for path, text in shared.items() for name in self.language.find_asserting_functions(path, text)
        )

    def _find_subject_helpers(self, path: str) -> frozenset[str]:
        """Return the functions in test files next to this one, or below it, that use the project's code."""
        home = f"{path.rpartition('/')[0]}/".removeprefix("/")
        near = {other: text for other, text in self._tests_after.items() if other.startswith(home) and other != path}
        return frozenset(
            name for other, text in near.items() for name in self.language.find_subject_functions(other, text)
        )

    def _find_failing_bodies(self, base: RunReport) -> dict[str, str]:
        """Map the body of each test that failed before the step to its id."""
        failing = {strip_test_parameters(result.id) for result in base.results if result.outcome in {"failed", "error"}}
        files = self._parse_tests(self._tests_before, {test.partition("::")[0] for test in failing})
        return {test.body: test.id for file in files.values() for test in file.tests if test.id in failing}

    def _describe_undeclared_tests(self, fresh: frozenset[str]) -> list[DeclaredTestCase]:
        """Describe tests of a language without a parser by their ids in the run and their file's text."""
        files = {test: self._tests_after.get(test.partition("::")[0], "") for test in sorted(fresh)}
        return [DeclaredTestCase(test, 0, 0, "", f"{test.partition('::')[2]}\n{text}") for test, text in files.items()]

    def _list_project_names(self, missing: set[str]) -> tuple[str, ...]:
        """Return the project's modules, and the public names of the modules to which a missing name refers."""
        parents = {name.rpartition(".")[0] for name in missing} | missing
        modules = {path: self.language.name_module(path) for path in self._source_after}
        found = set(sorted(set(modules.values()))[:MAX_NAMED_MODULES])
        for path, module in modules.items():
            for parent in parents:
                if f".{parent}".endswith(f".{module}"):  # in Rust the crate's name comes first
                    before = parent.removesuffix(module)
                    names = self.language.list_signatures(path, self._source_after[path])
                    found |= {f"{before}{each.name}" for each in names}
        return tuple(sorted(found))

    # --- GREEN and REFACTOR -------------------------------------------------------------------------------------------

    def find_claimed_tests(self) -> tuple[str, ...]:
        return tuple(sorted(each.id for each in self.case.base_report.results if each.outcome in {"failed", "error"}))

    def list_protecting_tests(self) -> tuple[str, ...]:
        """Return the passing tests, except tests inside source files."""
        passed = (each.id for each in self.case.base_report.results if each.outcome == "passed")
        return tuple(sorted(test for test in passed if self.is_test_file(test.partition("::")[0])))

    def plan_mutations(self, new: Codebase, old: Codebase, tests: tuple[str, ...]) -> MutationPlan:
        case, language = self.case, self.language
        texts = {self.pair.base.tree: self._source_before, self.pair.head.tree: self._source_after}
        before, after = texts[old.tree], texts[new.tree]
        changed = sorted(self.pair.changed_source & after.keys())
        changes = [(path, before.get(path, ""), after[path]) for path in changed]
        files = sorted({test.partition("::")[0] for test in tests})
        wrong = [
            fault
            for path in files
            for fault in language.make_wrong_expectations(path, self._tests_before.get(path, ""))
        ]
        green = case.phase is Phase.GREEN
        # A person's refactoring belongs to no story, so all tests protect it and only new functions are knocked out.
        most = case.context.mutants if green or case.story else 0
        return MutationPlan(
            knock_outs=tuple(fault for change in changes for fault in language.make_knock_outs(*change)),
            mutants=rank_faults(
                (fault for change in changes for fault in language.make_mutants(*change)), new.tree, most
            ),
            perturbations=rank_faults(_filter_story_faults(wrong, tests), new.tree, most),
            answers=tuple(each for change in changes for each in language.replace_return_values(*change))
            if green
            else (),
            released=language.make_release_edits(self._manifests, [text for _, _, text in changes]) if green else (),
        )

    def find_source_facts(self, tests: set[str]) -> tuple[Fact, ...]:
        shown = {path: text for path, text in self._tests_before.items() if path in tests}
        packages = self.pair.head.texts(lambda path: path.endswith("package.json"))
        files = {**self._source_after, **self._tests_after, **packages}
        context = SourceContext(shown, self._test_directories, files)
        before, after = self._source_before, self._source_after
        found = [
            fact
            for path in self._list_changed_files(PathKind.SOURCE)
            if path in after
            for fact in collect_facts(self.language.check_source, path, before.get(path, ""), after[path], context)
        ]
        return (*found, *self._find_manifest_facts())

    def _find_manifest_facts(self) -> Iterator[Fact]:
        changed = {change.path for change in self.pair.changes if change.kind is PathKind.MANIFEST}
        before, after = (side.texts(lambda path: path in changed) for side in (self.pair.base, self.pair.head))
        for path in sorted(after):
            yield from collect_facts(self.language.check_manifest, path, before.get(path, ""), after[path])

    def describe_refactoring(self) -> dict[str, Any]:
        changed, tokens = self.pair.changed_source, self.language.normalize_program
        old = {path: text for path, text in self._source_before.items() if path in changed}
        new = {path: text for path, text in self._source_after.items() if path in changed}
        same = old.keys() == new.keys() and all(tokens(path, old[path]) == tokens(path, new[path]) for path in old)
        return {
            "signatures_before": self._list_signatures(old),
            "signatures_after": self._list_signatures(new),
            "improvement": {
                "before": self.language.measure_source(old),
                "after": self.language.measure_source(new),
                "comment_only": bool(old) and same and {*old} == changed,
            },
        }

    def _list_signatures(self, texts: Mapping[str, str]) -> tuple[Signature, ...]:
        return tuple(each for path in sorted(texts) for each in self.language.list_signatures(path, texts[path]))


def find_declared_red_tests(
    before: Mapping[str, ParsedTestFile], after: Mapping[str, ParsedTestFile], base: RunReport, head: RunReport
) -> RedTests:
    """Find the tests that the step added or changed in the test files that it touched."""
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
    """Report new tests that copy a test that failed before. `failing` maps test bodies to test ids."""
    there = {test.id for file in before.values() for test in file.tests}
    for path, file in after.items():
        for test in file.tests:
            if test.id in fresh and test.id not in there and test.body in failing:
                message = f"same test as `{failing[test.body]}`, which failed before"
                yield Fact(code="RED502", path=path, line=test.line, test=test.id, message=message)


def _list_called_names(files: Collection[ParsedTestFile]) -> tuple[str, ...] | None:
    if any(file.called is None for file in files):
        return None
    return tuple(sorted({name for file in files for name in file.called or ()}))


def _list_missing_names(report: RunReport) -> set[str]:
    """Return the names of the project that do not exist yet, as far as imports show them."""
    failures = [result.failure for result in report.results if result.failure]
    lacking = [each for each in failures if each.kind is FailureKind.MISSING_SYMBOL]
    return {each.missing for each in lacking if "." in each.missing or each.stage == "collect"}


def _filter_story_faults(faults: Iterable[Any], tests: tuple[str, ...]) -> list[Any]:
    """Return the faults in the story's own tests, without those in old tests of the same file."""
    titles = {strip_test_parameters(test).rpartition(" > ")[2].rpartition("::")[2] for test in tests}
    return [fault for fault in faults if fault.function in titles]
