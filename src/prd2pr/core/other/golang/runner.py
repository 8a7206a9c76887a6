"""go test: binaries that a program of ours builds and runs; what they print is read here, not taken at its word."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from prd2pr.core.other.golang.build_errors import thrown_by
from prd2pr.core.other.golang.canary import go_canary
from prd2pr.core.other.golang.failures import PANIC, classify
from prd2pr.core.other.golang.output import Heard, heard, message_of
from prd2pr.core.other.runner import Broken, Ended, Ground, Program, RunnerKind, Said, Seen, Thrown, Why
from prd2pr.core.other.told import lines_of

_OUTCOMES: dict[str, Literal["passed", "failed", "skipped"]] = {
    "PASS": "passed",
    "FAIL": "failed",
    "SKIP": "skipped",
    "": "failed",
}
_CODE: Why = "code"
# Nothing is fetched, and nothing of the user's settings is read.
NOTHING_OF_OTHERS = {"GOENV": "off", "GOFLAGS": "", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}


def programs(ground: Ground, files: tuple[str, ...]) -> tuple[Program, ...]:
    """One, which sees to all packages."""
    if not files:
        return ()
    local = ground.stack.local
    packages: dict[str, list[str]] = {}
    for path in files:
        packages.setdefault(posixpath.dirname(local(path)) or ".", []).append(local(path))
    beside = [local(path) for path in ground.texts]
    order = {
        "packages": [
            {
                "number": number,
                "directory": directory,
                "files": sorted(asked),
                "beside": sorted(path for path in beside if (posixpath.dirname(path) or ".") == directory),
            }
            for number, (directory, asked) in enumerate(sorted(packages.items()))
        ],
        "scratch": ground.scratch,
        "built": ground.built,
        "whole": ground.whole,
        "backwards": ground.backwards,
        "arguments": list(ground.arguments),
    }
    return (
        Program(
            argv=(ground.python, "-I", "-S", "-B", f"{ground.ours}/go_tests.py"),
            files=files,
            parameters={"order": json.dumps(order)},
            environment=environment(ground),
        ),
    )


def environment(ground: Ground) -> dict[str, str]:
    """What is built of the project is built for this run alone."""
    return {**NOTHING_OF_OTHERS, "GOCACHE": f"{ground.scratch}/go-build"}


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ran:
    """One process of a test binary."""

    names: tuple[str, ...]  # that it was asked for
    status: int
    hung: bool
    words: Heard


@dataclass
class _Package:
    names: dict[str, list[str]] = field(default_factory=dict)  # test function → files that declare it
    first: list[_Ran] = field(default_factory=list)
    again: list[_Ran] = field(default_factory=list)


def read(said: Said, ground: Ground) -> Seen:
    facts, problems = lines_of(said)
    packages: dict[str, _Package] = {}
    broken: list[Broken] = []
    told = [str(fact.get("what")) for fact in facts if fact.get("event") == "problem"]
    module = next((str(fact.get("path")) for fact in facts if fact.get("event") == "module"), "")
    for fact in facts:
        if fact.get("event") == "broken":
            broken += _broken(fact, ground, module)
        elif fact.get("event") in {"ran", "finished"}:
            _note(packages.setdefault(str(fact["package"]), _Package()), fact)
    ended, found = _judged(packages, ground)
    whole = any(fact.get("event") == "end" for fact in facts)
    lost = {each.path for each in broken}
    return Seen(
        ended=tuple(ended),
        broken=tuple(broken),
        finished=frozenset(path for path in said.program.files if path not in lost) if whole else frozenset(),
        problems=(*problems, *told, *found),
    )


def _broken(fact: dict[str, Any], ground: Ground, module: str) -> Iterator[Broken]:
    for local in fact["files"]:
        path = ground.stack.placed(local)
        for thrown in thrown_by(str(fact["output"]), path, local, ground.texts.get(path, ""), module):
            yield Broken(path, thrown)


def _note(package: _Package, fact: dict[str, Any]) -> None:
    if fact["event"] == "finished":
        package.names = fact["names"]
        return
    parts = package.first if fact["part"] == "first" else package.again
    ran = _Ran(tuple(fact["names"]), int(fact["status"]), bool(fact["hung"]), heard(str(fact["output"])))
    parts.append(ran)


def _judged(packages: dict[str, _Package], ground: Ground) -> tuple[list[Ended], list[str]]:
    ended: list[Ended] = []
    problems: list[str] = []
    for directory, package in packages.items():
        files = {name: [ground.stack.placed(path) for path in paths] for name, paths in package.names.items()}
        for number, ran in enumerate(package.first):
            later = {name for other in package.first[number + 1 :] for name in other.words.begun}
            problems += _doubts(directory, ran, files, later)
            ended += _ended(ran, files)
        for ran in package.again:
            failed, doubts = _contradicted(directory, ran)
            problems += doubts
            worse = [each for each in _ended(ran, files) if each.titles[0] in failed]
            ended = [each for each in ended if each.titles[0] not in failed] + worse
    return ended, list(dict.fromkeys(problems))


def _doubts(directory: str, ran: _Ran, files: dict[str, list[str]], later: set[str]) -> Iterator[str]:
    """Why this process cannot have said the truth. `later`: tests that another process had to run."""
    place, words = f"the test binary of {directory}", ran.words
    for name, times in words.times.items():
        top = name.partition("/")[0]
        if top in files and times > len(files[top]):
            yield f"{place} said {times} times how {name} ended"
    if ran.hung:
        return
    left = later & set(ran.names)
    if ran.status == 0 and (words.failed or words.unfinished or left or words.word != "PASS"):
        yield f"{place} ended with status 0 before its tests did, or though some failed"
    if ran.status == 1 and words.word == "FAIL" and not words.failed:
        yield f"{place} ended with status 1 and does not say what failed"


def _contradicted(directory: str, ran: _Ran) -> tuple[frozenset[str], list[str]]:
    """What was said to pass is run once more by itself. It may fail then, openly; but nothing else may be wrong."""
    words, names = ran.words, set(ran.names)
    wrong = {name.partition("/")[0] for name in (*words.failed, *words.unfinished)} & names
    silent = names - words.ended.keys()
    place = f"the test binary of {directory}"
    if ran.hung or wrong:
        return frozenset(wrong or {words.running.partition("/")[0]}), []
    if ran.status != 0:
        return frozenset(), [f"{place} says that all tests pass, and ends with status {ran.status}"]
    if silent:
        return frozenset(), [f"{place} ended with status 0 without a word about {min(silent)}"]
    return frozenset(), []


def _ended(ran: _Ran, files: dict[str, list[str]]) -> Iterator[Ended]:
    words = ran.words
    for name in words.begun:
        top = name.partition("/")[0]
        if top not in ran.names or top not in files:
            continue
        outcome = words.ended.get(name, "")
        thrown, why = _failure(name, ran, files[top][0]) if outcome in {"", "FAIL"} else (None, _CODE)
        for path in files[top]:
            yield Ended(
                path=path,
                titles=tuple(name.split("/")),
                outcome=_OUTCOMES[outcome],
                thrown=thrown,
                why=why,
                seconds=words.seconds.get(name, 0),
            )


def _failure(name: str, ran: _Ran, path: str) -> tuple[Thrown | None, Why]:
    words = ran.words
    ended = name in words.ended
    below = [each for each in words.begun if each.startswith(f"{name}/")]
    if words.fatal and (name == words.running or not (ended or below)):
        return Thrown(PANIC, words.fatal.partition("\n\n")[0], stack=words.fatal), _CODE
    if not ended and ran.hung:
        return None, "timeout"
    if not ended and not (words.fatal and below):
        return None, "cancelled"
    said = message_of(words.logs.get(name, []))
    if not said.file and any(each in words.failed or each not in words.ended for each in below):
        return None, "subtests"
    place = f"{posixpath.dirname(path)}/{said.file}".lstrip("/") if said.file else path
    return Thrown("", said.text or "failed", stack=f"{place}:{said.line}", is_assertion=True), _CODE


GO = RunnerKind(
    name="go test",
    executable="go",
    version=("go", "version"),
    programs=programs,
    read=read,
    canary=go_canary,
    classify=classify,
    status_with_failures=None,
    home="native",
)
