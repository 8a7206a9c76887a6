"""Cache of test runs: each tree is tested once, and honest reports are reused."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from prd2pr.domain.evidence import FailureKind, RunReport
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.languages.early_runs import EarlyRun
from prd2pr.languages.test_runner import DifferentialRequest, MutationRequest, RunRequest


class IdentifiedRunner(Protocol):
    def run(self, request: RunRequest) -> RunReport: ...

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]: ...

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]: ...

    def expect(self, hash_seed: int = 0) -> None: ...

    def isolates_runs(self) -> bool:
        """Whether runs at the same time cannot affect each other."""
        ...

    def start_early_run(self, request: RunRequest, *, in_parallel: bool) -> EarlyRun | None:
        """Start a run early, or return None if it must wait until it is requested.

        `in_parallel`: while other runs are in progress."""
        ...

    def identity(self) -> str:
        """Return a key that changes with the tools, their settings and the runner itself."""
        ...


class CachedRunner:
    """A `TestRunner` that caches reports: in memory, and in `directory` if given."""

    def __init__(
        self, inner: IdentifiedRunner, directory: Path | None = None, *, trusted_until: int | None = None
    ) -> None:
        """`trusted_until`, in nanoseconds: later files are ignored, since a test that ran meanwhile may have written
        them."""
        self._inner = inner
        self._directory = directory
        self._trusted_until = trusted_until
        self.found = 0  # reports read from the directory
        self.made = 0
        self._kept: dict[str, RunReport] = {}
        self._mutations: dict[str, MutationResult] = {}
        self._parities: dict[str, DifferentialResult] = {}
        self._early_runs: dict[str, EarlyRun] = {}

    def run(self, request: RunRequest) -> RunReport:
        key = self._key(request)
        known = None if request.afresh else self._kept.get(key) or self._read(key)
        if known is not None and set(request.canary_dirs) <= set(known.canary_dirs):
            self._kept[key] = known
            return known
        early_run = None if request.afresh else self._early_runs.pop(key, None)
        report = early_run.report() if early_run else None
        if report is None or not set(request.canary_dirs) <= set(report.canary_dirs):
            report = self._inner.run(request)  # the early run had no canary where this request needs one
        self.made += 1
        if is_cacheable(report):
            self._kept[key] = report
            self._write(f"{key}.json", report.model_dump_json())
        return report

    def begin(self, request: RunRequest, *, in_parallel: bool = False) -> None:
        key = self._key(request)
        if key in self._early_runs or self._kept.get(key) or self._read(key, counted=False):
            return
        early_run = self._inner.start_early_run(request, in_parallel=in_parallel)
        if early_run is not None:
            self._early_runs[key] = early_run

    def isolates_runs(self) -> bool:
        return self._inner.isolates_runs()

    def discard_early_runs(self) -> None:
        while self._early_runs:
            self._early_runs.popitem()[1].cancel()

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]:
        key = self._mutation_key(request)
        known = self._mutations.get(key) or self._read_mutation(key)
        if known is not None:
            return lambda: known
        wait = self._inner.start_mutation_run(request)

        def result() -> MutationResult:
            mutation = wait()
            if not mutation.problems:
                self._mutations[key] = mutation
                self._write(f"{key}.bite", mutation.model_dump_json())
            return mutation

        return result

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]:
        key = self._parity_key(request)
        known = self._parities.get(key) or self._read_parity(key)
        if known is not None:
            return lambda: known
        wait = self._inner.start_differential_run(request)

        def result() -> DifferentialResult:
            parity = wait()
            if not parity.problems:
                self._parities[key] = parity
                self._write(f"{key}.parity", parity.model_dump_json())
            return parity

        return result

    def without_cache(self) -> CachedRunner:
        """Return the same runner with an empty cache."""
        return CachedRunner(self._inner)

    def expect(self, hash_seed: int = 0) -> None:
        self._inner.expect(hash_seed)

    def _key(self, request: RunRequest) -> str:
        """Return the key of everything a result depends on. Canary directories are in the report itself."""
        parts = [
            request.code_tree,
            sorted(request.restore.items()),
            sorted(request.paths),
            request.order,
            request.hash_seed,
            self._inner.identity(),
            *([request.stack.name] if request.stack else []),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _mutation_key(self, request: MutationRequest) -> str:
        faults = asdict(request.plan)
        parts = [request.code_tree, sorted(request.restore.items()), sorted(request.tests), faults, request.most]
        parts += [request.ways, request.hash_seed, self._inner.identity()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _parity_key(self, request: DifferentialRequest) -> str:
        asked = [request.code_tree, sorted(request.restore.items()), sorted(request.tests), request.partial]
        parts = [*asked, asdict(request.plan), self._inner.identity()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _read_parity(self, key: str) -> DifferentialResult | None:
        content = self._content(f"{key}.parity")
        try:
            parity = DifferentialResult.model_validate_json(content) if content is not None else None
        except ValidationError:
            return None
        return None if parity is None or parity.problems else parity

    def _read_mutation(self, key: str) -> MutationResult | None:
        content = self._content(f"{key}.bite")
        try:
            mutation = MutationResult.model_validate_json(content) if content is not None else None
        except ValidationError:
            return None
        return None if mutation is None or mutation.problems else mutation

    def _read(self, key: str, *, counted: bool = True) -> RunReport | None:
        content = self._content(f"{key}.json")
        try:
            report = RunReport.model_validate_json(content) if content is not None else None
        except ValidationError:
            return None  # damaged: run again
        if report is None or not is_cacheable(report):
            return None
        self.found += counted
        return report

    def _content(self, name: str) -> bytes | None:
        if self._directory is None:
            return None
        try:
            with (self._directory / name).open("rb") as file:
                # Only root can set the inode's change time back.
                late = self._trusted_until is not None and os.fstat(file.fileno()).st_ctime_ns > self._trusted_until
                return None if late else file.read()
        except OSError:
            return None

    def _write(self, name: str, content: str) -> None:
        if self._directory is None:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(dir=self._directory, prefix=".")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        Path(made).replace(self._directory / name)


def is_cacheable(report: RunReport) -> bool:
    """Whether the report is about the tree: a timeout or a dishonest run is not."""
    timed_out = any(result.failure and result.failure.kind == FailureKind.TIMEOUT for result in report.results)
    return report.honest and report.exit_status is not None and not timed_out
