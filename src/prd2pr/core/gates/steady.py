"""Do the tests hold in other circumstances? What GREEN asks of order, time and chance."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.bite.record import Recited, Way, WayName
from prd2pr.core.evidence import Evidence, Finding
from prd2pr.core.gates.common import about_test, finding
from prd2pr.core.records import Phase

FAILED: dict[WayName, tuple[str, str]] = {
    "reversed": ("GRN701", "fails when the story's tests run in the opposite order"),
    "twice": ("GRN702", "fails when the story's tests run a second time in the same process"),
    "hash_seed": ("GRN703", "fails with another hash seed: it depends on the order in which a set keeps its elements"),
    "clock": ("GRN704", "fails when the clock is 400 days ahead"),
    "zone": ("GRN705", "fails in another time zone"),
    "released": ("GRN708", "fails when the code is built as it is where it is used, without the compiler's own checks"),
    "once_more": ("GRN706", "failed once when the tests were repeated, and then passed again"),
}


def steady(evidence: Evidence) -> Iterator[Finding]:
    for way in evidence.bite.ways if evidence.bite else ():
        if way.outcome == "failed":
            yield from _failed(way)
    replay = evidence.bite.replay if evidence.bite else None
    for each in replay.differing if replay else ():
        said = f"{each.shown} gives {each.inside} in the test run and {each.outside} outside of it"
        yield finding("GRN707", said, path=each.path, line=each.line, test=each.test)
    known = {fact.path for fact in evidence.facts if fact.code == "GRN416"}
    for recited in replay.recited if replay and evidence.phase is Phase.GREEN else ():
        if recited.path not in known:
            yield finding("GRN416", _recited(recited), path=recited.path, line=recited.line)


def _recited(each: Recited) -> str:
    asked = f"{each.examples} examples of the tests, and none of {each.near} inputs near to them"
    return f"`{each.function}` answers {asked}: {each.shown}"


def _failed(way: Way) -> Iterator[Finding]:
    code, said = FAILED[way.name]
    shown = f": {way.why}" if way.why else ""
    for test in way.tests:
        yield about_test(code, test, f"{said}{shown}")
    if not way.tests:
        yield finding(code, f"a test of the story {said}")
