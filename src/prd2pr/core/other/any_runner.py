"""Any command that writes JUnit XML or TAP: its tests are run and counted, in whatever language they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from xml.etree import ElementTree

from prd2pr.core.evidence import Failure, FailureKind
from prd2pr.core.other.language import TestFile
from prd2pr.core.other.runner import Canary, Ended, Ground, Program, RunnerKind, Said, Seen, Stage, Thrown
from prd2pr.core.wording import ANSI

RESULTS, FILE = "{results}", "{file}"
BETWEEN = "\f"  # between several result files
LONGEST = 900
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
        said_last = ANSI.sub("", said.printed).strip().splitlines()[-1:] or ["nothing"]
        return Seen(problems=(f"no result file was written (status {said.status}): {said_last[0][:200]}",))
    return Seen(ended=tuple(ended), finished=frozenset(said.program.files))


def _cases(text: str, said: Said, ground: Ground) -> Iterator[Ended]:
    if _ENTITY.search(text):
        raise ValueError("it declares entities, which no test runner does")
    for case in ElementTree.fromstring(text).iter("testcase"):  # noqa: S314 without entities, as was just seen
        failure, error, skipped = (case.find(name) for name in ("failure", "error", "skipped"))
        bad = failure if failure is not None else error
        yield Ended(
            path=_path_of(case.get("file") or "", case.get("classname") or "", said, ground),
            titles=_titles(case.get("classname") or "", case.get("name") or ""),
            outcome="failed" if bad is not None else "skipped" if skipped is not None else "passed",
            thrown=_thrown(bad, is_assertion=failure is not None) if bad is not None else None,
            seconds=_number(case.get("time")),
        )


def _number(text: str | None) -> float:
    try:
        return float((text or "0").replace(",", ""))
    except ValueError:
        return 0


def _titles(classname: str, name: str) -> tuple[str, ...]:
    return (classname.rpartition(".")[2], name) if classname else (name,)


def _path_of(file: str, classname: str, said: Said, ground: Ground) -> str:
    """The file that the result names, else the one that the command was given, else the one of the class."""
    local = file.removeprefix(f"{ground.checkout}/")
    if local and ground.stack.placed(local) in ground.texts:
        return ground.stack.placed(local)
    if len(said.program.files) == 1:
        return said.program.files[0]
    stem = classname.partition("$")[0].replace(".", "/")
    found = [path for path in ground.texts if stem and f"/{path}".rpartition(".")[0].endswith(f"/{stem}")]
    return found[0] if found else local or stem or "tests"


def _thrown(node: ElementTree.Element, *, is_assertion: bool) -> Thrown:
    kind = node.get("type") or ""
    message = node.get("message") or (node.text or "").strip().partition("\n")[0]
    asserted = is_assertion and (not kind or "Assert" in kind or "Comparison" in kind)
    return Thrown(kind.rpartition(".")[2] or "Failure", message, node.text or "", is_assertion=asserted)


# --- TAP --------------------------------------------------------------------------------------------------------------


def read_tap(said: Said, _: Ground) -> Seen:
    if said.status is None:
        return Seen()
    path = said.program.files[0] if len(said.program.files) == 1 else "tests"
    ended = tuple(_lines(path, said.told))
    top = [each for each in ended if len(each.titles) == 1]
    plans = _PLAN.findall(said.told)
    if "Bail out!" in said.told:
        return Seen(ended=ended, problems=("the tests bailed out",))
    if not plans or int(plans[-1]) != len(top):
        planned = plans[-1] if plans else "none"
        return Seen(ended=ended, problems=(f"{planned} tests were planned, and {len(top)} were told",))
    return Seen(ended=ended, finished=frozenset(said.program.files))


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
