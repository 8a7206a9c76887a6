"""The saved result of mutation testing: mutants of the code, and wrong expectations in the tests."""

from __future__ import annotations

from typing import Literal

from prd2pr.domain.records import Record

# killed: a test failed. survived: no test failed. The others do not count for the score.
FaultOutcome = Literal["killed", "survived", "timeout", "not_judged"]


class MutantResult(Record):
    """One mutant and the outcome of the tests."""

    id: str
    path: str
    line: int
    function: str = ""
    change: str = ""  # as in `cents // 100` → `cents * 100`
    outcome: FaultOutcome
    by: str = ""  # the test that killed it
    elsewhere: str = ""  # for a survivor, a test outside the story that detects it
    why: str = ""  # why it could not be judged


# once_more: a test failed in another order, but passed when that order was repeated.
VariationName = Literal["reversed", "twice", "once_more", "hash_seed", "clock", "zone", "released"]


class TestVariation(Record):
    """Another run of the story's tests under different conditions, to find flaky tests."""

    name: VariationName
    outcome: Literal["passed", "failed", "not_judged"]
    tests: tuple[str, ...] = ()  # the tests that failed
    why: str = ""  # why it could not be judged; for `twice`, a call whose second result differs


class ReplayDifference(Record):
    """A call with different results inside and outside of a test run."""

    path: str
    line: int
    function: str
    test: str
    shown: str  # the call as shown to people
    inside: str
    outside: str


class MemorizedFunction(Record):
    """A function that handles the inputs of its tests, but no similar inputs."""

    path: str
    line: int
    function: str
    examples: int  # number of test inputs, all of which it handles
    near: int  # number of similar inputs, none of which it handles
    shown: str  # one similar input and its result


class CallReplay(Record):
    """Calls made by the tests, repeated outside of a test run."""

    same: int = 0
    not_judged: int = 0  # calls that depend on set-up, time or chance, or cannot be compared
    differing: tuple[ReplayDifference, ...] = ()
    recited: tuple[MemorizedFunction, ...] = ()


class MutationResult(Record):
    """All mutants of one step. `problems` says why the result is invalid; all other fields are then empty."""

    knock_outs: tuple[MutantResult, ...] = ()  # functions whose body was replaced by an error
    mutants: tuple[MutantResult, ...] = ()
    perturbations: tuple[MutantResult, ...] = ()  # expected values in the story's tests, each replaced by another value
    indifferent: tuple[str, ...] = ()  # tests that pass whatever the story's functions return
    answers: bool | None = None  # whether return values were replaced; None if unknown
    ways: tuple[TestVariation, ...] = ()  # runs without a mutant, under different conditions
    replay: CallReplay | None = None  # None if not tried
    problems: tuple[str, ...] = ()
    seconds: float = 0

    @property
    def judged(self) -> tuple[MutantResult, ...]:
        return tuple(each for each in self.mutants if each.outcome in {"killed", "survived"})

    @property
    def killed(self) -> int:
        return sum(each.outcome == "killed" for each in self.mutants)

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        return tuple(each for each in self.mutants if each.outcome == "survived")

    @property
    def unnoticed(self) -> tuple[MutantResult, ...]:
        """The surviving mutants that no test outside the story is known to detect either."""
        return tuple(each for each in self.survivors if not each.elsewhere)

    @property
    def score(self) -> float | None:
        """The share of mutants that the tests killed, or None if none was judged."""
        return self.killed / len(self.judged) if self.judged else None
