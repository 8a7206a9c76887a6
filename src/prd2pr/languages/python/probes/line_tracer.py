"""Records pytest's reports and the lines that tests execute while faults are tried.

Runs under the project's own Python, like the launcher, and uses only the standard library and pytest.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

FUNCTION_CODE = 1  # set in `co_flags` unless the code is a module or class body


class ReportCollector:
    """A pytest plugin that collects the outcome of each test."""

    def __init__(self) -> None:
        self.failed: dict[str, bool] = {}
        self.passed: set[str] = set()
        self.uncollected: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed[report.nodeid] = True
        elif report.when == "call" and report.outcome == "passed":
            self.passed.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.uncollected.append(report.nodeid)

    def passing_tests(self) -> list[str]:
        return [test for test in self.passed if test not in self.failed]


class LineTracer:
    """Records the executed lines of functions in the given files."""

    def __init__(self, files: set[str], recorder: Any = None) -> None:
        self._files = files
        self._recorder = recorder
        self.lines: set[tuple[str, int]] = set()

    def start(self) -> None:
        threading.settrace(self._on_call)
        sys.settrace(self._on_call)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _on_call(self, frame: Any, _event: str, _arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files or not code.co_flags & FUNCTION_CODE:
            return None
        return (self._recorder and self._recorder.trace_call(frame, self._on_line)) or self._on_line

    def _on_line(self, frame: Any, event: str, _arg: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._on_line


class TestSelector:
    """A pytest plugin that deselects all tests but the wanted ones. `None` keeps all."""

    def __init__(self, wanted: set[str] | None) -> None:
        self._wanted = wanted

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Generator[None, Any, None]:
        yield
        if self._wanted is not None:
            items[:] = [
                item for item in items if item.nodeid in self._wanted or strip_parameters(item.nodeid) in self._wanted
            ]


def strip_parameters(test: str) -> str:
    path, mark, name = test.partition("::")
    return path + mark + name.partition("[")[0]


def is_case_of(test: str, name: str) -> bool:
    """Return whether the test has this name. A parametrized autouse fixture adds parameters to it."""
    return name in (test, strip_parameters(test))


class StopAtFirstFailure(ReportCollector):
    """Stops the run when a test fails that passes without the fault."""

    def __init__(self, watched: set[str] | None) -> None:
        super().__init__()
        self._watched = watched
        self._session: Any = None
        self.failed_test = ""
        self.broken_import = False

    def pytest_sessionstart(self, session: Any) -> None:
        self._session = session

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        super().pytest_runtest_logreport(report)
        if report.failed and self._watched is not None and report.nodeid in self._watched:
            self.failed_test = self.failed_test or report.nodeid
            self._session.shouldstop = "noticed"

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report: Any) -> None:
        super().pytest_collectreport(report)
        if report.failed and self._watched is not None:
            self.broken_import = True
            below = sorted(test for test in self._watched if test.startswith(report.nodeid))
            self.failed_test = self.failed_test or (below[0] if below else "")


def remove_reporters(plugins: Any) -> None:
    """Unregister the plugins that write reports, because they take longer than the tests."""
    for plugin in plugins.get_plugins():
        if plugin is not None and type(plugin).__name__ in ("TerminalReporter", "Probe"):
            plugins.unregister(plugin)


def is_read_from_file(fault: dict[str, Any]) -> bool:
    """Return whether the fault must also be written to the file, because the code may read its own source."""
    return bool(fault["kind"] == "perturbation")


def pair_with_next(items: list[Any]) -> list[tuple[Any, Any]]:
    """Pair each test with its successor, which pytest needs to decide which fixtures to keep."""
    return list(zip(items, [*items[1:], None]))  # noqa: B905 `strict` requires Python 3.10


def tear_down_session(item: Any) -> None:
    """Tear down the fixtures kept for later tests, so that their resources are released."""
    try:
        item.session._setupstate.teardown_exact(None)
    except BaseException:  # noqa: BLE001 the test has already failed
        return


class TemporaryContent:
    """Temporarily replaces a file's content.

    Each write gets a unique timestamp, so that no stale compiled copy is used.
    """

    _timestamp = int(time.time()) - 500_000

    def __init__(self, path: str, data: bytes, *, enabled: bool = True) -> None:
        self._path, self._data, self._enabled = Path(path), data, enabled

    def __enter__(self) -> None:
        if self._enabled:
            self._before = self._path.read_bytes()
            self._write(self._data)

    def __exit__(self, *_: object) -> None:
        if self._enabled:
            self._write(self._before)

    def restore(self, data: bytes) -> None:
        """Restore the original content in case the process that replaced it died."""
        if self._path.read_bytes() != data:
            self._write(data)

    def _write(self, data: bytes) -> None:
        TemporaryContent._timestamp += 2
        self._path.write_bytes(data)
        os.utime(self._path, (TemporaryContent._timestamp, TemporaryContent._timestamp))
