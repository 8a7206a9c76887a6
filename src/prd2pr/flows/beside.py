"""A story lies in one stack: what it does beside it is seen, and the tests of the other stacks are run too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import Change, Fact, PathKind, RunReport, SuiteBeside
from prd2pr.core.parity.record import Parity
from prd2pr.core.runs import compare, summarise
from prd2pr.core.stacks.stack import Stack, owner_of
from prd2pr.core.stacks.words import ENDINGS
from prd2pr.errors import SetupProblem
from prd2pr.flows.unsteady import without_unsteady
from prd2pr.ports import BiteRequest, ParityRequest, RunRequest, TestRunner

_BELONGING = frozenset({PathKind.SOURCE, PathKind.TEST})


@dataclass(frozen=True)
class OfStack:
    """A runner that is asked for one stack alone. Implements `ports.TestRunner`."""

    runner: TestRunner
    stack: Stack

    def run(self, request: RunRequest) -> RunReport:
        return self.runner.run(replace(request, stack=self.stack))

    def start_bite(self, request: BiteRequest) -> Callable[[], Bite]:
        return self.runner.start_bite(replace(request, stack=self.stack))

    def start_parity(self, request: ParityRequest) -> Callable[[], Parity]:
        return self.runner.start_parity(replace(request, stack=self.stack))

    def expect(self, hash_seed: int = 0) -> None:
        self.runner.expect(hash_seed)

    def begin(self, request: RunRequest, *, beside: bool = False) -> None:
        self.runner.begin(replace(request, stack=self.stack), beside=beside)

    def let_go(self) -> None:
        self.runner.let_go()


def strayed_beside(changes: Iterable[Change], own: Stack, stacks: tuple[Stack, ...]) -> Iterator[Fact]:
    """Code and tests that the story's own stack does not prove."""
    for change in changes:
        if change.kind not in _BELONGING:
            continue
        owner = owner_of(change.path, stacks, ENDINGS)
        if owner != own and (owner is not None or not own.holds(change.path)):
            whose = f"belongs to {owner.name}" if owner else "belongs to no stack"
            said = f"{whose}, and the story is proved in {own.name}; make another story of it"
            yield Fact(code="RUN110", path=change.path, message=said)


def suites_beside(
    runner: TestRunner, own: Stack, stacks: tuple[Stack, ...], began: str, head: str
) -> tuple[SuiteBeside, ...]:
    """The other stacks before the story and now; the run before it is mostly known, as the last story's own."""
    return tuple(_suite(OfStack(runner, stack), stack, began, head) for stack in stacks if stack != own)


def _suite(runner: TestRunner, stack: Stack, began: str, head: str) -> SuiteBeside:
    """A machine without the tools of another stack proves what it can, and says what it could not."""
    try:
        before, now = runner.run(RunRequest(began)), runner.run(RunRequest(head))
    except SetupProblem as problem:
        return SuiteBeside(stack=stack.name, not_run=problem.what)
    comparison = compare(before, now)
    return SuiteBeside(
        stack=stack.name,
        comparison=without_unsteady(runner, comparison, comparison.regressed, base=began, head=head),
        base_run=summarise(before, ()),
        head_run=summarise(now, ()),
    )
