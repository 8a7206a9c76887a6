"""The saved result of differential testing: the same calls to the code before and after a refactoring."""

from __future__ import annotations

from typing import Literal

from prd2pr.domain.records import Record

AFTER_STEP_PREFIX = "after the step, "  # start of a problem that did not exist before the step

# recorded: a test makes this call. near: values similar to those of tests. hinted, guessed: no test calls the function,
# so values come from its annotations, or were tried. odd: unusual values that may not be supported.
Origin = Literal["recorded", "near", "hinted", "guessed", "odd"]


class BehaviourDifference(Record):
    """One call whose result has changed."""

    function: str  # dotted
    path: str
    line: int = 0
    given: str  # the call as source code
    before: str
    after: str
    origin: Origin
    grave: bool  # visible to callers, so it is an error; otherwise it is only reported


class ComparedFunction(Record):
    """One public function: the number of calls on both sides, and of calls that could not be compared."""

    function: str
    path: str
    calls: int = 0
    recorded: int = 0  # calls among these that tests make
    unjudged: int = 0
    differing: int = 0


class UncoveredLine(Record):
    """New code that no test runs."""

    path: str
    line: int
    function: str = ""
    what: str = ""  # the line


class DifferentialResult(Record):
    """`problems`: why the result is not valid; then all other fields are empty."""

    functions: tuple[ComparedFunction, ...] = ()
    differences: tuple[BehaviourDifference, ...] = ()
    unrun: tuple[UncoveredLine, ...] = ()
    tests: int = 0  # number of tests that were run to record calls
    partial: bool = False  # not all tests were run
    problems: tuple[str, ...] = ()
    seconds: float = 0
