"""Report changes outside the story's stack, and run the tests of the other stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from prd2pr.domain.evidence import Change, Fact, OtherSuite, PathKind, RunReport
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.stack import Stack, find_owner
from prd2pr.domain.stack_policy import ENDINGS
from prd2pr.domain.test_runs import compare_base_with_head, summarize_run
from prd2pr.errors import SetupProblem
from prd2pr.languages.test_runner import DifferentialRequest, MutationRequest, RunRequest, TestRunner
from prd2pr.verification.gather.flakiness import exclude_flaky_tests

_CODE_KINDS = frozenset({PathKind.SOURCE, PathKind.TEST})


@dataclass(frozen=True)
class SingleStackRunner:
    """A `TestRunner` for one stack of the repository."""

    runner: TestRunner
    stack: Stack

    def run(self, request: RunRequest) -> RunReport:
        return self.runner.run(replace(request, stack=self.stack))

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]:
        return self.runner.start_mutation_run(replace(request, stack=self.stack))

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]:
        return self.runner.start_differential_run(replace(request, stack=self.stack))

    def expect(self, hash_seed: int = 0) -> None:
        self.runner.expect(hash_seed)

    def begin(self, request: RunRequest, *, in_parallel: bool = False) -> None:
        self.runner.begin(replace(request, stack=self.stack), in_parallel=in_parallel)

    def discard_early_runs(self) -> None:
        self.runner.discard_early_runs()


def find_changes_outside_stack(changes: Iterable[Change], own: Stack, stacks: tuple[Stack, ...]) -> Iterator[Fact]:
    """Report code and tests that changed outside the story's stack, because the story does not prove them."""
    for change in changes:
        if change.kind not in _CODE_KINDS:
            continue
        owner = find_owner(change.path, stacks, ENDINGS)
        if owner != own and (owner is not None or not own.contains_path(change.path)):
            whose = f"belongs to {owner.name}" if owner else "belongs to no stack"
            message = f"{whose}, but the story is proved in {own.name}; make it a separate story"
            yield Fact(code="RUN110", path=change.path, message=message)


def run_other_suites(
    runner: TestRunner, own: Stack, stacks: tuple[Stack, ...], began: str, head: str
) -> tuple[OtherSuite, ...]:
    """Run the suites of the other stacks before the story and now. The earlier runs are usually cached."""
    return tuple(_run_suite(SingleStackRunner(runner, stack), stack, began, head) for stack in stacks if stack != own)


def _run_suite(runner: TestRunner, stack: Stack, began: str, head: str) -> OtherSuite:
    """Run the suite of another stack. If its tools are missing on this machine, record why it was not run."""
    try:
        before, now = runner.run(RunRequest(began)), runner.run(RunRequest(head))
    except SetupProblem as problem:
        return OtherSuite(stack=stack.name, not_run=problem.what)
    comparison = compare_base_with_head(before, now)
    return OtherSuite(
        stack=stack.name,
        comparison=exclude_flaky_tests(runner, comparison, comparison.regressed, base=began, head=head),
        base_run=summarize_run(before, ()),
        head_run=summarize_run(now, ()),
    )
