"""GREEN: source only, and the very same tests pass."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.evidence import Evidence, Finding, PathKind, Verdict
from prd2pr.core.gates.bite import bites
from prd2pr.core.gates.common import (
    Codes,
    GatePolicy,
    about_test,
    all_pass,
    asks_no_tests,
    facts,
    finding,
    honest_runs,
    links,
    locks,
    nothing_broke,
    results_of,
    settle,
    source_only,
)
from prd2pr.core.gates.held_out import none_given, veiled
from prd2pr.core.gates.red import red_findings
from prd2pr.core.gates.steady import steady
from prd2pr.core.records import Phase

CODES = Codes(
    phase=Phase.GREEN,
    how_tests_run="GRN101",
    manifest="GRN102",
    state="GRN103",
    link="GRN104",
    test="GRN105",
    other="GRN106",
    docs="GRN107",
    locked="GRN201",
    locked_gone="GRN202",
    unlocked="GRN203",
    not_passed="GRN302",
    not_run="GRN303",
    regressed="GRN304",
    fewer="GRN305",
)


def green_gate(evidence: Evidence, policy: GatePolicy) -> Verdict:
    return settle(Phase.GREEN, veiled(_findings(evidence, policy), evidence), policy)


def _findings(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    if evidence.pre_implemented:
        yield from _already_built(evidence, policy)
        return
    yield from honest_runs(evidence, policy)
    yield from source_only(evidence, CODES, policy)
    yield from links(evidence, CODES.link)
    yield from _something_changed(evidence)
    yield from locks(evidence, CODES)
    yield from _was_red(evidence)
    yield from all_pass(evidence, CODES)
    yield from none_given(evidence)
    yield from nothing_broke(evidence, CODES.regressed, CODES.fewer)
    yield from bites(evidence, policy)
    yield from steady(evidence)
    yield from facts(evidence, "GRN")


def _already_built(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    """New tests that pass at once, since the code was there: all that RED asks of tests, but that they pass.

    RED is not claimed, and the story is shown as built before, not as proven.
    """
    yield from (each for each in red_findings(evidence, policy) if each.code != "RED105")
    yield from all_pass(evidence, CODES)


def _something_changed(evidence: Evidence) -> Iterator[Finding]:
    if asks_no_tests(evidence):
        if not evidence.changes:
            yield finding("GRN108", "nothing differs from the commit before")
    elif not any(change.kind in {PathKind.SOURCE, PathKind.MANIFEST} for change in evidence.changes):
        yield finding("GRN108", "no source file differs from the RED commit")


def _was_red(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.story_tests and not asks_no_tests(evidence):
        yield finding("GRN306", "no test of this story failed before, so there is nothing that could turn green")
    for test in evidence.story_tests:
        before = results_of(evidence.base_run, test)
        if before and all(result.outcome == "passed" for result in before):
            yield about_test("GRN307", test, "passed already at the base commit, which should be RED")
