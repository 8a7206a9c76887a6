"""What came of giving the same calls to the code before and after a refactoring, as it is saved."""

from __future__ import annotations

from typing import Literal

from prd2pr.core.records import Record

AFTER = "after the step, "  # how a problem begins that was not there before it

# recorded: a test makes this very call. near: the kind of values that tests use. hinted, guessed: no test calls the
# function, so values were taken from its annotations, or tried. odd: values that nobody has shown to be meant.
Origin = Literal["recorded", "near", "hinted", "guessed", "odd"]


class Differing(Record):
    """One call that ends in another way than it did."""

    function: str  # dotted
    path: str
    line: int = 0
    given: str  # the call, as a person would write it
    before: str
    after: str
    origin: Origin
    grave: bool  # the behaviour that callers see is another; else it is told, and refuses nothing


class Compared(Record):
    """One public function: how many calls were made of it on both sides, and of how many nothing can be said."""

    function: str
    path: str
    calls: int = 0
    recorded: int = 0  # of these, the ones that tests make
    unjudged: int = 0
    differing: int = 0


class Unrun(Record):
    """New code that no test runs."""

    path: str
    line: int
    function: str = ""
    what: str = ""  # the line


class Parity(Record):
    """`problems`: why none of it can be believed; then there is nothing else."""

    functions: tuple[Compared, ...] = ()
    differences: tuple[Differing, ...] = ()
    unrun: tuple[Unrun, ...] = ()
    tests: int = 0  # that were asked
    partial: bool = False  # there are more tests than were asked
    problems: tuple[str, ...] = ()
    seconds: float = 0
