"""Turn a runner's output into one result for each test, and find reasons not to trust it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prd2pr.domain.evidence import Failure, FailureKind, Outcome, TestResult
from prd2pr.domain.wording import extract_error_line
from prd2pr.languages import runner_kinds
from prd2pr.languages.base import Language, ParsedTestFile
from prd2pr.languages.test_ids import IdAssigner

_MAX_WORDS = 300
_INTERRUPTED: dict[str, tuple[FailureKind, str]] = {
    "timeout": (FailureKind.TIMEOUT, "timed out"),
    "cancelled": (FailureKind.EXIT, "was cancelled"),
}


@dataclass(frozen=True)
class CompletedRun:
    """The raw output of one run."""

    kind: runner_kinds.RunnerKind
    language: Language
    context: runner_kinds.RunnerContext
    outputs: tuple[runner_kinds.ProgramOutput, ...]
    canaries: tuple[runner_kinds.CanaryTests, ...]
    killed: str = ""  # why the run was stopped; empty if it was not


@dataclass(frozen=True)
class JudgedRun:
    tests: tuple[TestResult, ...]
    collect_errors: tuple[Failure, ...]
    problems: tuple[str, ...]
    tools: dict[str, str]


def judge_run(run: CompletedRun) -> JudgedRun:
    results = [
        runner_kinds.ProgramResults() if output.is_truncated else run.kind.read(output, run.context)
        for output in run.outputs
    ]
    canaries = {canary.path: canary for canary in run.canaries}
    files = {path: run.language.read_tests(path, text) for path, text in run.context.texts.items()}
    found: dict[str, TestResult] = {}
    for path, ended in _group_by_file(results).items():
        own = canaries.get(path)
        real = [each for each in ended if not (own and own.titles & set(each.titles))]
        found |= {result.id: result for result in _make_results(run, path, real, files.get(path, ParsedTestFile()))}
    errors = list(_add_broken_files(run, results, files, found))
    _add_unfinished(run, results, files, found)
    tools = {name: version for each in results for name, version in each.tools.items()}
    problems = [problem for each in results for problem in each.problems]
    if run.killed:
        problems = [run.killed]
    else:
        problems += [*_check_status(run, results), *_check_canaries(run, results, found)]
    return JudgedRun(tuple(found.values()), tuple(errors), tuple(dict.fromkeys(problems)), tools)


def _group_by_file(results: Iterable[runner_kinds.ProgramResults]) -> dict[str, list[runner_kinds.FinishedTest]]:
    grouped: dict[str, list[runner_kinds.FinishedTest]] = {}
    for each in results:
        for ended in each.ended:
            grouped.setdefault(ended.path, []).append(ended)
    return grouped


# --- finished tests ---------------------------------------------------------------------------------------------------


def _make_results(
    run: CompletedRun, path: str, ended: Sequence[runner_kinds.FinishedTest], file: ParsedTestFile
) -> Iterator[TestResult]:
    names = IdAssigner(path, file.tests)
    for each in ended:
        yield TestResult(
            id=names.assign_id(each.titles),
            outcome=_get_outcome(each),
            failure=_make_failure(run, each, ended, file),
            seconds=round(each.seconds, 4),
        )


def _get_outcome(ended: runner_kinds.FinishedTest) -> Outcome:
    if ended.outcome == "failed" and ended.why == "hook":
        return "error"
    return ended.outcome


def _make_failure(
    run: CompletedRun,
    ended: runner_kinds.FinishedTest,
    siblings: Sequence[runner_kinds.FinishedTest],
    file: ParsedTestFile,
) -> Failure | None:
    if ended.outcome != "failed":
        return None
    if ended.why == "subtests":
        depth = len(ended.titles)
        below = [each for each in siblings if each.titles[:depth] == ended.titles and each.outcome == "failed"]
        deeper = [each for each in below if len(each.titles) > depth and each.why != "subtests"]
        return (
            _make_failure(run, deeper[0], siblings, file)
            if deeper
            else _make_bare_failure(FailureKind.EXCEPTION, "a subtest failed")
        )
    if ended.why in _INTERRUPTED:
        return _make_bare_failure(*_INTERRUPTED[ended.why])
    if ended.thrown is None:
        return _make_bare_failure(FailureKind.EXCEPTION, "failed without a reason")
    stage: runner_kinds.Stage = "setup" if ended.why == "hook" else "call"
    found = run.kind.classify_failure(ended.thrown, stage, ended.path, file, run.context)
    return found.model_copy(update={"kind": FailureKind.FIXTURE}) if ended.why == "hook" else found


def _make_bare_failure(kind: FailureKind, message: str) -> Failure:
    return Failure(kind=kind, stage="call", message=message)


# --- tests without a result -------------------------------------------------------------------------------------------


def _add_broken_files(
    run: CompletedRun,
    results: Iterable[runner_kinds.ProgramResults],
    files: dict[str, ParsedTestFile],
    found: dict[str, TestResult],
) -> Iterator[Failure]:
    """Fail every declared test of a file that cannot be loaded."""
    for broken in (broken for each in results for broken in each.broken):
        file = files.get(broken.path, ParsedTestFile())
        failure = _make_load_failure(run, broken.thrown, broken.path, file)
        yield failure
        for declared in file.tests:
            if declared.id not in found:
                found[declared.id] = TestResult(id=declared.id, outcome="error", failure=failure)


def _make_load_failure(run: CompletedRun, thrown: runner_kinds.ThrownError, path: str, file: ParsedTestFile) -> Failure:
    found = run.kind.classify_failure(thrown, "collect", path, file, run.context)
    if not file.broken:
        return found
    wrong = {"kind": FailureKind.SYNTAX, "path": path, "line": file.broken, "missing": ""}
    return found.model_copy(update=wrong)


def _add_unfinished(
    run: CompletedRun,
    results: Iterable[runner_kinds.ProgramResults],
    files: dict[str, ParsedTestFile],
    found: dict[str, TestResult],
) -> None:
    """Fail the declared tests that have no result because the process of their file exited early."""
    known = {path for each in results for path in (*each.finished, *(broken.path for broken in each.broken))}
    expected_files = [path for output in run.outputs for path in output.program.files]
    failure = (
        _make_bare_failure(FailureKind.TIMEOUT, "timed out")
        if run.killed
        else _make_bare_failure(FailureKind.EXIT, "the process ended before its tests")
    )
    for path in expected_files:
        for declared in files.get(path, ParsedTestFile()).tests if path not in known else ():
            if declared.id not in found and not any(test.startswith(f"{declared.id}[") for test in found):
                found[declared.id] = TestResult(id=declared.id, outcome="error", failure=failure)


# --- honesty ----------------------------------------------------------------------------------------------------------


def _check_status(run: CompletedRun, results: Sequence[runner_kinds.ProgramResults]) -> Iterator[str]:
    for output, each in zip(run.outputs, results, strict=True):
        if output.is_truncated:
            name = _describe_program(output.program)
            yield f"{name} produced more than 32 MB of results and was stopped: reduce the output of its tests"
        elif output.status is None:
            yield f"{_describe_program(output.program)} did not end"
        elif missing := [
            path for path in output.program.files if path not in each.finished and not _is_broken(path, each)
        ]:
            words = extract_error_line(output.printed, _MAX_WORDS).replace(f"{run.context.checkout}/", "")
            reason = f": {words}" if words else ""
            yield f"the test process ended (status {output.status}) before the tests of {missing[0]}{reason}"
        elif run.kind.status_with_failures not in {None, output.status} and _has_canary(run, output.program, each):
            expected = run.kind.status_with_failures
            name = _describe_program(output.program)
            yield f"{name} ended with status {output.status}, but its canary must make it {expected}"


def _describe_program(program: runner_kinds.RunnerProgram) -> str:
    return f"the run of {program.files[0]}" if len(program.files) == 1 else "the test run"


def _is_broken(path: str, results: runner_kinds.ProgramResults) -> bool:
    return any(broken.path == path for broken in results.broken)


def _has_canary(run: CompletedRun, program: runner_kinds.RunnerProgram, results: runner_kinds.ProgramResults) -> bool:
    return any(canary.path in program.files and not _is_broken(canary.path, results) for canary in run.canaries)


def _check_canaries(
    run: CompletedRun, results: Sequence[runner_kinds.ProgramResults], found: dict[str, TestResult]
) -> Iterator[str]:
    ended = _group_by_file(results)
    broken = {each.path for one in results for each in one.broken}
    for canary in run.canaries:
        by_title = {each.titles[-1]: each for each in ended.get(canary.path, ()) if canary.titles & set(each.titles)}
        passed = any(test.startswith(f"{canary.path}::") and found[test].outcome == "passed" for test in found)
        if canary.path in broken and not passed:
            continue  # nothing ran, so no result can be faked
        yield from _check_canary(canary, by_title)


def _check_canary(canary: runner_kinds.CanaryTests, by_title: dict[str, runner_kinds.FinishedTest]) -> Iterator[str]:
    place = canary.path
    if missing := canary.titles - by_title.keys():
        yield f"{len(missing)} of the canary tests in {place} did not run"
        return
    if by_title[canary.passing].outcome != "passed":
        yield f"the canary test in {place} that must pass was reported as {by_title[canary.passing].outcome}"
    for title in canary.failing:
        ended = by_title[title]
        if ended.outcome != "failed" or ended.thrown is None or not ended.thrown.is_assertion:
            yield f"a canary test in {place} that must fail was reported as {ended.outcome}"
            return
