"""cargo test: programs that one of ours builds and runs; what they print is read here, not taken at its word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from prd2pr.core.other.runner import Broken, Ended, Ground, Program, RunnerKind, Said, Seen, Thrown
from prd2pr.core.other.rust.build_errors import BROKEN, thrown_by
from prd2pr.core.other.rust.canary import rust_canary
from prd2pr.core.other.rust.failures import classify, told_by
from prd2pr.core.other.rust.files import target_of
from prd2pr.core.other.told import lines_of

_EVENT = re.compile(r'\{ "type": "(test|suite)", .*\}$')
_FAILED = 101
_ENDINGS = frozenset({"ok", "failed", "ignored", "timeout"})


def programs(ground: Ground, files: tuple[str, ...]) -> tuple[Program, ...]:
    """One, which sees to all test programs; in a whole run also to the tests that stand in the source."""
    local = [ground.stack.local(path) for path in files]
    order = {
        "files": sorted(local),
        "targets": sorted({target_of(path) for path in local}),
        "whole": ground.whole,
        "workspace": any(path.count("/") > 1 for path in local) or not local,
        "backwards": ground.backwards,
        "arguments": list(ground.arguments),
    }
    return (
        Program(
            argv=(ground.python, "-I", "-S", "-B", f"{ground.ours}/cargo_tests.py"),
            files=files,
            parameters={"order": json.dumps(order)},
            environment=environment(ground),
        ),
    )


def environment(ground: Ground) -> dict[str, str]:
    """Nothing is fetched, and what is built is built for this run alone; without what only debuggers need."""
    return {
        "CARGO_HOME": f"{ground.scratch}/cargo",
        "CARGO_TARGET_DIR": f"{ground.scratch}/target",
        "CARGO_NET_OFFLINE": "true",
        "CARGO_INCREMENTAL": "0",
        "CARGO_TERM_COLOR": "never",
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_PROFILE_TEST_DEBUG": "0",
    }


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ran:
    """One process of a test program."""

    names: tuple[str, ...]  # that it was asked for
    status: int
    hung: bool
    tests: tuple[dict[str, Any], ...]
    closed: bool  # it has said how all of it ended

    @property
    def begun(self) -> list[str]:
        return [each["name"] for each in self.tests if each.get("event") == "started"]

    @property
    def ended(self) -> dict[str, dict[str, Any]]:
        """What was said first; but where it was said to be both, then it is not the better of them."""
        found: dict[str, dict[str, Any]] = {}
        for each in self.tests:
            if each.get("event") in _ENDINGS:
                known = found.setdefault(each["name"], each)
                if known["event"] != each["event"]:
                    found[each["name"]] = {**each, "event": "failed"}
        return found

    @property
    def twice(self) -> list[str]:
        names = [each["name"] for each in self.tests if each.get("event") in _ENDINGS]
        return sorted({name for name in names if names.count(name) > 1})

    @property
    def failed(self) -> list[str]:
        return [name for name, each in self.ended.items() if each["event"] == "failed"]

    @property
    def unfinished(self) -> list[str]:
        return [name for name in self.begun if name not in self.ended]


@dataclass
class _Program:
    source: str
    places: dict[str, list[str]] = field(default_factory=dict)  # test → its file, and its name there
    first: list[_Ran] = field(default_factory=list)
    again: list[_Ran] = field(default_factory=list)


def read(said: Said, ground: Ground) -> Seen:
    facts, problems = lines_of(said)
    found: dict[str, _Program] = {}
    broken: list[Broken] = []
    told = [str(fact.get("what")) for fact in facts if fact.get("event") == "problem"]
    crates = frozenset(name for fact in facts if fact.get("event") == "crates" for name in fact["names"])
    for fact in facts:
        if fact.get("event") == "broken":
            broken += _broken(fact, ground, crates)
        elif fact.get("event") in {"ran", "finished"}:
            _note(found.setdefault(str(fact["source"]), _Program(str(fact["source"]))), fact)
    ended: list[Ended] = []
    for program in found.values():
        results, doubts = _judged(program, ground)
        ended += results
        told += doubts
    whole = any(fact.get("event") == "end" for fact in facts)
    lost = {each.path for each in broken}
    return Seen(
        ended=tuple(ended),
        broken=tuple(broken),
        finished=frozenset(path for path in said.program.files if path not in lost) if whole else frozenset(),
        problems=tuple(dict.fromkeys((*problems, *told))),
    )


def _broken(fact: dict[str, Any], ground: Ground, crates: frozenset[str]) -> Iterator[Broken]:
    for local in fact["files"]:
        path = ground.stack.placed(local)
        own = [{**each, "path": ground.stack.placed(str(each.get("path", "")))} for each in fact["errors"]]
        if not own:
            yield Broken(path, Thrown(BROKEN, str(fact["output"]).strip()[-600:]))
            continue
        if all(each["path"] != path for each in own) and not any("/tests/" in f"/{each['path']}" for each in own):
            first = own[0]
            yield Broken(path, Thrown(BROKEN, f"{first['path']}:{first['line']}: {first['message']}"))
            continue
        for thrown in thrown_by(own, path, ground.texts.get(path, ""), crates):
            yield Broken(path, thrown)


def _note(program: _Program, fact: dict[str, Any]) -> None:
    if fact["event"] == "finished":
        program.places = fact["places"]
        return
    events = list(_events(str(fact["output"])))
    ran = _Ran(
        names=tuple(fact["names"]),
        status=int(fact["status"]),
        hung=bool(fact["hung"]),
        tests=tuple(each for each in events if each["type"] == "test" and isinstance(each.get("name"), str)),
        closed=any(each["type"] == "suite" and each.get("event") in {"ok", "failed"} for each in events),
    )
    (program.first if fact["part"] == "first" else program.again).append(ran)


def _events(output: str) -> Iterator[dict[str, Any]]:
    """Lines of JSON; what a test printed without an end of line may stand before one."""
    for line in output.splitlines():
        found = _EVENT.search(line)
        try:
            fact = json.loads(found[0]) if found else None
        except ValueError:
            continue
        if isinstance(fact, dict):
            yield fact


def _judged(program: _Program, ground: Ground) -> tuple[list[Ended], list[str]]:
    ended: list[Ended] = []
    problems: list[str] = []
    for ran in program.first:
        problems += _doubts(program.source, ran)
        ended += _ended(program, ran, ground)
    for ran in program.again:
        failed, doubts = _contradicted(program.source, ran)
        problems += doubts
        worse = [each for each in _ended(program, ran, ground) if _is_named(each, failed, program)]
        ended = [each for each in ended if not _is_named(each, failed, program)] + worse
    return ended, problems


def _is_named(ended: Ended, names: frozenset[str], program: _Program) -> bool:
    return any("::".join(ended.titles) == program.places.get(name, ["", name])[1] for name in names)


def _doubts(source: str, ran: _Ran) -> Iterator[str]:
    """Why this process cannot have said the truth."""
    place = f"the test program of {source}"
    for name in ran.twice:
        yield f"{place} said more than once how {name} ended"
    if ran.hung:
        return
    left = set(ran.names) - {each["name"] for each in ran.tests}
    if ran.status == 0 and (ran.failed or ran.unfinished or left or not ran.closed):
        yield f"{place} ended with status 0 before its tests did, or though some failed"
    if ran.status == _FAILED and ran.closed and not ran.failed:
        yield f"{place} ended with status {_FAILED} and does not say what failed"


def _contradicted(source: str, ran: _Ran) -> tuple[frozenset[str], list[str]]:
    """What was said to pass is run once more by itself. It may fail then, openly; but nothing else may be wrong."""
    place = f"the test program of {source}"
    wrong = {*ran.failed, *ran.unfinished} & set(ran.names)
    silent = set(ran.names) - ran.ended.keys()
    if wrong:
        return frozenset(wrong), []
    if ran.status != 0:
        return frozenset(), [f"{place} says that all tests pass, and ends with status {ran.status}"]
    if silent:
        return frozenset(), [f"{place} ended with status 0 without a word about {min(silent)}"]
    return frozenset(), []


def _ended(program: _Program, ran: _Ran, ground: Ground) -> Iterator[Ended]:
    for name in dict.fromkeys((*ran.begun, *ran.ended)):
        if name not in ran.names or name not in program.places:
            continue
        local, inner = program.places[name]
        path, titles = ground.stack.placed(local), tuple(inner.split("::"))
        fact = ran.ended.get(name)
        if fact is None:
            yield Ended(path, titles, "failed", why="timeout" if ran.hung else "cancelled")
        elif fact["event"] == "ignored":
            yield Ended(path, titles, "skipped")
        elif fact["event"] == "ok":
            yield Ended(path, titles, "passed", seconds=float(fact.get("exec_time") or 0))
        else:
            printed = f"{fact.get('stdout') or ''}\n{fact.get('message') or ''}"
            seconds = float(fact.get("exec_time") or 0)
            yield Ended(path, titles, "failed", told_by(printed, path, ground), seconds=seconds)


CARGO = RunnerKind(
    name="cargo test",
    executable="cargo",
    version=("cargo", "--version"),
    programs=programs,
    read=read,
    canary=rust_canary,
    classify=classify,
    status_with_failures=None,
    home="native",
)
