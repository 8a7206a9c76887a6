"""Check that tests also pass in other circumstances: another order, clock, time zone or hash seed."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.evidence import Evidence, Finding
from prd2pr.domain.records import Phase
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.domain.results.mutation import MemorizedFunction, TestVariation, VariationName
from prd2pr.verification.gates.common import make_finding, make_test_finding

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "GRN701",
        "a test passes in one order only",
        "The story's tests also run in reverse order, in a separate process. A test that fails then depends on "
        "state left by another test, or the code depends on the order of its calls.",
        bad="test_redeem fails when the story's tests run in reverse order",
        good="test_redeem passes first, last and alone",
        remedy="make the result depend only on the arguments, not on earlier calls; let each test set up what it "
        "needs.",
    ),
    define_error(
        "GRN702",
        "a test passes only once",
        "The story's tests run twice in one process. The second time, a call with the same arguments returned "
        "something else and a test failed, although no test expects the function to keep state.",
        bad="test_redeem fails when the story's tests run a second time in the same process: redeem(100, 10)",
        good="test_redeem passes every time",
        remedy="make the result depend only on the arguments; keep state in an object that each test creates.",
    ),
    define_error(
        "GRN703",
        "a test depends on the hash seed",
        "Python uses a different hash seed in each process, which changes the order of sets. The run of the whole "
        "suite uses one seed, the run of the story's tests another.",
        bad="names = {'Ada', 'Grace'}\n\ndef first():\n    return next(iter(names))",
        good="names = {'Ada', 'Grace'}\n\ndef first():\n    return min(names)",
        remedy="sort the elements of a set, or use a list.",
    ),
    define_error(
        "GRN704",
        "a test depends on the current date",
        "The story's tests run with the clock set twelve years ahead: time, datetime and file times. A test that "
        "fails then will fail one day without any change.",
        bad="test_redeem fails when the clock is twelve years ahead",
        good="test_redeem passes in any year: it passes the date as an argument",
        remedy="pass the time as an argument, or let the test set it; an expected date must not be today's.",
    ),
    define_warning(
        "GRN705",
        "a test depends on the time zone",
        "The story's tests run in a time zone that is 12:45 hours ahead of UTC. A test that fails then depends on "
        "where it runs.",
        bad="test_receipt fails in another time zone",
        good="test_receipt passes the zone: datetime.fromtimestamp(0, timezone.utc)",
        remedy="pass the time zone wherever a timestamp becomes a date.",
    ),
    define_warning(
        "GRN706",
        "a test is flaky",
        "The test was repeated without any change and did not always pass.",
        bad="test_redeem failed once when the tests were repeated, then passed again",
        good="test_redeem always passes",
        remedy="look for random numbers, time limits and threads.",
    ),
    define_error(
        "GRN707",
        "the code behaves differently outside a test run",
        "Calls that the tests make to the story's functions are repeated by a program that has not loaded the "
        "test runner, in another directory and without test files. Calls that depend on time, randomness or test "
        "setup are excluded. Code that returns something else there detects that it is being tested.",
        bad="redeem(100, 10) returns 90 in the test run and 0 outside it",
        good="redeem(100, 10) returns 90 wherever it is called",
        remedy="make the result depend only on the arguments, not on modules, environment, directory, program name or "
        "caller.",
    ),
    define_error(
        "GRN708",
        "the code behaves differently in a release build",
        "Compilers build tests with checks that are left out of a release build. If the source uses these checks, "
        "the story's tests are also built and run in release mode, and must pass there too.",
        bad="if cfg!(debug_assertions) { total - points } else { 0 }",
        good="total - points",
        remedy="make the result depend only on the arguments.",
    ),
)


CIRCUMSTANCE_FINDINGS: dict[VariationName, tuple[str, str]] = {
    "reversed": ("GRN701", "fails when the story's tests run in reverse order"),
    "twice": ("GRN702", "fails when the story's tests run a second time in the same process"),
    "hash_seed": ("GRN703", "fails with another hash seed: it depends on the iteration order of a set"),
    "clock": ("GRN704", "fails when the clock is set twelve years later"),
    "zone": ("GRN705", "fails in another time zone"),
    "released": ("GRN708", "fails in a release build, without the compiler's debug checks"),
    "once_more": ("GRN706", "flaky: failed once when the tests were repeated, then passed again"),
}


def check_stability(evidence: Evidence) -> Iterator[Finding]:
    for way in evidence.bite.ways if evidence.bite else ():
        if way.outcome == "failed":
            yield from _make_circumstance_findings(way)
    replay = evidence.bite.replay if evidence.bite else None
    for each in replay.differing if replay else ():
        message = f"{each.shown} gives {each.inside} in the test run and {each.outside} outside it"
        yield make_finding("GRN707", message, path=each.path, line=each.line, test=each.test)
    known = {fact.path for fact in evidence.facts if fact.code == "GRN416"}
    for recited in replay.recited if replay and evidence.phase is Phase.GREEN else ():
        if recited.path not in known:
            yield make_finding("GRN416", _describe_memorized(recited), path=recited.path, line=recited.line)


def _describe_memorized(each: MemorizedFunction) -> str:
    inputs = f"{each.examples} examples of the tests and none of {each.near} similar inputs"
    return f"`{each.function}` handles {inputs}: {each.shown}"


def _make_circumstance_findings(way: TestVariation) -> Iterator[Finding]:
    code, message = CIRCUMSTANCE_FINDINGS[way.name]
    reason = f": {way.why}" if way.why else ""
    for test in way.tests:
        yield make_test_finding(code, test, f"{message}{reason}")
    if not way.tests:
        yield make_finding(code, f"a test of the story {message}")
