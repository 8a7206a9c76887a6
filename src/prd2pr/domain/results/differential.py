"""The saved result of differential testing: the same calls to the code before and after a refactoring."""

from __future__ import annotations

from typing import Literal

from prd2pr.domain.records import Record

AFTER_STEP_PREFIX = "after the step, "  # start of a problem that first occurs after the step

# recorded: a test makes this call. near: values are similar to those of tests. hinted, guessed: no test calls the
# function, so values come from its annotations or were guessed. odd: unusual values that may not be supported.
Origin = Literal["recorded", "near", "hinted", "guessed", "odd"]


class BehaviorDifference(Record):
    """One call whose result has changed."""

    function: str  # dotted name
    path: str
    line: int = 0
    given: str  # the call as source code
    before: str
    after: str
    origin: Origin
    grave: bool  # visible to callers, so it is an error; otherwise it is only reported


class ComparedFunction(Record):
    """One public function, with the number of compared calls and of calls that could not be compared."""

    function: str
    path: str
    calls: int = 0
    recorded: int = 0  # those of the calls that tests make
    unjudged: int = 0
    differing: int = 0


class UncoveredLine(Record):
    """New code that no test runs."""

    path: str
    line: int
    function: str = ""
    what: str = ""  # the source line


class DifferentialResult(Record):
    """The result of comparing old and new code. `problems` says why it is invalid; all other fields are then empty."""

    functions: tuple[ComparedFunction, ...] = ()
    differences: tuple[BehaviorDifference, ...] = ()
    unrun: tuple[UncoveredLine, ...] = ()
    tests: int = 0  # number of tests that were run to record calls
    partial: bool = False  # only some of the tests were run
    problems: tuple[str, ...] = ()
    seconds: float = 0
