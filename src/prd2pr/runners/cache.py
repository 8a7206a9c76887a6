"""A tree is tested once: honest reports are kept and given again for the same question."""

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

from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import FailureKind, RunReport
from prd2pr.core.parity.record import Parity
from prd2pr.ports import BiteRequest, ParityRequest, RunRequest
from prd2pr.runners.ahead import RunAhead


class IdentifiedRunner(Protocol):
    def run(self, request: RunRequest) -> RunReport: ...

    def start_bite(self, request: BiteRequest) -> Callable[[], Bite]: ...

    def start_parity(self, request: ParityRequest) -> Callable[[], Parity]: ...

    def expect(self, hash_seed: int = 0) -> None: ...

    def keeps_apart(self) -> bool:
        """Whether runs at the same time cannot be in each other's way."""
        ...

    def run_ahead(self, request: RunRequest, *, beside: bool) -> RunAhead | None:
        """`beside`: another run will go on meanwhile. None: it is not begun before it is asked for."""
        ...

    def identity(self) -> str:
        """Changes with the tools, their settings and the runner itself."""
        ...


class CachedRunner:
    """Implements `ports.TestRunner`. With a directory, reports outlive the process; without one, they do not."""

    def __init__(
        self, inner: IdentifiedRunner, directory: Path | None = None, *, believed_until: int | None = None
    ) -> None:
        """`believed_until`, in nanoseconds: a file that was touched later may be the work of a test that ran since."""
        self._inner = inner
        self._directory = directory
        self._believed_until = believed_until
        self.found = 0  # in files of the directory
        self.made = 0
        self._kept: dict[str, RunReport] = {}
        self._bites: dict[str, Bite] = {}
        self._parities: dict[str, Parity] = {}
        self._ahead: dict[str, RunAhead] = {}

    def run(self, request: RunRequest) -> RunReport:
        key = self._key(request)
        known = None if request.afresh else self._kept.get(key) or self._read(key)
        if known is not None and set(request.canary_dirs) <= set(known.canary_dirs):
            self._kept[key] = known
            return known
        ahead = None if request.afresh else self._ahead.pop(key, None)
        report = ahead.report() if ahead else None
        if report is None or not set(request.canary_dirs) <= set(report.canary_dirs):
            report = self._inner.run(request)  # what was begun had no canary where this question wants one
        self.made += 1
        if worth_keeping(report):
            self._kept[key] = report
            self._write(f"{key}.json", report.model_dump_json())
        return report

    def begin(self, request: RunRequest, *, beside: bool = False) -> None:
        key = self._key(request)
        if key in self._ahead or self._kept.get(key) or self._read(key, counted=False):
            return
        ahead = self._inner.run_ahead(request, beside=beside)
        if ahead is not None:
            self._ahead[key] = ahead

    def keeps_apart(self) -> bool:
        return self._inner.keeps_apart()

    def let_go(self) -> None:
        while self._ahead:
            self._ahead.popitem()[1].give_up()

    def start_bite(self, request: BiteRequest) -> Callable[[], Bite]:
        key = self._bite_key(request)
        known = self._bites.get(key) or self._read_bite(key)
        if known is not None:
            return lambda: known
        wait = self._inner.start_bite(request)

        def result() -> Bite:
            bite = wait()
            if not bite.problems:
                self._bites[key] = bite
                self._write(f"{key}.bite", bite.model_dump_json())
            return bite

        return result

    def start_parity(self, request: ParityRequest) -> Callable[[], Parity]:
        key = self._parity_key(request)
        known = self._parities.get(key) or self._read_parity(key)
        if known is not None:
            return lambda: known
        wait = self._inner.start_parity(request)

        def result() -> Parity:
            parity = wait()
            if not parity.problems:
                self._parities[key] = parity
                self._write(f"{key}.parity", parity.model_dump_json())
            return parity

        return result

    def forgetful(self) -> CachedRunner:
        """The same runner, which knows nothing of earlier results."""
        return CachedRunner(self._inner)

    def expect(self, hash_seed: int = 0) -> None:
        self._inner.expect(hash_seed)

    def _key(self, request: RunRequest) -> str:
        """All that a result depends on. Where the canaries were is not part of it: the report itself says so."""
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

    def _bite_key(self, request: BiteRequest) -> str:
        faults = asdict(request.plan)
        parts = [request.code_tree, sorted(request.restore.items()), sorted(request.tests), faults, request.most]
        parts += [request.ways, request.hash_seed, self._inner.identity()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _parity_key(self, request: ParityRequest) -> str:
        asked = [request.code_tree, sorted(request.restore.items()), sorted(request.tests), request.partial]
        parts = [*asked, asdict(request.plan), self._inner.identity()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _read_parity(self, key: str) -> Parity | None:
        content = self._content(f"{key}.parity")
        try:
            parity = Parity.model_validate_json(content) if content is not None else None
        except ValidationError:
            return None
        return None if parity is None or parity.problems else parity

    def _read_bite(self, key: str) -> Bite | None:
        content = self._content(f"{key}.bite")
        try:
            bite = Bite.model_validate_json(content) if content is not None else None
        except ValidationError:
            return None
        return None if bite is None or bite.problems else bite

    def _read(self, key: str, *, counted: bool = True) -> RunReport | None:
        content = self._content(f"{key}.json")
        try:
            report = RunReport.model_validate_json(content) if content is not None else None
        except ValidationError:
            return None  # damaged: the run is simply done again
        if report is None or not worth_keeping(report):
            return None
        self.found += counted
        return report

    def _content(self, name: str) -> bytes | None:
        if self._directory is None:
            return None
        try:
            with (self._directory / name).open("rb") as file:
                # The time of the last change of the inode: nobody but root can set it back.
                late = self._believed_until is not None and os.fstat(file.fileno()).st_ctime_ns > self._believed_until
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


def worth_keeping(report: RunReport) -> bool:
    """A time-out or a dishonest run says something about the moment, not about the tree."""
    timed_out = any(result.failure and result.failure.kind == FailureKind.TIMEOUT for result in report.results)
    return report.honest and report.exit_status is not None and not timed_out
