"""Run the tests of a repository with several stacks: send each run to its stack's runner and merge the reports."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from prd2pr.config import Config
from prd2pr.domain.evidence import RunReport
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.stack import Stack, find_stack, is_python_stack
from prd2pr.domain.stack_policy import ENDINGS
from prd2pr.errors import SetupProblem
from prd2pr.languages.project.dependencies import Dependencies
from prd2pr.languages.project.installation import Installer, list_machine_tools
from prd2pr.languages.stack_paths import prefix_paths
from prd2pr.languages.test_runner import (
    CoverageMeter,
    DifferentialRequest,
    FileLines,
    LineReport,
    MutationRequest,
    PythonRunner,
    RunRequest,
)
from prd2pr.sandbox.interpreter import learn_installed_interpreter
from prd2pr.verification.run_cache import IdentifiedRunner


def open_dependencies(cache: Path, config: Config, read_base: Callable[[str], bytes | None]) -> Dependencies:
    """Open the directory of installed dependencies. `PRD2PR_DEPENDENCIES` may name one that several clones share."""
    shared = os.environ.get("PRD2PR_DEPENDENCIES")
    programs = config.permissions.programs
    installer = Installer(sandboxed=config.sandbox != "off", variables=config.setup_variables, programs=programs)
    return Dependencies(Path(shared) if shared else cache / "dependencies", installer, read_base)


def prepare_python(dependencies: Dependencies, stack: Stack, given: Mapping[str, bytes]) -> Path:
    """Run the stack's set-up commands with the manifests of the base commit, and return the stack's interpreter."""
    place = dependencies.prepare(stack, given)
    python = place / ".venv" / "bin" / "python"
    if not python.is_file():
        raise SetupProblem(
            f"the setup of {stack.name} did not create `.venv`, whose Python runs the tests",
            where="; ".join(" ".join(command) for command in stack.setup),
            remedy="start with `python3 -m venv .venv` and install into it: `.venv/bin/pip install …`",
        )

    def run(command: Sequence[str]) -> str | None:
        status, output = dependencies.installer.run(command, place, installs=False)
        return output if status == 0 else None

    return learn_installed_interpreter(python, place, list_machine_tools(), run)


class MultiStackRunner:
    """A `TestRunner` that opens a stack's runner at the first request for that stack.

    A stack below the repository's root runs in its own directory. `subtree` returns the tree of that directory.
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
        inside = stack.as_root_stack if stack.is_judged_inside else stack
        if inside not in self._opened:
            self._opened[inside] = self._open(inside)
        return self._opened[inside]

    def identity(self) -> str:
        """Return a key of all runners. Stacks whose tools are missing on this machine are left out."""
        return hashlib.sha256(repr([self._identify(stack) for stack in self._stacks]).encode()).hexdigest()

    def _identify(self, stack: Stack) -> str:
        try:
            return self._runner(stack).identity()
        except SetupProblem as problem:
            return problem.what

    def expect(self, hash_seed: int = 0) -> None:
        for runner in self._opened.values():
            runner.expect(hash_seed)

    def isolates_runs(self) -> bool:
        """Return whether concurrent runs of the stacks cannot affect each other.

        Stacks that cannot run here do not count.
        """
        return all(map(self._is_kept_apart, self._stacks))

    def _is_kept_apart(self, stack: Stack) -> bool:
        try:
            return self._runner(stack).isolates_runs()
        except SetupProblem:
            return True

    def start_early_run(self, request: RunRequest, *, in_parallel: bool) -> None:
        """Return None: a run cannot start early, because its stack is known only when the run is requested."""

    def run(self, request: RunRequest) -> RunReport:
        asked = self._asked(request)
        everything = request.stack is None and not request.paths
        found = {
            stack: self._report(stack, replace(request, paths=paths), everything=everything)
            for stack, paths in asked.items()
        }
        reports = [report for report in found.values() if report is not None]
        whole = reports[0] if len(reports) == 1 else _merge_reports(request, reports)
        left_out = {stack.name: "could not be run here" for stack, report in found.items() if report is None}
        return whole.model_copy(update={"tools": {**whole.tools, **left_out}}) if left_out else whole

    def _report(self, stack: Stack, request: RunRequest, *, everything: bool) -> RunReport | None:
        """Run the tests of a stack.

        Return None if all stacks were requested and this one cannot run on this machine.
        """
        try:
            return self._run_stack(stack, request)
        except SetupProblem:
            if not everything or stack == self._stacks[0]:
                raise
            return None

    def _run_stack(self, stack: Stack, request: RunRequest) -> RunReport:
        runner = self._runner(stack)
        if not stack.is_judged_inside:
            return runner.run(replace(request, stack=None))
        report = runner.run(_localize_request(request, stack, self._subtree(request.code_tree, stack.root)))
        return prefix_paths(report, stack.root).model_copy(update={"code_tree": request.code_tree})

    def _asked(self, request: RunRequest) -> dict[Stack, tuple[str, ...]]:
        if request.stack is not None:
            return {request.stack: request.paths}
        if not request.paths:
            return dict.fromkeys(self._stacks, ())
        found: dict[Stack, tuple[str, ...]] = {}
        for path in request.paths:
            stack = find_stack([path], self._stacks, ENDINGS)
            found[stack] = (*found.get(stack, ()), path)
        return found

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]:
        return self._choose_runner(request).start_mutation_run(request)

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]:
        return self._choose_runner(request).start_differential_run(request)

    @property
    def python(self) -> Path | None:
        runners = (self._runner(stack) for stack in self._stacks if is_python_stack(stack))
        return next((each.python for each in runners if isinstance(each, PythonRunner)), None)

    def measure_coverage(self, code_tree: str) -> LineReport | None:
        """Measure the coverage of every stack whose runner supports it."""
        tools, files = dict[str, None](), dict[str, FileLines]()
        for stack in self._stacks:
            try:
                meter = self._runner(stack)
            except SetupProblem:
                continue  # it cannot run on this machine
            inside = stack.is_judged_inside
            tree = self._subtree(code_tree, stack.root) if inside else code_tree
            if isinstance(meter, CoverageMeter) and (report := meter.measure_coverage(tree)):
                tools[report.tool] = None
                files |= {f"{stack.root}/{path}" if inside else path: each for path, each in report.files.items()}
        return LineReport(", ".join(tools), files) if tools else None

    def _choose_runner(self, request: MutationRequest | DifferentialRequest) -> IdentifiedRunner:
        files = (test.partition("::")[0] for test in request.tests)
        return self._runner(request.stack or find_stack(files, self._stacks, ENDINGS))


def _localize_request(request: RunRequest, stack: Stack, tree: str) -> RunRequest:
    """Return the request with paths relative to the stack's root, without files outside it."""
    places = (place for place in request.canary_dirs if place == stack.root or stack.contains_path(place))
    return replace(
        request,
        code_tree=tree,
        stack=None,
        paths=tuple(map(stack.to_stack_path, request.paths)),
        restore={
            stack.to_stack_path(path): blob for path, blob in request.restore.items() if stack.contains_path(path)
        },
        canary_dirs=tuple("." if place == stack.root else stack.to_stack_path(place) for place in places),
    )


def _merge_reports(request: RunRequest, reports: list[RunReport]) -> RunReport:
    """Merge the reports. The result is trusted, and counts as sandboxed, only if this is true of every report."""
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
