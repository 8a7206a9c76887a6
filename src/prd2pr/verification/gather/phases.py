"""Gather the evidence of each phase, in the same way for every language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from prd2pr.domain.evidence import Evidence
from prd2pr.domain.records import UNTESTED_KINDS, Phase
from prd2pr.domain.test_runs import compare_base_with_head, expand_test_ids, map_moved_id, summarize_run
from prd2pr.languages.test_runner import OTHER_SEED, RunRequest
from prd2pr.verification.codebase import Codebase
from prd2pr.verification.gather.analysis import StepAnalysis
from prd2pr.verification.gather.changed_tests import OldTests
from prd2pr.verification.gather.context import (
    GatherCase,
    find_parent_directories,
    is_green,
    is_passing,
    list_restored_blobs,
    list_story_cases,
)
from prd2pr.verification.gather.mutation import MutationTrial, repeat_trial, start_mutation_trial
from prd2pr.verification.story_tests import drop_idle_tests

Gatherer = Callable[[StepAnalysis], Evidence]


# --- RED: new tests fail ----------------------------------------------------------------------------------------------


def _gather_red(analysis: StepAnalysis) -> Evidence:
    case = analysis.case
    base, runner = case.base_report, case.context.runner
    touched = analysis.list_changed_test_files()
    modules = tuple(filter(analysis.is_test_file, touched))
    if modules:  # usually the files of the new tests; otherwise this early run is not used
        runner.begin(_build_repeat_request(case, modules), in_parallel=True)
    head = case.head_report(find_parent_directories(modules), followed_by=(OTHER_SEED,))
    red = analysis.read_red(touched, modules, head)
    tests, comparison = red.tests.all, red.comparison
    repeat = _build_repeat_request(case, tuple({test.partition("::")[0] for test in tests})) if tests else None
    return Evidence(
        **{**analysis.build_common_fields(), **red.fields},
        story_tests=tests,
        comparison=case.exclude_flaky(comparison, comparison.regressed) if head.honest else comparison,
        base_run=summarize_run(base, tests),
        head_run=summarize_run(head, tests),
        repeat_run=summarize_run(runner.run(repeat), tests) if repeat else None,
    )


def _build_repeat_request(case: GatherCase, files: Sequence[str]) -> RunRequest:
    """Build the request that runs the story's files again, in reverse order and with another hash seed."""
    return RunRequest(
        case.pair.head.tree,
        paths=tuple(sorted(files)),
        order="reversed",
        hash_seed=OTHER_SEED,
        stack=case.suite_stack,
        followed_by=(),
        later=(0,),
    )


def gather_pre_implemented(analysis: StepAnalysis) -> Evidence:
    """Gather RED's evidence for tests that pass already, and try mutants of the existing code that they execute."""
    red = _gather_red(analysis)
    head = analysis.pair.head
    mutation = None
    if red.story_tests and red.head_run and all(each.outcome == "passed" for each in red.head_run.story):
        plan = analysis.plan_verified_mutations(red.story_tests)
        context = analysis.case.context
        trial = start_mutation_trial(context.runner, plan, head.tree, red.story_tests, {}, context.mutants, ways=False)
        mutation = None if plan.is_empty else trial.wait()
        if mutation and mutation.problems:
            mutation = repeat_trial(trial)
    return red.model_copy(update={"pre_implemented": True, "bite": mutation})


# --- GREEN and REFACTOR: the tests are locked -------------------------------------------------------------------------


def _gather_locked(analysis: StepAnalysis) -> Evidence:
    case = analysis.case
    pair, base, refactor = case.pair, case.base_report, case.phase is Phase.REFACTOR
    shown = _list_claimed_tests(analysis)
    claimed = (*shown, *case.hidden_tests)
    own = {test.partition("::")[0] for test in claimed}
    proved = case.story.locked if case.story else {}
    expected = {**pair.base.locked, **analysis.find_oracle_blobs(), **proved}
    removal = analysis.find_removal({*own, *proved}) if refactor else None
    if removal and removal.is_open:
        expected = {path: blob for path, blob in expected.items() if path not in removal.files}
    locked = pair.list_locked_files(expected, lambda path: path in own)
    restore = list_restored_blobs(locked)
    asked = shown or (analysis.list_protecting_tests() if refactor else ())
    trial = _start_trial(analysis, asked, restore)
    earlier = _start_earlier_trial(analysis, asked) if refactor and analysis.isolates_trials else None
    comparison = analysis.start_comparison(shown, restore) if refactor else None
    head = case.head_report(find_parent_directories(own), restore)
    differential = comparison() if comparison else None
    mutation = trial.wait() if trial else None
    before = earlier.wait() if earlier else None
    # Concurrent runs may compete for a port or file, so a failure need not be the code's fault. The suite is then run
    # again, unless nothing ran next to it, or an isolated trial with the story's tests failed as well.
    is_confirmed = analysis.isolates_trials and (mutation is None or bool(mutation.problems))
    if not is_confirmed and not is_green(claimed, base, head):
        head = case.head_report(find_parent_directories(own), restore, afresh=True)
    if trial and mutation and mutation.problems and is_green(claimed, base, head):
        mutation = repeat_trial(trial)
    tests = list_story_cases(claimed, base, head)
    compared = compare_base_with_head(base, head)
    if is_passing(claimed, base, head):
        others = tuple(test for test in compared.regressed if test not in tests)
        compared = case.exclude_flaky(compared, others, restore)
    green = is_passing(claimed, base, head) and not compared.regressed
    if refactor and green and not analysis.isolates_trials:
        earlier = _start_earlier_trial(analysis, asked)
        before = earlier.wait() if earlier else None
    if differential and differential.problems and green and (alone := analysis.start_comparison(shown, restore)):
        differential = alone()  # it may have timed out next to three other processes
    return Evidence(
        **analysis.build_common_fields(),
        **(analysis.describe_refactoring() if refactor else {}),
        locked=locked,
        story_tests=tests,
        facts=analysis.find_source_facts({test.partition("::")[0] for test in shown}),
        comparison=compared,
        base_run=summarize_run(base, expand_test_ids(claimed, base)),
        head_run=summarize_run(head, tests),
        bite=analysis.drop_exempt_results(mutation) if mutation and green else None,
        bite_before=before,
        removal=removal,
        parity=differential if green else None,
        changed_tests=OldTests(case, head, type(analysis)).observe() if green and not refactor else (),
    )


def _list_claimed_tests(analysis: StepAnalysis) -> tuple[str, ...]:
    """Return the tests that GREEN must make pass: those proved RED, or those that a person's commits left failing."""
    case = analysis.case
    if case.phase is Phase.REFACTOR:
        # Failures before a person's refactoring are baseline; the comparison covers passing tests.
        return drop_idle_tests(case.story.red_tests, case.base_report) if case.story else ()
    return analysis.restore_stopped_tests(case.story.red_tests if case.story else analysis.find_claimed_tests())


def _start_trial(analysis: StepAnalysis, tests: tuple[str, ...], restore: Mapping[str, str]) -> MutationTrial | None:
    """Start mutating the code that the step added."""
    sides = analysis.pair.head, analysis.pair.base
    return _start_mutations(analysis, sides, tests, restore, ways=analysis.varies_circumstances)


def _start_earlier_trial(analysis: StepAnalysis, tests: tuple[str, ...]) -> MutationTrial | None:
    """Start mutating the code as it was before the refactoring."""
    return _start_mutations(analysis, (analysis.pair.base, analysis.pair.head), tests, {}, ways=False)


def _start_mutations(
    analysis: StepAnalysis,
    sides: tuple[Codebase, Codebase],
    tests: tuple[str, ...],
    restore: Mapping[str, str],
    *,
    ways: bool,
) -> MutationTrial | None:
    """Start mutating the code that the first tree adds.

    Return None without tests and for stories that need no mutation testing.
    """
    story, context = analysis.case.story, analysis.case.context
    if not tests or (story and story.kind in UNTESTED_KINDS):
        return None
    plan = analysis.plan_mutations(*sides, tests)
    return start_mutation_trial(context.runner, plan, sides[0].tree, tests, restore, context.mutants, ways=ways)


# --- INTEGRATED: the tests move ---------------------------------------------------------------------------------------


def _gather_integrated(analysis: StepAnalysis) -> Evidence:
    case, pair = analysis.case, analysis.pair
    base = case.base_report
    moved = pair.find_moved_tests()
    inside = tuple(result.id for result in base.results if result.id.partition("::")[0] in moved)
    claimed = drop_idle_tests(case.story.red_tests if case.story else inside, base)
    there = [map_moved_id(test, moved) for test in claimed]
    expected = {moved.get(path, path): blob for path, blob in pair.base.locked.items()}
    locked = pair.list_locked_files(expected, lambda path: path in moved.values())
    directories = analysis.find_canary_directories(zip(claimed, there, strict=True))
    # No prewarmed process is needed next: the next story starts with its design.
    head = case.head_report(directories, list_restored_blobs(locked), followed_by=())
    tests = expand_test_ids(there, head)
    return Evidence(
        **analysis.build_common_fields(),
        locked=locked,
        story_tests=tests,
        comparison=compare_base_with_head(base, head, moved),
        base_run=summarize_run(base, expand_test_ids(claimed, base)),
        head_run=summarize_run(head, tests),
        living_docs=dict(case.docs.blobs),
        docs_made_by=case.docs.made_by,
    )


GATHERERS: dict[Phase, Gatherer] = {
    Phase.RED: _gather_red,
    Phase.GREEN: _gather_locked,
    Phase.REFACTOR: _gather_locked,
    Phase.INTEGRATED: _gather_integrated,
}
