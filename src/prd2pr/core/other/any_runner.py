"""Any command that writes JUnit XML or TAP: its tests are run and counted, in whatever language they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from posixpath import normpath
from xml.etree import ElementTree

from prd2pr.core.evidence import Failure, FailureKind
from prd2pr.core.other.language import TestFile
from prd2pr.core.other.runner import Canary, Ended, Ground, Program, RunnerKind, Said, Seen, Stage, Thrown
from prd2pr.core.wording import complaint_in

RESULTS, FILE = "{results}", "{file}"
NOWHERE = "tests"  # the path of tests whose file nobody told
BETWEEN = "\f"  # between several result files
LONGEST = 900
_WORDS = 200
# By JUnit's own words a `failure` is an assertion and an `error` is not. Many runners call everything a failure, and
# name the class of what was thrown.
_ASSERTED = re.compile(r"Assert|Comparison|Expectation|Xunit\.Sdk|NUnit")
_RAISED = re.compile(r"(Error|Exception|Throwable|Panic)\b", re.IGNORECASE)
_ANY_FAILURE = frozenset({"testCodeFailure"})  # node's word, whatever was thrown
_CAUSE = re.compile(r"failureType: '\w+',\s+cause: \[?([A-Z]\w*)")
_ENTITY = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)
_LINE = re.compile(r"^(?P<indent> *)(?P<not>not )?ok\b(?: +\d+)?(?: +-)? *(?P<rest>.*)$")
_DIRECTIVE = re.compile(r"\s+#\s*(?P<word>SKIP|TODO)\b.*$", re.IGNORECASE)
_SUBTEST = re.compile(r"^(?P<indent> *)# Subtest: (?P<name>.*)$")
_PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
_INDENT = 4


def programs(ground: Ground, files: tuple[str, ...]) -> tuple[Program, ...]:
    """One process for each file where the command takes a file, else one for all."""
    ordered = tuple(sorted(files, reverse=ground.backwards))
    whole = [*ground.stack.command, *ground.arguments]
    if any(FILE in word for word in whole):
        return tuple(_program(ground, whole, (path,), number) for number, path in enumerate(ordered))
    return (_program(ground, whole, ordered, 0),)


def _program(ground: Ground, words: Sequence[str], files: tuple[str, ...], number: int) -> Program:
    place = f"{ground.secret}/results-{number}.xml"
    given = {FILE: ground.stack.local(files[0]) if files else "", RESULTS: place}
    argv = tuple(_filled(word, given) for word in words)
    if ground.stack.runner == "tap":
        return Program(argv, "stdout", files)
    pattern = ground.stack.results
    return Program(argv, f"file:{ground.directory}/{pattern}" if pattern else f"file:{place}", files)


def _filled(word: str, given: dict[str, str]) -> str:
    for sign, value in given.items():
        word = word.replace(sign, value)
    return word


# --- JUnit XML --------------------------------------------------------------------------------------------------------


def read_junit(said: Said, ground: Ground) -> Seen:
    texts = [text for text in said.told.split(BETWEEN) if text.strip()]
    ended: list[Ended] = []
    for text in texts:
        try:
            ended += _cases(text, said, ground)
        except (ElementTree.ParseError, ValueError) as problem:
            return Seen(problems=(f"the result file cannot be read: {problem}",))
    if not texts and said.status is not None:
        return Seen(problems=(f"no result file was written (status {said.status}): {_last_word(said)}",))
    problems = (*_disagreement(said, ended, may_end_well=False), *_nameless(ended, ground))
    return Seen(ended=tuple(ended), finished=frozenset(said.program.files), problems=problems)


def _nameless(ended: list[Ended], ground: Ground) -> Iterator[str]:
    """A test is known by its file: one that has none would be another test in another run."""
    lost = [each for each in ended if each.path == NOWHERE]
    if lost and ground.texts:
        yield (
            f"the result file does not say in which file `{' > '.join(lost[0].titles)}` stands: let the runner write "
            f"the attribute `file`, or let the command take one test file at a time by `{FILE}`"
        )


def _disagreement(said: Said, ended: Sequence[Ended], *, may_end_well: bool) -> Iterator[str]:
    """What was written and how the command ended must say the same, or one of them was made up."""
    failed = any(each.outcome == "failed" for each in ended)
    if said.status and not failed:
        yield f"every test passed, and yet the command ended with status {said.status}: {_last_word(said)}"
    elif said.status == 0 and failed and not may_end_well:
        yield (
            "a test failed, and yet the command ended with status 0: let it end with another one "
            "(no `|| true`, no `maven.test.failure.ignore`), or nobody can tell when it breaks"
        )


def _last_word(said: Said) -> str:
    return complaint_in(said.printed, _WORDS) or "it printed nothing"


def _cases(text: str, said: Said, ground: Ground) -> Iterator[Ended]:
    if _ENTITY.search(text):
        raise ValueError("it declares entities, which no test runner does")
    for case, around in _with_suites(ElementTree.fromstring(text)):  # noqa: S314 without entities, as was just seen
        failure, error, skipped = (case.find(name) for name in ("failure", "error", "skipped"))
        bad = failure if failure is not None else error
        yield Ended(
            path=_path_of(case, around, said, ground),
            titles=_titles(case.get("classname") or "", case.get("name") or ""),
            outcome="failed" if bad is not None else "skipped" if skipped is not None else "passed",
            thrown=_thrown(bad, is_assertion=failure is not None) if bad is not None else None,
            seconds=_number(case.get("time")),
        )


def _with_suites(
    node: ElementTree.Element, around: tuple[ElementTree.Element, ...] = ()
) -> Iterator[tuple[ElementTree.Element, tuple[ElementTree.Element, ...]]]:
    """Every test with the suites that it stands in, the innermost first."""
    waiting = [(node, around)]
    while waiting:
        each, outer = waiting.pop()
        if each.tag == "testcase":
            yield each, outer
        else:
            waiting += [(inner, (each, *outer)) for inner in reversed(each)]


def _number(text: str | None) -> float:
    try:
        return float((text or "0").replace(",", ""))
    except ValueError:
        return 0


def _titles(classname: str, name: str) -> tuple[str, ...]:
    return (classname.rpartition(".")[2], name) if classname else (name,)


def _path_of(case: ElementTree.Element, around: tuple[ElementTree.Element, ...], said: Said, ground: Ground) -> str:
    """The file that the result names, else the one that the command was given, else the one of the class."""
    classname = case.get("classname") or ""
    named = [*(each.get("file") for each in (case, *around)), classname, *(each.get("name") for each in around)]
    for name in filter(None, named):
        if (path := _test_file(name, ground)) is not None:
            return path
    if len(said.program.files) == 1 and (len(ground.texts) == 1 or _takes_a_file(ground)):
        return said.program.files[0]
    stem = classname.partition("$")[0].replace(".", "/")
    found = [path for path in ground.texts if stem and f"/{path}".rpartition(".")[0].endswith(f"/{stem}")]
    return found[0] if found else case.get("file") or (stem if ground.stack.runner == "surefire" else NOWHERE)


def _test_file(name: str, ground: Ground) -> str | None:
    """Relative to the stack's root or to the repository's, or absolute."""
    inside = normpath(name).removeprefix(f"{ground.checkout}/")
    return next((path for path in (ground.stack.placed(inside), inside) if path in ground.texts), None)


def _takes_a_file(ground: Ground) -> bool:
    return any(FILE in word for word in (*ground.stack.command, *ground.arguments))


def _thrown(node: ElementTree.Element, *, is_assertion: bool) -> Thrown:
    kind, text = node.get("type") or "", node.text or ""
    if kind in _ANY_FAILURE:
        kind = cause[1] if (cause := _CAUSE.search(text)) else "Error"
    message = node.get("message") or text.strip().partition("\n")[0]
    asserted = is_assertion and (bool(_ASSERTED.search(kind)) or not _RAISED.search(kind))
    return Thrown(re.split(r"[.\\:]", kind)[-1] or "Failure", message, text, is_assertion=asserted)


# --- TAP --------------------------------------------------------------------------------------------------------------


def read_tap(said: Said, ground: Ground) -> Seen:
    if said.status is None:
        return Seen()
    if len(ground.texts) > 1 and not _takes_a_file(ground):
        return Seen(problems=(f"TAP names no files: let the command take one test file at a time by `{FILE}`",))
    path = said.program.files[0] if len(said.program.files) == 1 else NOWHERE
    plans = _PLAN.findall(said.told)
    ended = tuple(_lines(path, _without_harness(said.told, int(plans[-1]) if plans else 0)))
    top = [each for each in ended if len(each.titles) == 1]
    if "Bail out!" in said.told:
        return Seen(ended=ended, problems=("the tests bailed out",))
    if not plans or int(plans[-1]) != len(top):
        planned = plans[-1] if plans else "no"
        return Seen(ended=ended, problems=(f"{planned} tests were planned, and {len(top)} were told",))
    # As `prove` judges: a plain script says by its lines alone that a test failed, but one that breaks is not believed.
    problems = tuple(_disagreement(said, ended, may_end_well=True))
    return Seen(ended=ended, finished=frozenset(said.program.files), problems=problems)


def _without_harness(text: str, planned: int) -> str:
    """`prove --verbose` closes a file's lines by a bare `ok` of its own, beyond the plan."""
    lines = text.splitlines()
    told = [at for at, line in enumerate(lines) if (found := _LINE.match(line)) and not found["indent"]]
    if len(told) == planned + 1 and lines[told[-1]].strip() == "ok":
        del lines[told[-1]]
    return "\n".join(lines)


def _lines(path: str, text: str) -> Iterator[Ended]:
    """Subtests stand above the line of the test that they belong to, further in."""
    around: list[str] = []
    said: list[str] = []
    last: Ended | None = None
    for line in text.splitlines():
        if subtest := _SUBTEST.match(line):
            depth = len(subtest["indent"]) // _INDENT
            around = [*around[:depth], subtest["name"].strip()]
        elif found := _LINE.match(line):
            yield from _told(last, said)
            depth = len(found["indent"]) // _INDENT
            last, said = _tap_result(path, found, around[:depth]), []
        else:
            said.append(line.strip())
    yield from _told(last, said)


def _tap_result(path: str, line: re.Match[str], around: list[str]) -> Ended:
    directive = _DIRECTIVE.search(line["rest"])
    title = _DIRECTIVE.sub("", line["rest"]).strip() or "unnamed"
    passed_over = directive is not None
    return Ended(
        path=path,
        titles=(*around, title),
        outcome="skipped" if passed_over else "failed" if line["not"] else "passed",
        thrown=Thrown("Failure", is_assertion=True) if line["not"] and not passed_over else None,
    )


def _told(ended: Ended | None, said: list[str]) -> Iterator[Ended]:
    if ended is None:
        return
    shown = "\n".join(line for line in said if line not in {"---", "...", ""})
    yield replace(ended, thrown=replace(ended.thrown, message=shown)) if ended.thrown else ended


# --- both -------------------------------------------------------------------------------------------------------------


def classify(thrown: Thrown, stage: Stage, path: str, _: TestFile, ground: Ground) -> Failure:
    kind = FailureKind.ASSERTION if thrown.is_assertion else FailureKind.EXCEPTION
    message = thrown.message.replace(f"{ground.checkout}/", "").strip()[:LONGEST]
    return Failure(kind=kind, stage=stage, exception=thrown.name, message=message, path=path)


def no_canary(_: str, __: str, ___: Sequence[str]) -> Canary | None:
    return None


JUNIT = RunnerKind("junit", "", (), programs, read_junit, no_canary, classify, status_with_failures=None)
TAP = RunnerKind("tap", "", (), programs, read_tap, no_canary, classify, status_with_failures=None)
