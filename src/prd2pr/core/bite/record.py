"""What became of deliberate faults in the code, and of wrong expectations in the tests, as it is saved."""

from __future__ import annotations

from typing import Literal

from prd2pr.core.records import Record

# killed: a test failed. survived: none did. The others say nothing about the tests and are left out of the score.
FaultOutcome = Literal["killed", "survived", "timeout", "not_judged"]


class Bitten(Record):
    """One fault, and what the tests made of it."""

    id: str
    path: str
    line: int
    function: str = ""
    change: str = ""  # `cents // 100` → `cents * 100`
    outcome: FaultOutcome
    by: str = ""  # the test that noticed
    why: str = ""  # why it could not be judged


# once_more: it failed in another order, and not again when that was looked at.
WayName = Literal["reversed", "twice", "once_more", "hash_seed", "clock", "zone", "released"]


class Way(Record):
    """The story's tests once more, in other circumstances."""

    name: WayName
    outcome: Literal["passed", "failed", "not_judged"]
    tests: tuple[str, ...] = ()  # those that failed
    why: str = ""  # why it could not be judged; of `twice`, a call that was answered otherwise the second time


class Differing(Record):
    """A call that is answered in one way in a test run and in another way by a program that knows nothing of tests."""

    path: str
    line: int
    function: str
    test: str
    shown: str  # the call, for people
    inside: str
    outside: str


class Recited(Record):
    """A function that answers what its tests ask, and nothing that is near to it."""

    path: str
    line: int
    function: str
    examples: int  # of the tests, that it answers
    near: int  # other inputs of the same shape, all of them unknown to it
    shown: str  # one of these, and what came of it


class Replay(Record):
    """Calls of the tests, made again outside of any test run."""

    same: int = 0
    not_judged: int = 0  # depends on what the test had set up, on time or chance, or cannot be compared
    differing: tuple[Differing, ...] = ()
    recited: tuple[Recited, ...] = ()


class Bite(Record):
    """All faults of one step. `problems`: why none of it can be believed; then there is nothing else."""

    knock_outs: tuple[Bitten, ...] = ()  # functions whose body was replaced by an error
    mutants: tuple[Bitten, ...] = ()
    perturbations: tuple[Bitten, ...] = ()  # expected values of the story's tests, each replaced by another
    indifferent: tuple[str, ...] = ()  # tests that pass whatever the story's functions answer
    answers: bool | None = None  # whether functions were made to answer otherwise; None: nobody tells
    ways: tuple[Way, ...] = ()  # how the tests fare without a fault
    replay: Replay | None = None  # None: not tried
    problems: tuple[str, ...] = ()
    seconds: float = 0

    @property
    def judged(self) -> tuple[Bitten, ...]:
        return tuple(each for each in self.mutants if each.outcome in {"killed", "survived"})

    @property
    def killed(self) -> int:
        return sum(each.outcome == "killed" for each in self.mutants)

    @property
    def survivors(self) -> tuple[Bitten, ...]:
        return tuple(each for each in self.mutants if each.outcome == "survived")

    @property
    def score(self) -> float | None:
        """The share of mutants that the tests noticed; None where none was judged."""
        return self.killed / len(self.judged) if self.judged else None
