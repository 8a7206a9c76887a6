"""Clean runs of pytest: a fresh checkout and environment, secret result files, canaries and a trustworthy report."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prd2pr import __version__
from prd2pr.config import TestRun
from prd2pr.domain.evidence import RunReport
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.isolation import list_missing_protections
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.languages.early_runs import EarlyRun
from prd2pr.languages.python.mutation import overfitting
from prd2pr.languages.python.runner.canary import Canary, choose_directories, place_canaries
from prd2pr.languages.python.runner.differential_protocol import (
    build_differential_parameters,
    make_control,
    read_differential_result,
)
from prd2pr.languages.python.runner.events import ObservedRun, read_events
from prd2pr.languages.python.runner.file_integrity import ExportedFiles, find_changed_files, record_exported_files
from prd2pr.languages.python.runner.honesty import RunObservations, find_run_problems
from prd2pr.languages.python.runner.junit import JUnitKey, JUnitUnreadable, JUnitVerdict, read_junit
from prd2pr.languages.python.runner.mutation_protocol import (
    QUIET_OPTIONS,
    build_mutation_parameters,
    read_mutation_result,
)
from prd2pr.languages.python.runner.prewarmed_process import PrewarmedPool, PrewarmedProcess, RunDirectories
from prd2pr.languages.python.runner.project import PytestProject, load_pytest_project
from prd2pr.languages.python.runner.results import ResultContext, collect_results
from prd2pr.languages.python.test_naming import TestNaming
from prd2pr.languages.test_runner import (
    DifferentialRequest,
    Export,
    LineReport,
    MutationRequest,
    RunRequest,
    SurveyResult,
)
from prd2pr.sandbox.child_process import DiskUse
from prd2pr.sandbox.interpreter import compute_tools_digest, find_interpreter_paths
from prd2pr.sandbox.links import remove_external_links
from prd2pr.sandbox.process import ProcessRecord

MUTATION_PROBES = (
    "launcher",
    "guard",
    "mutation",
    "forks",
    "patches",
    "line_tracer",
    "collection",
    "clock",
    "flakiness",
    "return_values",
)
REPLAY_PROBES = ("call_recorder", "call_replay", "outside_calls", "nearby_inputs", "side_effect_guard")
DIFFERENTIAL_PROBES = ("value_recipes", "recipe_recorder", "input_variation", "calls", "differential")
PROBES = Path(__file__).parents[1] / "probes"
LAUNCHED_FILES = tuple(PROBES / f"{name}.py" for name in (*MUTATION_PROBES, *REPLAY_PROBES, *DIFFERENTIAL_PROBES))
OVERFITTING_FILE = Path(overfitting.__file__)  # its verdict is part of the cached result


@dataclass(frozen=True)
class CheckoutState:
    """The checkout before the run."""

    modules: dict[str, str]  # test modules, path -> text
    before: ExportedFiles
    naming: TestNaming


class PytestRunner:
    """Runs pytest with a given interpreter."""

    def __init__(
        self,
        git_export: Export,
        python: Path,
        settings: TestRun | None = None,
        *,
        many: bool = False,
        sandboxed: bool = True,
    ) -> None:
        """Create a runner. It uses a sandbox if `sandboxed` is true and the machine allows it.

        Set `many` if several runs follow each other, so that the next process is started in advance.
        """
        self._export = git_export
        self.python = python
        self._settings = settings or TestRun()
        self._identity = ""
        self._pool = PrewarmedPool(python, sandboxed=sandboxed, seconds=self._settings.timeout_seconds)
        self._many = many
        self._background: _BackgroundRun | None = None
        if many:
            self.expect()

    def identity(self) -> str:
        """Return a digest for caches of all inputs on which a result depends, except the request."""
        if not self._identity:
            launched = [path.read_text(encoding="utf-8") for path in (*LAUNCHED_FILES, OVERFITTING_FILE)]
            command = [__version__, str(self.python), *self._settings.args, self.sandbox(), *launched]
            self._identity = compute_tools_digest(self.python, command)
        return self._identity

    def sandbox(self) -> str:
        """Return the isolation that runs will use, in the terms of `domain.results.isolation`."""
        return self._pool.sandbox.protections

    def expect(self, hash_seed: int = 0) -> None:
        """Start loading pytest for an upcoming run."""
        self._pool.start(hash_seed)

    def isolates_runs(self) -> bool:
        """Return whether each run has its own network, processes and files."""
        return not list_missing_protections(self.sandbox())

    def start_early_run(self, request: RunRequest, *, in_parallel: bool) -> EarlyRun | None:
        if in_parallel and not self.isolates_runs():
            return None
        return EarlyRun(lambda given_up: self.run(request, given_up))

    def run(self, request: RunRequest, given_up: threading.Event | None = None) -> RunReport:
        return self._observe(request, given_up)[0]

    def survey(self, request: RunRequest) -> SurveyResult:
        report, observed = self._observe(request, survey=True)
        return SurveyResult(report, observed.reached if report.honest else None)

    def measure_coverage(self, code_tree: str) -> LineReport | None:
        if not any((place / "coverage").is_dir() for place in find_interpreter_paths(self.python).paths):
            return None
        report, observed = self._observe(RunRequest(code_tree), coverage=True)
        return observed.lines if report.honest else None

    def _observe(
        self, request: RunRequest, given_up: threading.Event | None = None, **more: bool
    ) -> tuple[RunReport, ObservedRun]:
        """Run the tests with canaries. `more` are additional parameters of the launcher.

        `given_up` is set when the result is no longer needed.
        """
        with self._pool.take(request.hash_seed) as prewarmed:
            directories = prewarmed.directories
            self._export(request.code_tree, directories.checkout, dict(request.restore))
            remove_external_links(directories.checkout)
            project = load_pytest_project(directories.checkout)
            modules = _read_test_modules(directories.checkout, project)
            requested = (*request.canary_dirs, *(_get_parent(path, directories.checkout) for path in request.paths))
            canary_directories = choose_directories(project, modules, requested)
            canaries = place_canaries(directories.checkout, project, canary_directories)
            prewarmed.give_checkout_to_tests()
            before = record_exported_files(directories.checkout, project)
            parameters = self._parameters(request, directories, project, canaries, before)
            self._send(request, prewarmed, {**parameters, **more})
            watched = self._follow(prewarmed, given_up)
            if not watched.killed:
                self._pool.start(*self._next_hash_seeds(request), *request.later)  # a core is idle now
            observed = read_events(watched.events, directories.nonce)
            checkout_state = CheckoutState(modules, before, project.naming)
            return self._report(request, directories, watched, observed, canaries, checkout_state), observed

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]:
        """Start a mutation run in the background and return a function that waits for its result."""

        def make_parameters(directories: RunDirectories, canaries: list[Canary]) -> dict[str, Any]:
            texts = {each.path: (directories.checkout / each.path).read_text(encoding="utf-8") for each in canaries}
            return {"mutation": build_mutation_parameters(request, canaries, texts)}

        run, directories, _ = self._start_background(request, make_parameters)

        def result() -> MutationResult:
            watched = run.watched()
            if watched is None:
                return MutationResult(problems=("the mutation run could not be monitored to its end",))
            return read_mutation_result(watched, directories.nonce, request, directories.all)

        return result

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]:
        """Start a differential run in the background and return a function that waits for its result."""
        control = make_control()

        def make_parameters(directories: RunDirectories, canaries: list[Canary]) -> dict[str, Any]:
            (directories.checkout / control.path).write_text(control.new, encoding="utf-8")
            return {"differential": build_differential_parameters(request, canaries, control)}

        run, directories, canaries = self._start_background(request, make_parameters)

        def result() -> DifferentialResult:
            watched = run.watched()
            if watched is None:
                return DifferentialResult(problems=("the differential run could not be monitored to its end",))
            return read_differential_result(watched, directories.nonce, request, canaries[0], directories.all)

        return result

    def _start_background(
        self,
        request: MutationRequest | DifferentialRequest,
        make_parameters: Callable[[RunDirectories, list[Canary]], dict[str, Any]],
    ) -> tuple[_BackgroundRun, RunDirectories, list[Canary]]:
        """Run some of the tests in a clean checkout in the background, for a mutation or differential run."""
        with ExitStack() as stack:
            prewarmed = stack.enter_context(self._pool.take(request.hash_seed))
            directories = prewarmed.directories
            self._pool.start(0)  # for the run that follows in the meantime
            self._export(request.code_tree, directories.checkout, dict(request.restore))
            remove_external_links(directories.checkout)
            project = load_pytest_project(directories.checkout)
            place = request.tests[0].partition("::")[0].rpartition("/")[0] or "."
            canaries = place_canaries(directories.checkout, project, [(place, True)])
            extra = make_parameters(directories, canaries)
            prewarmed.give_checkout_to_tests()
            run_request = RunRequest(request.code_tree, hash_seed=request.hash_seed)
            parameters = self._parameters(
                run_request, directories, project, canaries, record_exported_files(directories.checkout, project)
            )
            junit_options = (f"--junitxml={directories.junit}", "--override-ini=junit_family=xunit1")
            arguments = [argument for argument in parameters["args"] if argument not in junit_options]
            prewarmed.started.send({**parameters, "args": [*arguments, *QUIET_OPTIONS], **extra})
            self._background = _BackgroundRun(stack.pop_all(), prewarmed, self._settings)
            return self._background, directories, canaries

    # --- running ------------------------------------------------------------------------------------------------------

    def _send(self, request: RunRequest, prewarmed: PrewarmedProcess, parameters: dict[str, Any]) -> None:
        prewarmed.started.send(parameters)
        # A third process would slow down the two that are needed now.
        if self._background is None or self._background.is_finished():
            self._pool.start(*self._next_hash_seeds(request))

    def _next_hash_seeds(self, request: RunRequest) -> tuple[int, ...]:
        """Return the hash seeds of the runs that are expected next."""
        likely = (0,) if self._many else ()
        return likely if request.followed_by is None else request.followed_by

    def _follow(self, prewarmed: PrewarmedProcess, given_up: threading.Event | None) -> ProcessRecord:
        return prewarmed.started.follow(
            timeout_seconds=self._settings.timeout_seconds,
            stall_seconds=self._settings.stall_seconds,
            full=DiskUse(prewarmed.directories.writable).is_exceeded,
            given_up=given_up,
        )

    def _parameters(
        self,
        request: RunRequest,
        directories: RunDirectories,
        project: PytestProject,
        canaries: list[Canary],
        before: ExportedFiles,
    ) -> dict[str, Any]:
        return {
            "nonce": directories.nonce,
            "checkout": str(directories.checkout),
            "locked": before.locked_modules,
            "imported_as": before.imported_as(),
            "named": project.named,
            "plugin_args": {
                "xdist": ["--numprocesses=0"],  # a single process, so that every report is seen
                "pytest_cov": ["--no-cov"],  # canaries would distort the coverage
                "randomly": [f"--randomly-seed={request.hash_seed}"],
            },
            "only": [*request.paths, *(canary.path for canary in canaries)] if request.paths else [],
            "reverse": request.order == "reversed",
            "args": [
                *self._arguments(project, [*(canary.path for canary in canaries), *request.paths]),
                *self._path_arguments(directories, project),
                *_make_root_arguments(project, canaries),
            ],
        }

    def _arguments(self, project: PytestProject, paths: list[str]) -> list[str]:
        """Return the options of this run.

        They follow the project's own addopts, which stay in effect unless they would cut the run short.
        """
        unmatched = [path for path in paths if path.endswith(".py") and not project.naming.is_module(path)]
        return [
            *self._settings.args,
            "--maxfail=0",
            "--continue-on-collection-errors",
            "--color=no",
            "--tb=short",
            "--verbosity=2",  # show the values of a failed assertion in full
            *([f"--override-ini=python_files={' '.join([*project.naming.files, *unmatched])}"] if unmatched else []),
        ]

    def _path_arguments(self, directories: RunDirectories, project: PytestProject) -> list[str]:
        """Return the options that name directories of this run."""
        cached = not any(option.endswith("no:cacheprovider") for option in project.addopts)
        return [
            f"--rootdir={directories.checkout}",
            f"--confcutdir={directories.checkout}",
            f"--junitxml={directories.junit}",
            "--override-ini=junit_family=xunit1",
            *([f"--override-ini=cache_dir={directories.scratch / 'cache'}"] if cached else []),
        ]

    # --- reporting ----------------------------------------------------------------------------------------------------

    def _report(  # noqa: PLR0917 all records of a run
        self,
        request: RunRequest,
        directories: RunDirectories,
        watched: ProcessRecord,
        observed: ObservedRun,
        canaries: list[Canary],
        checkout_state: CheckoutState,
    ) -> RunReport:
        observed.problems += find_changed_files(checkout_state.before, observed.collected or ())
        results = collect_results(
            observed,
            ResultContext(checkout_state.modules, directories.all, checkout_state.naming),
            killed=bool(watched.killed),
        )
        by_id = {result.id: result for result in results.tests}
        testimony = RunObservations(
            observed=observed,
            exit_status=watched.exit_status,
            killed=watched.killed,
            seconds=watched.seconds,
            junit=_try_read_junit(directories.junit),
            output=watched.output,
            canaries=canaries,
            results=by_id,
            hidden=directories.all,
            complaint=watched.complaint,
        )
        return RunReport(
            code_tree=request.code_tree,
            command=("pytest", *self._settings.args, *request.paths),
            tools=observed.tools,
            order=request.order,
            hash_seed=request.hash_seed,
            results=tuple(result for result in results.tests if not any(canary.owns(result.id) for canary in canaries)),
            collect_errors=results.collect_errors,
            exit_status=watched.exit_status,
            seconds=round(watched.seconds, 3),
            sandbox=watched.sandbox,
            problems=find_run_problems(testimony),
            canary_dirs=tuple(canary.directory for canary in canaries),
        )


class _BackgroundRun:
    """Follows a run in its own thread."""

    def __init__(self, resources: ExitStack, prewarmed: PrewarmedProcess, settings: TestRun) -> None:
        self._resources, self._spare, self._settings = resources, prewarmed, settings
        self._watched: ProcessRecord | None = None
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self) -> None:
        with self._resources:
            self._watched = self._spare.started.follow(
                timeout_seconds=self._settings.timeout_seconds,
                stall_seconds=max(self._settings.stall_seconds, 60),
                full=DiskUse(self._spare.directories.writable).is_exceeded,
            )

    def is_finished(self) -> bool:
        return not self._thread.is_alive()

    def watched(self) -> ProcessRecord | None:
        self._thread.join()
        return self._watched


def _try_read_junit(path: Path) -> dict[JUnitKey, JUnitVerdict] | str:
    try:
        return read_junit(path)
    except JUnitUnreadable as problem:
        return str(problem)


def _read_test_modules(checkout: Path, project: PytestProject) -> dict[str, str]:
    found = {}
    for path in sorted(checkout.rglob("*.py")):
        name = path.relative_to(checkout).as_posix()
        if project.naming.is_module(name) and path.is_file() and not path.is_symlink():
            found[name] = path.read_text(encoding="utf-8", errors="replace")
    return found


def _get_parent(path: str, checkout: Path) -> str:
    return path if (checkout / path).is_dir() else path.rpartition("/")[0]


def _make_root_arguments(project: PytestProject, canaries: list[Canary]) -> list[str]:
    """Return the paths to pass to pytest, or an empty list if its own testpaths are enough.

    Directories outside the testpaths have to be named.
    """
    if not project.testpaths:
        return []
    requested = [canary.directory for canary in canaries if canary.requested]
    outside = [place for place in requested if not any(_is_within(place, root) for root in project.testpaths)]
    return [*project.testpaths, *outside] if outside else []


def _is_within(place: str, root: str) -> bool:
    return root in {".", place} or place.startswith(f"{root}/")
