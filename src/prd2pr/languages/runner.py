"""Clean test runs outside Python, for each `RunnerKind`. They are as isolated as those of pytest."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prd2pr import __version__
from prd2pr.config import TestRun
from prd2pr.domain.evidence import RunReport
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.isolation import list_missing_protections
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.stack import Stack
from prd2pr.domain.timeouts import describe_stopped_run
from prd2pr.languages.base import Language
from prd2pr.languages.golang.standard_library import build_standard_library
from prd2pr.languages.mutation_plan import Edit
from prd2pr.languages.mutation_runs import MutationRun
from prd2pr.languages.project.dependencies import Dependencies
from prd2pr.languages.project.toolchain import Toolchain, locate_toolchain
from prd2pr.languages.python.runner.canary_text import ASPECTS, SUBJECTS
from prd2pr.languages.python.runner.prewarmed_process import RunDirectories, make_run_directories
from prd2pr.languages.registry import get_language, get_runner_kind
from prd2pr.languages.results import CompletedRun, judge_run
from prd2pr.languages.runner_kinds import CanaryTests, ProgramOutput, RunnerContext, RunnerKind, RunnerProgram
from prd2pr.languages.test_runner import DifferentialRequest, Export, MutationRequest, RunRequest
from prd2pr.sandbox.child_process import Child, DiskUse, PipeEnds
from prd2pr.sandbox.detection import (
    NO_SANDBOX,
    Sandbox,
    SandboxPaths,
    change_owner,
    choose_user,
    find_sandbox,
    start_test_process,
)
from prd2pr.sandbox.links import remove_external_links
from prd2pr.sandbox.process import ProcessRecord, StartedProcess

Edits = Mapping[str, tuple[Edit, ...]]  # path → faults as start, end and text

LAUNCHER = Path(__file__).with_name("programs") / "launcher.py"
IGNORED_DIRECTORIES = frozenset({"node_modules", "vendor", "target", ".git"})
_CANARY_NAMES = 6


@dataclass(frozen=True)
class PreparedRun:
    """A run whose checkout and programs are ready."""

    request: RunRequest
    context: RunnerContext
    programs: tuple[tuple[RunnerProgram, str], ...]  # programs with their secrets
    canaries: tuple[CanaryTests, ...]
    written: Mapping[str, bytes]  # digests of the language's files when the run started


class LanguageRunner:
    """A `TestRunner` for one stack."""

    def __init__(
        self,
        git_export: Export,
        stack: Stack,
        dependencies: Dependencies,
        settings: TestRun | None = None,
        *,
        sandboxed: bool = True,
    ) -> None:
        self.stack = stack
        self._export = git_export
        self._dependencies = dependencies
        self._settings = settings or TestRun()
        self._sandboxed = sandboxed
        self._kind: RunnerKind = get_runner_kind(stack.runner)
        self._language: Language = get_language(stack.language)
        self._tools: Toolchain | None = None

    @property
    def _programs_directory(self) -> Path:
        """The directory of prd2pr's own programs for this runner."""
        return Path(__file__).parent / self._kind.home

    @property
    def tools(self) -> Toolchain:
        if self._tools is None:
            self._tools = locate_toolchain(self._kind, self.stack)
        return self._tools

    def identity(self) -> str:
        """Return a digest for result caches of all inputs on which a result depends, except the request."""
        ours = [
            path.read_text(encoding="utf-8")
            for path in (LAUNCHER, *sorted(self._programs_directory.iterdir()))
            if path.is_file()
        ]
        parts = [
            __version__,
            repr(self.stack),
            self.tools.version,
            *self._settings.args,
            self.sandbox().protections,
            *ours,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def sandbox(self) -> Sandbox:
        return find_sandbox(Path(sys.executable)) if self._sandboxed else NO_SANDBOX

    def expect(self, hash_seed: int = 0) -> None:
        """Do nothing, because processes of these languages cannot be started before their parameters are known."""

    def isolates_runs(self) -> bool:
        return not list_missing_protections(self.sandbox().protections)

    def start_early_run(self, request: RunRequest, *, in_parallel: bool) -> None:
        """Do nothing, because these tools use all cores and their caches do not support concurrent runs."""

    def run(self, request: RunRequest) -> RunReport:
        return self.run_with_edits(request, {})

    def run_with_edits(self, request: RunRequest, edits: Edits, most_seconds: float | None = None) -> RunReport:
        """Run the tests with `edits` applied to the checkout. Such a run may time out."""
        sandbox = self.sandbox()
        directories = make_run_directories(choose_user(sandbox.privilege))
        try:
            prepared = self._prepare_run(request, directories, edits)
            change_owner(directories.user, (directories.checkout.parent, directories.secret), sandbox.privilege)
            watched = self._watched(prepared, directories, sandbox, most_seconds or self._settings.timeout_seconds)
            return self._report(prepared, directories, watched)
        finally:
            directories.clear()

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]:
        """Start mutation testing in a thread. The returned function waits for the result."""
        mutation_run = MutationRun(self.run_with_edits, request)
        thread = threading.Thread(target=mutation_run.do)
        thread.start()

        def result() -> MutationResult:
            thread.join()
            return mutation_run.result

        return result

    def start_differential_run(self, _: DifferentialRequest) -> Callable[[], DifferentialResult]:
        """Return a result with a problem, because comparing old and new code is supported only for Python.

        Verdicts report the check as missing.
        """
        return lambda: DifferentialResult(problems=(f"old and new code are not compared in {self.stack.language}",))

    # --- before -------------------------------------------------------------------------------------------------------

    def _prepare_run(self, request: RunRequest, directories: RunDirectories, edits: Edits) -> PreparedRun:
        self._export(request.code_tree, directories.checkout, dict(request.restore))
        remove_external_links(directories.checkout)
        for path, made in edits.items():
            _apply_edits(directories.checkout / path, made)
        texts = self._read_test_files(directories.checkout)
        selected = tuple(path for path in texts if not request.paths or _is_selected(path, request.paths))
        canaries = tuple(self._write_canaries(directories.checkout, {path: texts[path] for path in selected}))
        self._dependencies.link(self.stack, directories.checkout)
        context = RunnerContext(
            stack=self.stack,
            checkout=str(directories.checkout),
            secret=str(directories.secret),
            ours=str(self._programs_directory),
            scratch=str(directories.scratch),
            python=sys.executable,
            texts=texts,
            whole=not request.paths,
            is_reversed=request.order == "reversed",
            arguments=self._settings.args,
            built=str(self._built(directories.checkout) or ""),
        )
        programs = self._kind.programs(context, selected) if selected or not texts else ()
        secret = tuple((each, secrets.token_hex(16)) for each in programs)
        return PreparedRun(request, context, secret, canaries, self._digests(directories.checkout))

    def _built(self, checkout: Path) -> Path | None:
        """Build Go's standard library, because newer versions do not include it prebuilt."""
        if self._kind.executable != "go":
            return None
        return build_standard_library(checkout, self._dependencies.directory, self.tools, self.stack)

    def _read_test_files(self, checkout: Path) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in sorted(_walk_files(checkout / self.stack.root)):
            name = path.relative_to(checkout).as_posix()
            if self._language.owns(name) and self._language.is_test_file(name):
                found[name] = path.read_text(encoding="utf-8", errors="replace")
        return found

    def _digests(self, checkout: Path) -> dict[str, bytes]:
        return {
            path.relative_to(checkout).as_posix(): hashlib.sha256(path.read_bytes()).digest()
            for path in _walk_files(checkout)
            if self._language.owns(path.name)
        }

    def _write_canaries(self, checkout: Path, texts: Mapping[str, str]) -> list[CanaryTests]:
        draw = secrets.SystemRandom()
        found = []
        for path, text in texts.items():
            canary = self._kind.make_canary(path, text, _draw_canary_names(draw))
            if canary is not None:
                place = checkout / canary.path
                written = canary.text if canary.is_new else text + canary.text
                place.write_text(written, encoding="utf-8")
                found.append(canary)
        return found

    # --- the run ------------------------------------------------------------------------------------------------------

    def _watched(
        self, prepared: PreparedRun, directories: RunDirectories, sandbox: Sandbox, most_seconds: float
    ) -> ProcessRecord:
        python = Path(sys.executable)
        built = (Path(prepared.context.built),) if prepared.context.built else ()
        readable = (
            *self.tools.readable_paths,
            *self._dependencies.list_readable_paths(self.stack, directories.checkout),
            *built,
        )
        places = SandboxPaths(
            directories.checkout.parent, directories.writable, directories.home, directories.checkout, readable
        )
        command = [str(python), "-I", "-S", "-B", str(LAUNCHER)]
        environment = self._environment(directories)

        def begin(ends: PipeEnds) -> Child:
            seconds = self._settings.timeout_seconds
            return start_test_process(
                sandbox, python, command, environment, places, user=directories.user, seconds=seconds, ends=ends
            )

        started = StartedProcess(begin)
        started.send({"nonce": directories.nonce, "programs": [*self._programs(prepared, environment)]})
        return started.follow(
            timeout_seconds=min(most_seconds, self._settings.timeout_seconds),
            stall_seconds=self._settings.stall_seconds,
            full=DiskUse(directories.writable).is_exceeded,
        )

    def _environment(self, directories: RunDirectories) -> dict[str, str]:
        """Return a clean environment. `CI` is set so that runners write no new snapshots."""
        return {
            "PATH": self.tools.path,
            "LANG": "C.UTF-8",
            "HOME": str(directories.home),
            "TMPDIR": str(directories.scratch),
            "CI": "true",
            "NO_COLOR": "1",
            **self.tools.environment,
        }

    @staticmethod
    def _programs(prepared: PreparedRun, environment: Mapping[str, str]) -> list[dict[str, Any]]:
        return [
            {
                "argv": list(program.argv),
                "directory": prepared.context.directory,
                "environment": {**environment, **program.environment},
                "parameters": dict(program.parameters),
                "results": program.results,
                "secret": secret,
            }
            for program, secret in prepared.programs
        ]

    def _find_rewritten_files(self, prepared: PreparedRun, checkout: Path) -> list[str]:
        """Return a problem for each file that changed during the run.

        Such a change could have affected tests that ran later.
        """
        now = self._digests(checkout)
        changed = [path for path, digest in prepared.written.items() if now.get(path) != digest]
        return [f"{path} was changed while the tests ran" for path in sorted(changed)[:3]]

    # --- after --------------------------------------------------------------------------------------------------------

    def _report(self, prepared: PreparedRun, directories: RunDirectories, watched: ProcessRecord) -> RunReport:
        outputs, ended, foreign = _parse_events(watched, directories.nonce, prepared.programs)
        killed = describe_stopped_run("the run", watched.killed, watched.seconds) if watched.killed else ""
        run = CompletedRun(self._kind, self._language, prepared.context, outputs, prepared.canaries, killed)
        found = judge_run(run)
        problems = [*found.problems, *foreign, *self._find_rewritten_files(prepared, directories.checkout)]
        if not ended and not killed:
            problems.append(watched.complaint or f"the run ended (status {watched.exit_status}) before its programs")
        return RunReport(
            code_tree=prepared.request.code_tree,
            command=(self.stack.runner, *self._settings.args, *prepared.request.paths),
            tools={**self.tools.versions, **found.tools},
            order=prepared.request.order,
            hash_seed=prepared.request.hash_seed,
            results=found.tests,
            collect_errors=found.collect_errors,
            exit_status=None if watched.killed else max((abs(each.status or 0) for each in outputs), default=0),
            seconds=round(watched.seconds, 3),
            sandbox=watched.sandbox,
            problems=tuple(dict.fromkeys(problems)),
            canary_dirs=tuple(
                sorted(
                    {each.path.rpartition("/")[0] or "." for each in prepared.canaries}
                    | set(prepared.request.canary_dirs)
                )
            ),
        )


def _walk_files(checkout: Path) -> Iterator[Path]:
    """Yield regular files, except dependencies and build output."""
    for directory, folders, names in os.walk(checkout):
        folders[:] = [name for name in folders if name not in IGNORED_DIRECTORIES]
        for name in names:
            path = Path(directory, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _apply_edits(path: Path, edits: tuple[Edit, ...]) -> None:
    """Apply the edits from the end to the beginning, so that offsets stay valid."""
    data = path.read_bytes()
    for begin, end, text in sorted(edits, reverse=True):
        data = data[:begin] + text.encode() + data[end:]
    path.write_bytes(data)


def _is_selected(path: str, wanted: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in wanted)


def _draw_canary_names(draw: secrets.SystemRandom) -> tuple[str, ...]:
    """Return five distinct ordinary titles and two numbers."""
    titles: set[str] = set()
    while len(titles) < _CANARY_NAMES:
        titles.add(f"{draw.choice(SUBJECTS.split())} {draw.choice(ASPECTS.split())}")
    shuffled = draw.sample(sorted(titles), len(titles))
    return (*shuffled[:5], str(draw.randint(2, 900)), str(draw.randint(2, 900)))


def _parse_events(
    watched: ProcessRecord, nonce: str, programs: tuple[tuple[RunnerProgram, str], ...]
) -> tuple[tuple[ProgramOutput, ...], bool, list[str]]:
    """Return each program's output, whether the launcher finished, and problems caused by foreign lines."""
    texts: list[list[str]] = [[] for _ in programs]
    last: list[dict[str, Any]] = [{} for _ in programs]
    ended, foreign = False, []
    for line in watched.events.decode("utf-8", "replace").splitlines():
        secret, _, data = line.partition(" ")
        if secret != nonce:
            foreign.append("the event pipe contains foreign data")
            continue
        try:
            fact = json.loads(data)
        except ValueError:
            break  # truncated because the run was stopped, which is reported elsewhere
        if "output" in fact:
            texts[fact["program"]].append(fact["output"])
        elif "status" in fact:
            last[fact["program"]] = fact
        ended = ended or "end" in fact
    outputs = tuple(
        ProgramOutput(
            program=program,
            results_text="".join(texts[at]) or str(last[at].get("file", "")),
            secret=secret,
            printed=str(last[at].get("printed", "")),
            status=last[at].get("status"),
            is_truncated=bool(last[at].get("flooded")),
        )
        for at, (program, secret) in enumerate(programs)
    )
    return outputs, ended, foreign
