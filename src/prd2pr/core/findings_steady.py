"""Findings of the GREEN gate about circumstances: order, time, chance, and who is looking."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, rule

STEADY_FINDINGS: tuple[FindingKind, ...] = (
    rule(
        "GRN701",
        "a test passes in one order only",
        "The story's tests are also run from the last to the first, in a process of their own. A test that fails then "
        "leans on what another one left behind, or the code gives its answers in the order in which it is asked.",
        bad="test_redeem fails when the story's tests run in the opposite order",
        good="test_redeem passes first, last and alone",
        hint="let the arguments decide, not what was called before; let each test make what it needs.",
    ),
    rule(
        "GRN702",
        "a test passes only once",
        "The story's tests are run twice in one process. The second time a call with the same arguments was answered "
        "otherwise and a test failed, though no test wants the function to remember anything.",
        bad="test_redeem fails when the story's tests run a second time in the same process: redeem(100, 10)",
        good="test_redeem passes as often as it is run",
        hint="let the arguments decide; what must be remembered belongs into an object that each test makes anew.",
    ),
    rule(
        "GRN703",
        "a test passes with one hash seed only",
        "Python draws another hash seed each time it starts, and with it the order of sets changes. The run of the "
        "whole suite has one seed, the story's tests by themselves another.",
        bad="names = {'Ada', 'Grace'}\n\ndef first():\n    return next(iter(names))",
        good="names = {'Ada', 'Grace'}\n\ndef first():\n    return min(names)",
        hint="sort what comes out of a set, or keep it in a list.",
    ),
    rule(
        "GRN704",
        "a test passes at this time only",
        "The story's tests are run with the clock twelve years ahead: time, datetime, times of files. A test that "
        "fails then will fail some day with nobody having changed anything.",
        bad="test_redeem fails when the clock is twelve years ahead",
        good="test_redeem passes in any year: it gives the day as an argument",
        hint="pass the time as an argument, or let the test set it; a date that the test expects must not be today's.",
    ),
    advice(
        "GRN705",
        "a test passes in one time zone only",
        "The story's tests are run in a time zone that is ahead of UTC by 12:45 hours. What fails then depends on "
        "where the computer stands.",
        bad="test_receipt fails in another time zone",
        good="test_receipt names the zone: datetime.fromtimestamp(0, timezone.utc)",
        hint="name the time zone wherever a moment becomes a date.",
    ),
    advice(
        "GRN706",
        "a test failed once and then passed again",
        "Run again and again with nothing changed, the test did not always pass.",
        bad="test_redeem failed once when the tests were repeated, and then passed again",
        good="test_redeem always passes",
        hint="look for random numbers, time limits and threads.",
    ),
    rule(
        "GRN707",
        "the code answers otherwise outside of a test run",
        "Calls that the tests make into the story's functions are made again by a program that has not loaded the test "
        "runner, in another directory and without test files. What depends on time, on chance or on what the test "
        "had set up is left out. Code that answers otherwise there knows that it is tested.",
        bad="redeem(100, 10) gives 90 in the test run and 0 outside of it",
        good="redeem(100, 10) gives 90 wherever it is called",
        hint="let nothing but the arguments decide: not modules, environment, directory, program name or caller.",
    ),
    rule(
        "GRN708",
        "the code answers otherwise where it is used",
        "Compilers build for tests with checks that they leave out of what is delivered. Where the source asks for "
        "them, the story's tests are built and run a second time as the program is delivered, and must pass there "
        "too.",
        bad="if cfg!(debug_assertions) { total - points } else { 0 }",
        good="total - points",
        hint="let nothing but the arguments decide what is answered.",
    ),
)
