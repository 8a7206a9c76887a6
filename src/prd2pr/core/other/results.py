"""From what a runner told to one result for each test, and to the reasons not to believe it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prd2pr.core.evidence import Failure, FailureKind, Outcome, TestResult
from prd2pr.core.other.ids import Names
from prd2pr.core.other.language import Language, TestFile
from prd2pr.core.other.runner import Canary, Ended, Ground, Program, RunnerKind, Said, Seen, Stage, Thrown
from prd2pr.core.wording import complaint_in

_WORDS = 300
_BROKEN_OFF: dict[str, tuple[FailureKind, str]] = {
    "timeout": (FailureKind.TIMEOUT, "did not end in time"),
    "cancelled": (FailureKind.EXIT, "was broken off"),
}


@dataclass(frozen=True)
class Run:
    """All that was seen of one run, before anything of it is judged."""

    kind: RunnerKind
    language: Language
    ground: Ground
    said: tuple[Said, ...]
    canaries: tuple[Canary, ...]
    killed: str = ""  # why it was stopped from outside


@dataclass(frozen=True)
class Judged:
    tests: tuple[TestResult, ...]
    collect_errors: tuple[Failure, ...]
    problems: tuple[str, ...]
    tools: dict[str, str]


def judged(run: Run) -> Judged:
    seen = [Seen() if said.flooded else run.kind.read(said, run.ground) for said in run.said]
    canaries = {canary.path: canary for canary in run.canaries}
    files = {path: run.language.tests(path, text) for path, text in run.ground.texts.items()}
    found: dict[str, TestResult] = {}
    for path, ended in _by_file(seen).items():
        own = canaries.get(path)
        real = [each for each in ended if not (own and own.titles & set(each.titles))]
        found |= {result.id: result for result in _results(run, path, real, files.get(path, TestFile()))}
    errors = list(_broken(run, seen, files, found))
    _unfinished(run, seen, files, found)
    tools = {name: version for each in seen for name, version in each.tools.items()}
    problems = [problem for each in seen for problem in each.problems]
    if run.killed:
        problems = [run.killed]
    else:
        problems += [*_status_problems(run, seen), *_canary_problems(run, seen, found)]
    return Judged(tuple(found.values()), tuple(errors), tuple(dict.fromkeys(problems)), tools)


def _by_file(seen: Iterable[Seen]) -> dict[str, list[Ended]]:
    grouped: dict[str, list[Ended]] = {}
    for each in seen:
        for ended in each.ended:
            grouped.setdefault(ended.path, []).append(ended)
    return grouped


# --- tests that were run ----------------------------------------------------------------------------------------------


def _results(run: Run, path: str, ended: Sequence[Ended], file: TestFile) -> Iterator[TestResult]:
    names = Names(path, file.tests)
    for each in ended:
        yield TestResult(
            id=names.id_of(each.titles),
            outcome=_outcome(each),
            failure=_failure(run, each, ended, file),
            seconds=round(each.seconds, 4),
        )


def _outcome(ended: Ended) -> Outcome:
    if ended.outcome == "failed" and ended.why == "hook":
        return "error"
    return ended.outcome


def _failure(run: Run, ended: Ended, beside: Sequence[Ended], file: TestFile) -> Failure | None:
    if ended.outcome != "failed":
        return None
    if ended.why == "subtests":
        depth = len(ended.titles)
        below = [each for each in beside if each.titles[:depth] == ended.titles and each.outcome == "failed"]
        deeper = [each for each in below if len(each.titles) > depth and each.why != "subtests"]
        return _failure(run, deeper[0], beside, file) if deeper else _bare(FailureKind.EXCEPTION, "a part of it failed")
    if ended.why in _BROKEN_OFF:
        return _bare(*_BROKEN_OFF[ended.why])
    if ended.thrown is None:
        return _bare(FailureKind.EXCEPTION, "failed without saying why")
    stage: Stage = "setup" if ended.why == "hook" else "call"
    found = run.kind.classify(ended.thrown, stage, ended.path, file, run.ground)
    return found.model_copy(update={"kind": FailureKind.FIXTURE}) if ended.why == "hook" else found


def _bare(kind: FailureKind, message: str) -> Failure:
    return Failure(kind=kind, stage="call", message=message)


# --- tests that were not ----------------------------------------------------------------------------------------------


def _broken(
    run: Run, seen: Iterable[Seen], files: dict[str, TestFile], found: dict[str, TestResult]
) -> Iterator[Failure]:
    """Files that cannot be loaded: each test that they declare fails for that reason."""
    for broken in (broken for each in seen for broken in each.broken):
        file = files.get(broken.path, TestFile())
        failure = _load_failure(run, broken.thrown, broken.path, file)
        yield failure
        for declared in file.tests:
            if declared.id not in found:
                found[declared.id] = TestResult(id=declared.id, outcome="error", failure=failure)


def _load_failure(run: Run, thrown: Thrown, path: str, file: TestFile) -> Failure:
    found = run.kind.classify(thrown, "collect", path, file, run.ground)
    if not file.broken:
        return found
    wrong = {"kind": FailureKind.SYNTAX, "path": path, "line": file.broken, "missing": ""}
    return found.model_copy(update=wrong)


def _unfinished(run: Run, seen: Iterable[Seen], files: dict[str, TestFile], found: dict[str, TestResult]) -> None:
    """Files whose process ended in the midst: what they declare and nobody heard of was broken off."""
    known = {path for each in seen for path in (*each.finished, *(broken.path for broken in each.broken))}
    asked = [path for said in run.said for path in said.program.files]
    failure = (
        _bare(FailureKind.TIMEOUT, "did not end in time")
        if run.killed
        else _bare(FailureKind.EXIT, "the process was ended before its tests were")
    )
    for path in asked:
        for declared in files.get(path, TestFile()).tests if path not in known else ():
            if declared.id not in found and not any(test.startswith(f"{declared.id}[") for test in found):
                found[declared.id] = TestResult(id=declared.id, outcome="error", failure=failure)


# --- honesty ----------------------------------------------------------------------------------------------------------


def _status_problems(run: Run, seen: Sequence[Seen]) -> Iterator[str]:
    for said, each in zip(run.said, seen, strict=True):
        if said.flooded:
            yield f"{_about(said.program)} told more than 32 MB of results, and was stopped: let its tests print less"
        elif said.status is None:
            yield f"{_about(said.program)} never ended"
        elif missing := [
            path for path in said.program.files if path not in each.finished and not _is_broken(path, each)
        ]:
            words = complaint_in(said.printed, _WORDS).replace(f"{run.ground.checkout}/", "")
            said_so = f": {words}" if words else ""
            yield f"the test process ended (status {said.status}) before the tests of {missing[0]} did{said_so}"
        elif run.kind.status_with_failures not in {None, said.status} and _has_canary(run, said.program, each):
            expected = run.kind.status_with_failures
            yield f"{_about(said.program)} ended with status {said.status} where a canary must make it {expected}"


def _about(program: Program) -> str:
    return f"the run of {program.files[0]}" if len(program.files) == 1 else "the test run"


def _is_broken(path: str, seen: Seen) -> bool:
    return any(broken.path == path for broken in seen.broken)


def _has_canary(run: Run, program: Program, seen: Seen) -> bool:
    return any(canary.path in program.files and not _is_broken(canary.path, seen) for canary in run.canaries)


def _canary_problems(run: Run, seen: Sequence[Seen], found: dict[str, TestResult]) -> Iterator[str]:
    ended = _by_file(seen)
    broken = {each.path for one in seen for each in one.broken}
    for canary in run.canaries:
        told = {each.titles[-1]: each for each in ended.get(canary.path, ()) if canary.titles & set(each.titles)}
        passed = any(test.startswith(f"{canary.path}::") and found[test].outcome == "passed" for test in found)
        if canary.path in broken and not passed:
            continue  # where nothing was begun, nothing can be faked
        yield from _complaints(canary, told)


def _complaints(canary: Canary, told: dict[str, Ended]) -> Iterator[str]:
    place = canary.path
    if missing := canary.titles - told.keys():
        yield f"{len(missing)} of the tests put into {place} as a check were not run"
        return
    if told[canary.passing].outcome != "passed":
        yield f"a test that must pass, put into {place} as a check, was reported as {told[canary.passing].outcome}"
    for title in canary.failing:
        ended = told[title]
        if ended.outcome != "failed" or ended.thrown is None or not ended.thrown.is_assertion:
            yield f"a test that must fail, put into {place} as a check, was reported as {ended.outcome}"
            return
