"""Evidence in languages beside Python: one way for all of them, by the description of the language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from prd2pr.core.bite.plan import BitePlan, ranked
from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import Evidence, Fact, FailureKind, LockedFile, PathKind, RunReport, Signature, StackFacts
from prd2pr.core.other.coverage import coverage_of
from prd2pr.core.other.language import Declared, Language, SourceContext, TestContext, TestFile, language_of
from prd2pr.core.other.red import OtherTests, claimed_again, other_red_tests
from prd2pr.core.records import UNTESTED_KINDS, Phase
from prd2pr.core.runs import bare_id, compare, expanded, moved_id, summarise
from prd2pr.core.stacks.layers import not_checked
from prd2pr.flows.codebase import LOCKED_KINDS, Codebase
from prd2pr.flows.unsteady import without_unsteady
from prd2pr.ports import BiteRequest, RunRequest

if TYPE_CHECKING:
    from prd2pr.flows.gather import _Case

REPEAT_SEED = 1


@dataclass(frozen=True)
class Step:
    """A case, and the texts of it that its language reads."""

    case: _Case

    @cached_property
    def language(self) -> Language:
        return language_of(self.case.stack.language)

    def _own(self, path: str) -> bool:
        return self.case.stack.holds(path) and self.language.owns(path)

    def source(self, side: Codebase) -> dict[str, str]:
        return side.texts(lambda path: self._own(path) and side.kind(path) is PathKind.SOURCE)

    def tests(self, side: Codebase) -> dict[str, str]:
        """Test files and helpers of the language."""
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
        """As they were before the step."""
        base = self.case.pair.base
        return base.texts(lambda path: self.case.stack.holds(path) and base.kind(path) is PathKind.MANIFEST)

    @cached_property
    def for_tests(self) -> frozenset[str]:
        return self.language.for_tests(self.manifests)

    @cached_property
    def helpers(self) -> frozenset[str]:
        """Functions that assert for the tests, of modules that tests share and of what only tests are built with."""
        shared = {path: text for path, text in self.tests_after.items() if not self.language.is_test_file(path)}
        shared |= {path: text for path, text in self.source_after.items() if path.startswith(tuple(self.for_tests))}
        return frozenset(name for path, text in shared.items() for name in self.language.asserting(path, text))

    def files(self, texts: Mapping[str, str], paths: Iterable[str]) -> dict[str, TestFile]:
        return {path: self.language.tests(path, texts[path]) for path in paths if path in texts}

    def touched(self, *kinds: PathKind) -> list[str]:
        changes = self.case.pair.changes
        return [
            each.path for each in changes if each.kind in kinds and each.status != "deleted" and self._own(each.path)
        ]

    def common(self) -> dict[str, Any]:
        stack, phase = self.case.stack, self.case.phase
        lacking = not_checked(stack.runner, phase)
        facts = StackFacts(language=stack.language, runner=stack.runner, root=stack.root, not_checked=lacking)
        modules = {self.language.module(path).partition(".")[0] for path in self.source_after}
        return {**self.case.common(), "project_modules": tuple(sorted(modules)), "stack": facts}


# --- RED --------------------------------------------------------------------------------------------------------------


def _red(case: _Case) -> Evidence:
    step, base = Step(case), case.base_report
    touched = step.touched(*LOCKED_KINDS)
    modules = [path for path in touched if step.language.is_test_file(path)]
    head = case.head_report(_parents(modules))
    before, after = step.files(step.tests_before, modules), step.files(step.tests_after, modules)
    tests = other_red_tests(before, after, base, head)
    comparison = compare(base, head)
    kept = tuple(test for test in comparison.regressed if test not in tests.carried)
    vanished = tuple(test for test in comparison.vanished if bare_id(test) not in tests.carried)
    comparison = comparison.model_copy(update={"regressed": kept, "vanished": vanished})
    fresh = frozenset(bare_id(test) for test in tests.fresh)
    common = step.common()
    missing = _missing(head)
    common["project_modules"] = tuple(
        sorted({*common["project_modules"], *(name.partition(".")[0] for name in missing)})
    )
    declared = [test for path in modules for test in after[path].tests if path in after]
    collected = {bare_id(result.id) for result in head.results}
    story = case.story
    return Evidence(
        **common,
        declared=tuple(test.id for test in declared),
        uncollected=tuple(test.id for test in declared if test.id not in collected and not test.pattern),
        story_tests=tests.all,
        facts=(*_test_facts(step, touched, fresh), *claimed_again(before, after, step_failing(step, base), fresh)),
        coverage=_fresh_coverage(declared or _undeclared(step, fresh), story.criteria, fresh) if story else None,
        project_names=_names(step, missing),
        flat_layout=not step.source_after or any("/" not in path for path in step.source_after),
        called=_called(after.values()),
        subject_lines={path: file.subject_lines for path, file in after.items()},
        comparison=_steady(case, comparison, kept) if head.honest else comparison,
        base_run=summarise(base, tests.all),
        head_run=summarise(head, tests.all),
        repeat_run=summarise(_repeat(case, tests), tests.all) if tests.all else None,
    )


def _called(files: Collection[TestFile]) -> tuple[str, ...] | None:
    if any(file.called is None for file in files):
        return None
    return tuple(sorted({name for file in files for name in file.called or ()}))


def _test_facts(step: Step, touched: Iterable[str], fresh: frozenset[str]) -> tuple[Fact, ...]:
    planned = step.case.planned
    texts = step.tests_after
    context = TestContext(step.case.stack.runner, fresh, planned, step.helpers)
    return tuple(
        fact for path in touched if path in texts for fact in step.language.test_facts(path, texts[path], context)
    )


def step_failing(step: Step, base: RunReport) -> dict[str, str]:
    """Body → id of every test that failed before the step."""
    failing = {bare_id(result.id) for result in base.results if result.outcome in {"failed", "error"}}
    files = step.files(step.tests_before, {test.partition("::")[0] for test in failing})
    return {test.body: test.id for file in files.values() for test in file.tests if test.id in failing}


def _fresh_coverage(declared: Iterable[Any], criteria: tuple[str, ...], fresh: frozenset[str]) -> tuple[Any, ...]:
    return coverage_of([test for test in declared if test.id in fresh], criteria)


def _undeclared(step: Step, fresh: frozenset[str]) -> list[Declared]:
    """Tests of a language that nobody reads: known by what the run calls them, and by what their file says."""
    texts = step.tests_after
    files = {test: texts.get(test.partition("::")[0], "") for test in sorted(fresh)}
    return [Declared(test, 0, 0, "", f"{test.partition('::')[2]}\n{text}") for test, text in files.items()]


def _names(step: Step, missing: set[str]) -> tuple[str, ...]:
    """The project's modules, and the public names of those that a missing symbol points into."""
    parents = {name.rpartition(".")[0] for name in missing} | missing
    modules = {path: step.language.module(path) for path in step.source_after}
    found = set(sorted(set(modules.values()))[:2000])
    for path, module in modules.items():
        for parent in parents:
            if f".{parent}".endswith(f".{module}"):  # in Rust the crate's name stands before it
                before = parent.removesuffix(module)
                names = step.language.signatures(path, step.source_after[path])
                found |= {f"{before}{each.name}" for each in names}
    return tuple(sorted(found))


def _missing(report: RunReport) -> set[str]:
    """Names of the project that do not exist yet. That they are the project's own, how they are imported has shown."""
    failures = [result.failure for result in report.results if result.failure]
    lacking = [each for each in failures if each.kind is FailureKind.MISSING_SYMBOL]
    return {each.missing for each in lacking if "." in each.missing or each.stage == "collect"}


def _repeat(case: _Case, tests: OtherTests) -> RunReport:
    paths = tuple(sorted({test.partition("::")[0] for test in tests.all}))
    request = RunRequest(case.pair.head.tree, paths=paths, order="reversed", hash_seed=REPEAT_SEED, stack=case.only)
    return case.gathering.runner.run(request)


# --- GREEN and REFACTOR -----------------------------------------------------------------------------------------------


def _locked(case: _Case) -> Evidence:
    step, base, pair = Step(case), case.base_report, case.pair
    shown, held = _claimed(step), _held_out(case)
    claimed = (*shown, *held)
    own = {test.partition("::")[0] for test in claimed}
    expected = {**pair.base.locked, **(case.story.locked if case.story else {})}
    refactor = case.phase is Phase.REFACTOR
    locked = pair.locked_files(expected, lambda path: path in own)
    restore = _restored(locked)
    asked = shown or (_passing(step, base) if refactor else ())
    trial = _trial(step, asked, restore, pair.head.tree, step.source_before, step.source_after)
    head = case.head_report(_parents(own), restore)
    bite = trial() if trial else None
    if not _passes(claimed, base, head):
        head = case.head_report(_parents(own), restore, afresh=True)  # side by side, two runs may want the same port
    tests = expanded(claimed, head)
    compared = compare(base, head)
    if _all_passed(claimed, head):
        others = tuple(test for test in compared.regressed if test not in tests)
        compared = _steady(case, compared, others, restore)
    green = _all_passed(claimed, head) and not compared.regressed
    before = None
    if refactor and green:
        earlier = _trial(step, asked, {}, pair.base.tree, step.source_after, step.source_before)
        before = earlier() if earlier else None
    changed = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    return Evidence(
        **step.common(),
        locked=locked,
        story_tests=tests,
        facts=(
            *_source_facts(step, {path: step.tests_before[path] for path in own if path in step.tests_before}),
            *_manifest_facts(step),
        ),
        comparison=compared,
        base_run=summarise(base, expanded(claimed, base)),
        head_run=summarise(head, tests),
        signatures_before=_signatures(step, step.source_before, changed) if refactor else (),
        signatures_after=_signatures(step, step.source_after, changed) if refactor else (),
        improvement=_improvement(step, changed) if refactor else {},
        bite=bite if green else None,
        bite_before=before,
    )


def _claimed(step: Step) -> tuple[str, ...]:
    """The tests that were proved RED; of a person's commits, whatever fails before a GREEN."""
    case = step.case
    if case.story:
        return case.story.red_tests
    if case.phase is Phase.REFACTOR:
        return ()
    return tuple(sorted(each.id for each in case.base_report.results if each.outcome in {"failed", "error"}))


def _passing(step: Step, base: RunReport) -> tuple[str, ...]:
    """Of a person's refactoring, which belongs to no story: what holds the behaviour; tests in the source aside."""
    passed = (each.id for each in base.results if each.outcome == "passed")
    return tuple(sorted(test for test in passed if step.language.is_test_file(test.partition("::")[0])))


def _held_out(case: _Case) -> tuple[str, ...]:
    held = case.story.held_out if case.story and case.phase is Phase.GREEN else None
    return held.tests if held else ()


def _trial(  # noqa: PLR0917 what a trial depends on
    step: Step, tests: tuple[str, ...], restore: Mapping[str, str], tree: str,
    old: Mapping[str, str], new: Mapping[str, str],
) -> Callable[[], Bite] | None:  # fmt: skip
    """Faults in what `new` has and `old` has not."""
    case, language = step.case, step.language
    if not tests or (case.story and case.story.kind in UNTESTED_KINDS):
        return None
    changed = {change.path for change in case.pair.changes if change.kind is PathKind.SOURCE}
    knocked = [
        fault
        for path in sorted(changed)
        if path in new
        for fault in language.knock_outs(path, old.get(path, ""), new[path])
    ]
    files = {test.partition("::")[0] for test in tests}
    wrong = [
        fault for path in sorted(files) for fault in language.wrong_expectations(path, step.tests_before.get(path, ""))
    ]
    pairs = [(path, old.get(path, ""), new[path]) for path in sorted(changed & new.keys())]
    small = [fault for pair in pairs for fault in language.mutants(*pair)]
    green = case.phase is Phase.GREEN
    # A person's refactoring belongs to no story: all tests hold it, and are asked for nothing but what is new.
    asked = case.gathering.mutants if green or case.story else 0
    plan = BitePlan(
        knock_outs=tuple(knocked),
        mutants=ranked(small, tree, asked),
        perturbations=ranked(_of_tests(wrong, tests), tree, asked),
        answers=tuple(each for pair in pairs for each in language.other_answers(*pair)) if green else (),
        released=language.released(step.manifests, [text for _, _, text in pairs]) if green else (),
    )
    if plan.is_empty:
        return Bite
    return case.gathering.runner.start_bite(BiteRequest(tree, tests, plan, case.gathering.mutants, restore, ways=False))


def _of_tests(faults: Iterable[Any], tests: tuple[str, ...]) -> list[Any]:
    """Those of the story's own tests: an old test in the same file is not asked."""
    titles = {bare_id(test).rpartition(" > ")[2].rpartition("::")[2] for test in tests}
    return [fault for fault in faults if fault.function in titles]


def _source_facts(step: Step, tests: Mapping[str, str]) -> tuple[Fact, ...]:
    context = SourceContext(tests, step.for_tests)
    before, after = step.source_before, step.source_after
    return tuple(
        fact
        for path in step.touched(PathKind.SOURCE)
        if path in after
        for fact in step.language.source_facts(path, before.get(path, ""), after[path], context)
    )


def _manifest_facts(step: Step) -> tuple[Fact, ...]:
    changed = {change.path for change in step.case.pair.changes if change.kind is PathKind.MANIFEST}
    before, after = (side.texts(lambda path: path in changed) for side in (step.case.pair.base, step.case.pair.head))
    return tuple(
        fact for path in sorted(after) for fact in step.language.manifest_facts(path, before.get(path, ""), after[path])
    )


def _signatures(step: Step, texts: Mapping[str, str], changed: set[str]) -> tuple[Signature, ...]:
    return tuple(
        each for path in sorted(changed) if path in texts for each in step.language.signatures(path, texts[path])
    )


def _improvement(step: Step, changed: set[str]) -> dict[str, Any]:
    old = {path: text for path, text in step.source_before.items() if path in changed}
    new = {path: text for path, text in step.source_after.items() if path in changed}
    tokens = step.language.tokens
    same = old.keys() == new.keys() and all(tokens(path, old[path]) == tokens(path, new[path]) for path in old)
    return {
        "before": step.language.measure(old),
        "after": step.language.measure(new),
        "comment_only": bool(old) and same and {*old} == changed,
    }


def _restored(locked: Iterable[LockedFile]) -> dict[str, str]:
    return {file.path: file.expected for file in locked if file.actual != file.expected}


def _passes(tests: tuple[str, ...], base: RunReport, head: RunReport) -> bool:
    return _all_passed(tests, head) and not compare(base, head).regressed


def _all_passed(tests: tuple[str, ...], head: RunReport) -> bool:
    outcomes = {test: result.outcome for test, result in head.by_id().items()}
    return head.honest and all(outcomes.get(test) == "passed" for test in expanded(tests, head))


def _steady(case: _Case, comparison: Any, suspects: tuple[str, ...], restore: Mapping[str, str] | None = None) -> Any:
    trees = {"base": case.pair.base.tree, "head": case.pair.head.tree}
    return without_unsteady(case.gathering.runner, comparison, suspects, **trees, restore=restore or {})


# --- INTEGRATED -------------------------------------------------------------------------------------------------------


def _integrated(case: _Case) -> Evidence:
    step, base, pair = Step(case), case.base_report, case.pair
    moved = pair.moved()
    inside = [result.id for result in base.results if result.id.partition("::")[0] in moved]
    claimed = case.story.red_tests if case.story else tuple(inside)
    there = [moved_id(test, moved) for test in claimed]
    expected = {moved.get(path, path): blob for path, blob in pair.base.locked.items()}
    locked = pair.locked_files(expected, lambda path: path in moved.values())
    head = case.head_report(_parents(test.partition("::")[0] for test in there), _restored(locked))
    tests = expanded(there, head)
    return Evidence(
        **step.common(),
        locked=locked,
        story_tests=tests,
        comparison=compare(base, head, moved),
        base_run=summarise(base, expanded(claimed, base)),
        head_run=summarise(head, tests),
        living_docs=dict(case.docs.blobs),
        docs_made_by=case.docs.made_by,
    )


def _parents(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] or "." for path in paths}


OTHER_GATHERERS: dict[Phase, Callable[[_Case], Evidence]] = {
    Phase.RED: _red,
    Phase.GREEN: _locked,
    Phase.REFACTOR: _locked,
    Phase.INTEGRATED: _integrated,
}
