"""Cache of test runs, so that each tree is tested only once. Only honest reports are reused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel

from prd2pr.domain.evidence import FailureKind, RunReport
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.languages.early_runs import EarlyRun
from prd2pr.languages.test_runner import DifferentialRequest, MutationRequest, RunRequest
from prd2pr.state.cache import Cache

ProbeResult = TypeVar("ProbeResult", MutationResult, DifferentialResult)


class IdentifiedRunner(Protocol):
    def run(self, request: RunRequest) -> RunReport: ...

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]: ...

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]: ...

    def expect(self, hash_seed: int = 0) -> None: ...

    def isolates_runs(self) -> bool:
        """Return whether concurrent runs are isolated from each other."""
        ...

    def start_early_run(self, request: RunRequest, *, in_parallel: bool) -> EarlyRun | None:
        """Start a run early, or return None if it must wait until it is requested.

        `in_parallel` says that other runs are in progress at the same time.
        """
        ...

    def identity(self) -> str:
        """Return a key that changes with the tools, their settings and the runner itself."""
        ...


class CachedRunner:
    """A `TestRunner` that caches reports in memory and, if given, in `directory`."""

    def __init__(
        self, inner: IdentifiedRunner, directory: Path | None = None, *, trusted_until: int | None = None
    ) -> None:
        self._inner = inner
        self._cache = Cache(directory, trusted_until=trusted_until)
        self.found = 0  # number of reports read from the directory
        self.made = 0
        self._kept: dict[str, RunReport] = {}
        self._mutations: dict[str, MutationResult] = {}
        self._comparisons: dict[str, DifferentialResult] = {}
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
            report = self._inner.run(request)  # the early run lacks a canary that this request needs
        self.made += 1
        if is_cacheable(report):
            self._kept[key] = report
            self._write(f"{key}.json", report)
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
        known = self._mutations.get(key) or self._read_result(f"{key}.mutation", MutationResult)
        if known is not None:
            return lambda: known
        wait = self._inner.start_mutation_run(request)

        def result() -> MutationResult:
            mutation = wait()
            if not mutation.problems:
                self._mutations[key] = mutation
                self._write(f"{key}.mutation", mutation)
            return mutation

        return result

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]:
        key = self._differential_key(request)
        known = self._comparisons.get(key) or self._read_result(f"{key}.differential", DifferentialResult)
        if known is not None:
            return lambda: known
        wait = self._inner.start_differential_run(request)

        def result() -> DifferentialResult:
            comparison = wait()
            if not comparison.problems:
                self._comparisons[key] = comparison
                self._write(f"{key}.differential", comparison)
            return comparison

        return result

    def without_cache(self) -> CachedRunner:
        """Return the same runner with an empty cache."""
        return CachedRunner(self._inner)

    def expect(self, hash_seed: int = 0) -> None:
        self._inner.expect(hash_seed)

    def _key(self, request: RunRequest) -> str:
        """Return a cache key of all data on which a result depends.

        Canary directories are left out, because the report lists them.
        """
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

    def _differential_key(self, request: DifferentialRequest) -> str:
        asked = [request.code_tree, sorted(request.restore.items()), sorted(request.tests), request.partial]
        parts = [*asked, asdict(request.plan), self._inner.identity()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _read(self, key: str, *, counted: bool = True) -> RunReport | None:
        report = self._cache.read_model(f"{key}.json", RunReport)
        if report is None or not is_cacheable(report):
            return None
        self.found += counted
        return report

    def _read_result(self, name: str, kind: type[ProbeResult]) -> ProbeResult | None:
        result = self._cache.read_model(name, kind)
        return None if result is None or result.problems else result

    def _write(self, name: str, result: BaseModel) -> None:
        self._cache.write(name, result.model_dump_json().encode())


def is_cacheable(report: RunReport) -> bool:
    """Return whether the report may be reused. A report of a timeout or of a run that cannot be trusted may not."""
    timed_out = any(result.failure and result.failure.kind == FailureKind.TIMEOUT for result in report.results)
    return report.honest and report.exit_status is not None and not timed_out
