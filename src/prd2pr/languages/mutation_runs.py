"""Mutation testing outside Python: write each fault into a fresh checkout and run the tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from prd2pr.domain.evidence import RunReport
from prd2pr.domain.results.mutation import FaultOutcome, MutantResult, MutationResult, TestVariation
from prd2pr.domain.test_runs import expand_test_ids, strip_test_parameters
from prd2pr.languages.mutation_plan import Edit, Fault, ReturnReplacement
from prd2pr.languages.test_runner import MutationRequest, RunRequest

RunWithEdits = Callable[[RunRequest, Mapping[str, tuple[Edit, ...]], float | None], RunReport]
BUILD_FAILURE = "build"  # name of a build error's exception in compiled languages
MAX_KNOCK_OUTS = 20
MAX_MUTANTS = 8  # each mutant needs its own run
MAX_PERTURBATIONS = 8
MAX_REPLACEMENTS = 12  # replaced one by one, after a run with all of them together
MAX_PARALLEL = 2
# A fault may cause an endless loop, so the timeout is shorter than that of a suite.
TIMEOUT_FACTOR = 6  # multiple of the time that the tests take without the fault
MIN_SECONDS = 10.0
SUITE_SECONDS = 60.0  # limit for running the whole suite with mutants that the story's tests do not detect


class MutationRun:
    """A mutation test that runs one process for each fault. The number of faults is limited because that is slow."""

    def __init__(self, tried: RunWithEdits, request: MutationRequest) -> None:
        self._run_with_edits = tried
        self._request = request
        paths = tuple(sorted({test.partition("::")[0] for test in request.tests}))
        self._test_request = RunRequest(request.code_tree, paths=paths, restore=request.restore)
        self._timeout = MIN_SECONDS
        self._deadline = 0.0
        self._reaching_tests: set[str] = set()  # tests that fail if a function is knocked out, so they call it
        self.result = MutationResult(problems=("mutation testing did not finish",))

    def do(self) -> None:
        started = time.monotonic()
        baseline = self._run_with_edits(self._test_request, {}, None)
        self._timeout = _compute_timeout(baseline)
        self._deadline = time.monotonic() + SUITE_SECONDS
        if problems := self._check_baseline(baseline):
            self.result = MutationResult(problems=problems)
            return
        plan, most = self._request.plan, min(MAX_MUTANTS, self._request.most)
        with ThreadPoolExecutor(MAX_PARALLEL) as pool:
            knocked = pool.map(self._try_knock_out, plan.knock_outs[:MAX_KNOCK_OUTS])
            small = pool.map(self._try_mutant, plan.mutants[:most])
            wrong = pool.map(self._try_perturbation, plan.perturbations[:MAX_PERTURBATIONS])
            found = tuple(knocked), tuple(small), tuple(wrong)
        answered = self._find_indifferent_tests()
        self.result = MutationResult(
            knock_outs=found[0],
            mutants=found[1],
            perturbations=found[2],
            indifferent=tuple(sorted(answered or ())),
            answers=answered is not None,
            ways=tuple(self._try_release_build()),
            seconds=round(time.monotonic() - started, 3),
        )

    def _check_baseline(self, report: RunReport) -> tuple[str, ...]:
        """Return the reasons why the run without a fault is not a valid baseline. Empty if all tests pass."""
        if not report.honest:
            return report.problems
        outcomes = {test: result.outcome for test, result in report.by_id().items()}
        failing = [test for test in expand_test_ids(self._request.tests, report) if outcomes.get(test) != "passed"]
        return (f"{failing[0]} fails when only the story's tests are run",) if failing else ()

    def _try_knock_out(self, fault: Fault) -> MutantResult:
        report = self._run_fault(fault)
        self._reaching_tests |= _find_failing_tests(report, self._request.tests)
        result = self._make_result(fault, report, self._request.tests)
        if result.outcome != "survived":
            return result
        result = self._try_with_suite(fault)
        if result.outcome == "survived" and fault.exemption:
            return result.model_copy(update={"outcome": "not_judged", "why": fault.exemption})
        return result

    def _try_with_suite(self, fault: Fault) -> MutantResult:
        """Try a fault on all tests of the project, because a test outside the story may detect it."""
        whole = RunRequest(self._request.code_tree, restore=self._request.restore)
        baseline = self._run_with_edits(whole, {}, None)
        before = {each.id for each in baseline.results if each.outcome == "passed"}
        faulty = self._run_with_edits(whole, {fault.path: (fault.edit,)}, _compute_timeout(baseline))
        return self._make_result(fault, faulty, tuple(sorted(before)))

    def _try_mutant(self, fault: Fault) -> MutantResult:
        report = self._run_fault(fault)
        result = self._make_result(fault, report, self._request.tests)
        if result.outcome == "killed" and _is_broken_import(report, self._request.tests):
            return result.model_copy(update={"outcome": "not_judged", "by": "", "why": "the mutant breaks the import"})
        if result.outcome != "survived" or time.monotonic() > self._deadline:
            return result
        by_any = self._try_with_suite(fault)
        return result.model_copy(update={"elsewhere": by_any.by}) if by_any.outcome == "killed" else result

    def _try_perturbation(self, fault: Fault) -> MutantResult:
        own = tuple(test for test in self._request.tests if test.partition("::")[0] == fault.path)
        return self._make_result(fault, self._run_fault(fault), own)

    def _run_fault(self, fault: Fault) -> RunReport:
        return self._run_with_edits(self._test_request, {fault.path: (fault.edit,)}, self._timeout)

    # --- other answers ------------------------------------------------------------------------------------------------

    def _find_indifferent_tests(self) -> set[str] | None:
        """Return the tests that call the story's functions and pass whatever these return.

        The result is None if nothing could be tried. All functions are replaced together first, which needs only one
        build. Two replacements may cancel each other out, so tests that still pass are run again with one function
        replaced at a time.
        """
        left, plan, was_tried = set(self._reaching_tests), self._request.plan.answers, False
        if not left or not plan:
            return None
        together = [[each for each in plan if each.how == how] for how in ("other", "nothing")]
        for group in together:
            failing = self._run_replacements(group) if group else set[str]()
            was_tried = was_tried or (failing is not None and bool(group))
            left -= failing or set()
        for each in [one for group in together for one in group][:MAX_REPLACEMENTS] if left else ():
            failing = self._run_replacements([each])
            was_tried = was_tried or failing is not None
            left -= failing or set()
            if not left:
                break
        return left if was_tried else None

    def _run_replacements(self, answers: Iterable[ReturnReplacement]) -> set[str] | None:
        """Return the tests that fail with these replacements, or None if the code does not build.

        A test that times out counts as failed.
        """
        edits: dict[str, tuple[Edit, ...]] = {}
        for each in answers:
            edits[each.path] = tuple(dict.fromkeys((*edits.get(each.path, ()), *each.edits)))
        report = self._run_with_edits(self._test_request, edits, self._timeout)
        if report.exit_status is None:
            return set(self._reaching_tests)
        failing = [
            test for test in expand_test_ids(self._request.tests, report) if _map_outcomes(report).get(test) != "passed"
        ]
        if failing and _is_build_failure(report, failing):
            return None
        return {strip_test_parameters(test) for test in failing}

    def _try_release_build(self) -> Iterable[TestVariation]:
        edits: dict[str, tuple[Edit, ...]] = {}
        for path, edit in self._request.plan.released:
            edits[path] = (*edits.get(path, ()), edit)
        if not edits:
            return
        report = self._run_with_edits(self._test_request, edits, max(self._timeout, 2 * MIN_SECONDS))
        failing = [
            test for test in expand_test_ids(self._request.tests, report) if _map_outcomes(report).get(test) != "passed"
        ]
        if report.exit_status is None or (failing and _is_build_failure(report, failing)):
            yield TestVariation(
                name="released", outcome="not_judged", why="the release build could not be built and run"
            )
        else:
            yield TestVariation(name="released", outcome="failed" if failing else "passed", tests=tuple(failing))

    def _make_result(self, fault: Fault, report: RunReport, tests: tuple[str, ...]) -> MutantResult:
        outcome, by, why = _judge_report(report, tests)
        return MutantResult(
            id=fault.id,
            path=fault.path,
            line=fault.line,
            function=fault.function,
            change=fault.change,
            outcome=outcome,
            by=by,
            why=why,
        )


def _compute_timeout(baseline: RunReport) -> float:
    return max(MIN_SECONDS, TIMEOUT_FACTOR * baseline.seconds)


def _judge_report(report: RunReport, tests: tuple[str, ...]) -> tuple[FaultOutcome, str, str]:
    if report.exit_status is None:
        return "timeout", "", ""
    failing = [test for test in expand_test_ids(tests, report) if _map_outcomes(report).get(test) != "passed"]
    if failing and not _is_build_failure(report, failing):
        return "killed", failing[0], ""
    if failing:
        return "not_judged", "", "the mutant does not build"
    if not report.honest:
        return "not_judged", "", report.problems[0]
    return "survived", "", ""


def _is_broken_import(report: RunReport, tests: tuple[str, ...]) -> bool:
    """Return whether the failing tests could not be loaded, so that the mutant shows nothing about them."""
    known, outcomes = report.by_id(), _map_outcomes(report)
    failing = [test for test in expand_test_ids(tests, report) if outcomes.get(test) != "passed"]
    stopped = {failure.path for failure in report.collect_errors}
    failures = [known[test].failure if test in known else None for test in failing]
    return all(
        failure.stage == "collect" if failure else test.partition("::")[0] in stopped
        for test, failure in zip(failing, failures, strict=True)
    )


def _map_outcomes(report: RunReport) -> dict[str, str]:
    return {test: result.outcome for test, result in report.by_id().items()}


def _find_failing_tests(report: RunReport, tests: tuple[str, ...]) -> set[str]:
    """Return the failing tests without parameters, or nothing if the code did not build or the run timed out."""
    outcomes = _map_outcomes(report)
    failing = [test for test in expand_test_ids(tests, report) if outcomes.get(test) != "passed"]
    if report.exit_status is None or (failing and _is_build_failure(report, failing)):
        return set()
    return {strip_test_parameters(test) for test in failing}


def _is_build_failure(report: RunReport, failing: list[str]) -> bool:
    """Return whether the compiler rejected the fault, so that no test ran. Load errors count as detected by tests."""
    known = report.by_id()
    failures = [known[test].failure for test in failing if test in known]
    return bool(failures) and all(each is not None and each.exception == BUILD_FAILURE for each in failures)
