"""A repository with several stacks: each run goes to the runner of its stack, and what all say is one report."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from prd2pr.config import TestRun
from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import RunReport
from prd2pr.core.parity.record import Parity
from prd2pr.core.stacks.placed import placed
from prd2pr.core.stacks.stack import Stack, stack_of
from prd2pr.core.stacks.words import ENDINGS
from prd2pr.errors import SetupProblem
from prd2pr.ports import BiteRequest, ParityRequest, RunRequest
from prd2pr.runners.cache import IdentifiedRunner
from prd2pr.runners.dependencies import Dependencies
from prd2pr.runners.interpreter import find_python
from prd2pr.runners.other_runner import OtherRunner

Export = Callable[[str, Path, Mapping[str, str]], None]


def other_runner(export: Export, cache: Path, stack: Stack, settings: TestRun, *, sandboxed: bool) -> OtherRunner:
    return OtherRunner(export, stack, dependencies_in(cache), settings, sandboxed=sandboxed)


def dependencies_in(cache: Path) -> Dependencies:
    """`PRD2PR_DEPENDENCIES` names a directory that several clones share for what is installed."""
    shared = os.environ.get("PRD2PR_DEPENDENCIES")
    return Dependencies(Path(shared) if shared else cache / "dependencies")


def prepared_python(cache: Path, stack: Stack, given: Mapping[str, bytes]) -> Path:
    """The interpreter that the stack's set-up makes, of the manifests as the base commit has them."""
    python = dependencies_in(cache).prepare(stack, given) / ".venv" / "bin" / "python"
    if not python.is_file():
        raise SetupProblem(
            f"the set-up of {stack.name} made no `.venv`, and its tests are run by the Python in there",
            where="; ".join(" ".join(command) for command in stack.setup),
            remedy="begin with `python3 -m venv .venv`, and install into it: `.venv/bin/pip install …`",
        )
    return find_python(None, str(python))


class SeveralRunners:
    """Implements `ports.TestRunner`. A runner is opened when its stack is first asked for.

    `subtree`: the tree of a directory. A stack that is judged inside of its root is run there; whoever names that stack
    in his request as it is seen from inside gives the root's own tree.
    """

    def __init__(
        self,
        stacks: tuple[Stack, ...],
        opened: Callable[[Stack], IdentifiedRunner],
        subtree: Callable[[str, str], str],
    ) -> None:
        self._stacks = stacks
        self._open = opened
        self._subtree = subtree
        self._opened: dict[Stack, IdentifiedRunner] = {}

    def _runner(self, stack: Stack) -> IdentifiedRunner:
        inside = stack.inside if stack.judged_inside else stack
        if inside not in self._opened:
            self._opened[inside] = self._open(inside)
        return self._opened[inside]

    def identity(self) -> str:
        """A stack whose tools are not installed here does not keep the others from being run."""
        return hashlib.sha256(repr([self._known_as(stack) for stack in self._stacks]).encode()).hexdigest()

    def _known_as(self, stack: Stack) -> str:
        try:
            return self._runner(stack).identity()
        except SetupProblem as problem:
            return problem.what

    def expect(self, hash_seed: int = 0) -> None:
        for runner in self._opened.values():
            runner.expect(hash_seed)

    def keeps_apart(self) -> bool:
        """What cannot be run here is in nobody's way."""
        return all(map(self._kept_apart, self._stacks))

    def _kept_apart(self, stack: Stack) -> bool:
        try:
            return self._runner(stack).keeps_apart()
        except SetupProblem:
            return True

    def run_ahead(self, request: RunRequest, *, beside: bool) -> None:
        """Which of them will be asked is found out when they are."""

    def run(self, request: RunRequest) -> RunReport:
        asked = self._asked(request)
        everything = request.stack is None and not request.paths
        found = {
            stack: self._report(stack, replace(request, paths=paths), everything=everything)
            for stack, paths in asked.items()
        }
        reports = [report for report in found.values() if report is not None]
        whole = reports[0] if len(reports) == 1 else _together(request, reports)
        left_out = {stack.name: "could not be run here" for stack, report in found.items() if report is None}
        return whole.model_copy(update={"tools": {**whole.tools, **left_out}}) if left_out else whole

    def _report(self, stack: Stack, request: RunRequest, *, everything: bool) -> RunReport | None:
        """Who asks for everything gets what can be run here; who asks for a stack is told why it cannot."""
        try:
            return self._of_stack(stack, request)
        except SetupProblem:
            if not everything or stack == self._stacks[0]:
                raise
            return None

    def _of_stack(self, stack: Stack, request: RunRequest) -> RunReport:
        runner = self._runner(stack)
        if not stack.judged_inside:
            return runner.run(replace(request, stack=None))
        report = runner.run(_local(request, stack, self._subtree(request.code_tree, stack.root)))
        return placed(report, stack.root).model_copy(update={"code_tree": request.code_tree})

    def _asked(self, request: RunRequest) -> dict[Stack, tuple[str, ...]]:
        if request.stack is not None:
            return {request.stack: request.paths}
        if not request.paths:
            return dict.fromkeys(self._stacks, ())
        found: dict[Stack, tuple[str, ...]] = {}
        for path in request.paths:
            stack = stack_of([path], self._stacks, ENDINGS)
            found[stack] = (*found.get(stack, ()), path)
        return found

    def start_bite(self, request: BiteRequest) -> Callable[[], Bite]:
        return self._of_tests(request).start_bite(request)

    def start_parity(self, request: ParityRequest) -> Callable[[], Parity]:
        return self._of_tests(request).start_parity(request)

    def _of_tests(self, request: BiteRequest | ParityRequest) -> IdentifiedRunner:
        files = (test.partition("::")[0] for test in request.tests)
        return self._runner(request.stack or stack_of(files, self._stacks, ENDINGS))


def _local(request: RunRequest, stack: Stack, tree: str) -> RunRequest:
    """The request as it is seen from the stack's root. What lies outside of it is not there."""
    places = (place for place in request.canary_dirs if place == stack.root or stack.holds(place))
    return replace(
        request,
        code_tree=tree,
        stack=None,
        paths=tuple(map(stack.local, request.paths)),
        restore={stack.local(path): blob for path, blob in request.restore.items() if stack.holds(path)},
        canary_dirs=tuple("." if place == stack.root else stack.local(place) for place in places),
    )


def _together(request: RunRequest, reports: list[RunReport]) -> RunReport:
    """As honest as the least honest of them, and as sandboxed as the least."""
    worst = min(reports, key=lambda report: len(report.sandbox))
    statuses = [report.exit_status for report in reports]
    return RunReport(
        code_tree=request.code_tree,
        command=tuple(word for report in reports for word in report.command),
        tools={name: version for report in reports for name, version in report.tools.items()},
        order=request.order,
        hash_seed=request.hash_seed,
        results=tuple(result for report in reports for result in report.results),
        collect_errors=tuple(error for report in reports for error in report.collect_errors),
        exit_status=None if None in statuses else max(status or 0 for status in statuses),
        seconds=sum(report.seconds for report in reports),
        sandbox=worst.sandbox,
        problems=tuple(problem for report in reports for problem in report.problems),
        canary_dirs=tuple(sorted({place for report in reports for place in report.canary_dirs})),
    )
