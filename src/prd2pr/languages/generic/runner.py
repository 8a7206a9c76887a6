"""The `junit` and `tap` runners, which run any command that writes JUnit XML or TAP."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from posixpath import normpath
from xml.etree import ElementTree

from prd2pr.domain.evidence import Failure, FailureKind
from prd2pr.domain.wording import extract_error_line
from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.runner_kinds import (
    CanaryTests,
    FinishedTest,
    ProgramOutput,
    ProgramResults,
    RunnerContext,
    RunnerKind,
    RunnerProgram,
    Stage,
    ThrownError,
)

RESULTS, FILE = "{results}", "{file}"
UNKNOWN_FILE = "tests"  # path of tests whose file is unknown
FILE_SEPARATOR = "\f"  # separates several result files
MAX_MESSAGE_LENGTH = 900
_MAX_WORDS = 200
# In JUnit, a `failure` is a failed assertion and an `error` is not. Many runners report both as a failure and give the
# class of the thrown error.
_ASSERTED = re.compile(r"Assert|Comparison|Expectation|Xunit\.Sdk|NUnit")
_RAISED = re.compile(r"(Error|Exception|Throwable|Panic)\b", re.IGNORECASE)
_ANY_FAILURE = frozenset({"testCodeFailure"})  # node's type for every error
_CAUSE = re.compile(r"failureType: '\w+',\s+cause: \[?([A-Z]\w*)")
_ENTITY = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)
_LINE = re.compile(r"^(?P<indent> *)(?P<not>not )?ok\b(?: +\d+)?(?: +-)? *(?P<rest>.*)$")
_DIRECTIVE = re.compile(r"\s+#\s*(?P<word>SKIP|TODO)\b.*$", re.IGNORECASE)
_SUBTEST = re.compile(r"^(?P<indent> *)# Subtest: (?P<name>.*)$")
_PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
_INDENT = 4


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    """Return one program for each file if the command accepts a file, otherwise one program for all files."""
    ordered = tuple(sorted(files, reverse=context.is_reversed))
    whole = [*context.stack.command, *context.arguments]
    if any(FILE in word for word in whole):
        return tuple(_make_program(context, whole, (path,), number) for number, path in enumerate(ordered))
    return (_make_program(context, whole, ordered, 0),)


def _make_program(context: RunnerContext, words: Sequence[str], files: tuple[str, ...], number: int) -> RunnerProgram:
    place = f"{context.secret}/results-{number}.xml"
    given = {FILE: context.stack.to_stack_path(files[0]) if files else "", RESULTS: place}
    argv = tuple(_fill_placeholders(word, given) for word in words)
    if context.stack.runner == "tap":
        return RunnerProgram(argv, "stdout", files)
    pattern = context.stack.results
    return RunnerProgram(argv, f"file:{context.directory}/{pattern}" if pattern else f"file:{place}", files)


def _fill_placeholders(word: str, given: dict[str, str]) -> str:
    for sign, value in given.items():
        word = word.replace(sign, value)
    return word


# --- JUnit XML --------------------------------------------------------------------------------------------------------


def read_junit_results(output: ProgramOutput, context: RunnerContext) -> ProgramResults:
    texts = [text for text in output.results_text.split(FILE_SEPARATOR) if text.strip()]
    ended: list[FinishedTest] = []
    for text in texts:
        try:
            ended += _parse_cases(text, output, context)
        except (ElementTree.ParseError, ValueError) as problem:
            return ProgramResults(problems=(f"the result file cannot be read: {problem}",))
    if not texts and output.status is not None:
        return ProgramResults(
            problems=(f"no result file was written (status {output.status}): {_get_last_line(output)}",)
        )
    problems = (*_check_status(output, ended, may_end_well=False), *_check_files(ended, context))
    return ProgramResults(ended=tuple(ended), finished=frozenset(output.program.files), problems=problems)


def _check_files(ended: list[FinishedTest], context: RunnerContext) -> Iterator[str]:
    """Report results without a file, because tests are identified by their file."""
    lost = [each for each in ended if each.path == UNKNOWN_FILE]
    if lost and context.texts:
        yield (
            f"the result file does not name the file of `{' > '.join(lost[0].titles)}`: configure the runner to write "
            f"the attribute `file`, or let the command take one test file with `{FILE}`"
        )


def _check_status(output: ProgramOutput, ended: Sequence[FinishedTest], *, may_end_well: bool) -> Iterator[str]:
    """Report a contradiction between the results and the exit status."""
    failed = any(each.outcome == "failed" for each in ended)
    if output.status and not failed:
        yield f"every test passed, but the command ended with status {output.status}: {_get_last_line(output)}"
    elif output.status == 0 and failed and not may_end_well:
        yield (
            "a test failed, but the command ended with status 0: let it exit with a failure "
            "(no `|| true`, no `maven.test.failure.ignore`), so that a broken run can be detected"
        )


def _get_last_line(output: ProgramOutput) -> str:
    return extract_error_line(output.printed, _MAX_WORDS) or "it printed nothing"


def _parse_cases(text: str, output: ProgramOutput, context: RunnerContext) -> Iterator[FinishedTest]:
    if _ENTITY.search(text):
        raise ValueError("it declares XML entities, which no test runner does")
    for case, around in _walk_cases(ElementTree.fromstring(text)):  # noqa: S314 checked for entities above
        failure, error, skipped = (case.find(name) for name in ("failure", "error", "skipped"))
        bad = failure if failure is not None else error
        yield FinishedTest(
            path=_find_path(case, around, output, context),
            titles=_make_titles(case.get("classname") or "", case.get("name") or ""),
            outcome="failed" if bad is not None else "skipped" if skipped is not None else "passed",
            thrown=_make_thrown(bad, is_assertion=failure is not None) if bad is not None else None,
            seconds=_parse_number(case.get("time")),
        )


def _walk_cases(
    node: ElementTree.Element, around: tuple[ElementTree.Element, ...] = ()
) -> Iterator[tuple[ElementTree.Element, tuple[ElementTree.Element, ...]]]:
    """Yield every test with its enclosing suites, innermost first."""
    pending = [(node, around)]
    while pending:
        each, outer = pending.pop()
        if each.tag == "testcase":
            yield each, outer
        else:
            pending += [(inner, (each, *outer)) for inner in reversed(each)]


def _parse_number(text: str | None) -> float:
    try:
        return float((text or "0").replace(",", ""))
    except ValueError:
        return 0


def _make_titles(classname: str, name: str) -> tuple[str, ...]:
    return (classname.rpartition(".")[2], name) if classname else (name,)


def _find_path(
    case: ElementTree.Element, around: tuple[ElementTree.Element, ...], output: ProgramOutput, context: RunnerContext
) -> str:
    """Return the file named in the result, or else the command's file, or else the file of the test's class."""
    classname = case.get("classname") or ""
    named = [*(each.get("file") for each in (case, *around)), classname, *(each.get("name") for each in around)]
    for name in filter(None, named):
        if (path := _find_test_file(name, context)) is not None:
            return path
    if len(output.program.files) == 1 and (len(context.texts) == 1 or _takes_a_file(context)):
        return output.program.files[0]
    stem = classname.partition("$")[0].replace(".", "/")
    found = [path for path in context.texts if stem and f"/{path}".rpartition(".")[0].endswith(f"/{stem}")]
    return found[0] if found else case.get("file") or (stem if context.stack.runner == "surefire" else UNKNOWN_FILE)


def _find_test_file(name: str, context: RunnerContext) -> str | None:
    """Return the test file for a path that is absolute or relative to the stack or the repository."""
    inside = normpath(name).removeprefix(f"{context.checkout}/")
    return next((path for path in (context.stack.to_repository_path(inside), inside) if path in context.texts), None)


def _takes_a_file(context: RunnerContext) -> bool:
    return any(FILE in word for word in (*context.stack.command, *context.arguments))


def _make_thrown(node: ElementTree.Element, *, is_assertion: bool) -> ThrownError:
    kind, text = node.get("type") or "", node.text or ""
    if kind in _ANY_FAILURE:
        kind = cause[1] if (cause := _CAUSE.search(text)) else "Error"
    message = node.get("message") or text.strip().partition("\n")[0]
    asserted = is_assertion and (bool(_ASSERTED.search(kind)) or not _RAISED.search(kind))
    return ThrownError(re.split(r"[.\\:]", kind)[-1] or "Failure", message, text, is_assertion=asserted)


# --- TAP --------------------------------------------------------------------------------------------------------------


def read_tap_results(output: ProgramOutput, context: RunnerContext) -> ProgramResults:
    if output.status is None:
        return ProgramResults()
    if len(context.texts) > 1 and not _takes_a_file(context):
        return ProgramResults(problems=(f"TAP does not name files: let the command take one test file with `{FILE}`",))
    path = output.program.files[0] if len(output.program.files) == 1 else UNKNOWN_FILE
    plans = _PLAN.findall(output.results_text)
    ended = tuple(_parse_tap(path, _drop_harness_line(output.results_text, int(plans[-1]) if plans else 0)))
    top = [each for each in ended if len(each.titles) == 1]
    if "Bail out!" in output.results_text:
        return ProgramResults(ended=ended, problems=("the tests bailed out",))
    if not plans or int(plans[-1]) != len(top):
        planned = plans[-1] if plans else "no"
        return ProgramResults(ended=ended, problems=(f"{planned} tests were planned, but {len(top)} were reported",))
    # Like `prove`: a script may report failures and exit with 0, but a failing status without failures is a problem.
    problems = tuple(_check_status(output, ended, may_end_well=True))
    return ProgramResults(ended=ended, finished=frozenset(output.program.files), problems=problems)


def _drop_harness_line(text: str, planned: int) -> str:
    """Remove the bare `ok` that `prove --verbose` appends to the lines of a file."""
    lines = text.splitlines()
    top_level = [at for at, line in enumerate(lines) if (found := _LINE.match(line)) and not found["indent"]]
    if len(top_level) == planned + 1 and lines[top_level[-1]].strip() == "ok":
        del lines[top_level[-1]]
    return "\n".join(lines)


def _parse_tap(path: str, text: str) -> Iterator[FinishedTest]:
    """Yield the results. Subtests are indented and come before the line of their test."""
    around: list[str] = []
    diagnostics: list[str] = []
    last: FinishedTest | None = None
    for line in text.splitlines():
        if subtest := _SUBTEST.match(line):
            depth = len(subtest["indent"]) // _INDENT
            around = [*around[:depth], subtest["name"].strip()]
        elif found := _LINE.match(line):
            yield from _add_diagnostics(last, diagnostics)
            depth = len(found["indent"]) // _INDENT
            last, diagnostics = _make_tap_result(path, found, around[:depth]), []
        else:
            diagnostics.append(line.strip())
    yield from _add_diagnostics(last, diagnostics)


def _make_tap_result(path: str, line: re.Match[str], around: list[str]) -> FinishedTest:
    directive = _DIRECTIVE.search(line["rest"])
    title = _DIRECTIVE.sub("", line["rest"]).strip() or "unnamed"
    is_skipped = directive is not None
    return FinishedTest(
        path=path,
        titles=(*around, title),
        outcome="skipped" if is_skipped else "failed" if line["not"] else "passed",
        thrown=ThrownError("Failure", is_assertion=True) if line["not"] and not is_skipped else None,
    )


def _add_diagnostics(ended: FinishedTest | None, diagnostics: list[str]) -> Iterator[FinishedTest]:
    if ended is None:
        return
    shown = "\n".join(line for line in diagnostics if line not in {"---", "...", ""})
    yield replace(ended, thrown=replace(ended.thrown, message=shown)) if ended.thrown else ended


# --- both -------------------------------------------------------------------------------------------------------------


def classify_failure(
    thrown: ThrownError, stage: Stage, path: str, _: ParsedTestFile, context: RunnerContext
) -> Failure:
    kind = FailureKind.ASSERTION if thrown.is_assertion else FailureKind.EXCEPTION
    message = thrown.message.replace(f"{context.checkout}/", "").strip()[:MAX_MESSAGE_LENGTH]
    return Failure(kind=kind, stage=stage, exception=thrown.name, message=message, path=path)


def make_no_canary(_: str, __: str, ___: Sequence[str]) -> CanaryTests | None:
    return None


JUNIT = RunnerKind(
    "junit", "", (), make_programs, read_junit_results, make_no_canary, classify_failure, status_with_failures=None
)
TAP = RunnerKind(
    "tap", "", (), make_programs, read_tap_results, make_no_canary, classify_failure, status_with_failures=None
)
