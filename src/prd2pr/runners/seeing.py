"""Watching tests while faults are tried: what pytest says of them, and which lines they run.

Executed by the project's own Python, like the launcher: standard library and pytest alone.
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

FUNCTION_CODE = 1  # co_flags of what is no module and no class body


class Reports:
    """A pytest plugin: what pytest itself said of each test."""

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

    def good(self) -> list[str]:
        return [test for test in self.passed if test not in self.failed]


class Tracer:
    """Which lines of functions, in the files that matter, have been run."""

    def __init__(self, files: set[str], recorder: Any = None) -> None:
        self._files = files
        self._recorder = recorder
        self.seen: set[tuple[str, int]] = set()

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _call(self, frame: Any, _event: str, _arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files or not code.co_flags & FUNCTION_CODE:
            return None
        return (self._recorder and self._recorder.watch(frame, self._line)) or self._line

    def _line(self, frame: Any, event: str, _arg: Any) -> Any:
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


class Chosen:
    """A pytest plugin: of all that is collected, the tests that are wanted. `None`: all."""

    def __init__(self, wanted: set[str] | None) -> None:
        self._wanted = wanted

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Generator[None, Any, None]:
        yield
        if self._wanted is not None:
            items[:] = [item for item in items if item.nodeid in self._wanted or bare(item.nodeid) in self._wanted]


def bare(test: str) -> str:
    path, mark, name = test.partition("::")
    return path + mark + name.partition("[")[0]


class Noticing(Reports):
    """Ends the run with the first failure of a test that passes without the fault."""

    def __init__(self, watched: set[str] | None) -> None:
        super().__init__()
        self._watched = watched
        self._session: Any = None
        self.noticed = ""

    def pytest_sessionstart(self, session: Any) -> None:
        self._session = session

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        super().pytest_runtest_logreport(report)
        if report.failed and self._watched is not None and report.nodeid in self._watched:
            self.noticed = self.noticed or report.nodeid
            self._session.shouldstop = "noticed"

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report: Any) -> None:
        super().pytest_collectreport(report)
        if report.failed and self._watched is not None:
            below = sorted(test for test in self._watched if test.startswith(report.nodeid))
            self.noticed = self.noticed or (below[0] if below else "")


def leave_unsaid(plugins: Any) -> None:
    """What is written for people, and watched for other runs, takes longer here than the tests."""
    for plugin in plugins.get_plugins():
        if plugin is not None and type(plugin).__name__ in ("TerminalReporter", "Probe"):
            plugins.unregister(plugin)


def is_read(fault: dict[str, Any]) -> bool:
    """Also in its file: the code under test may read there what a test expects."""
    return bool(fault["kind"] == "perturbation")


def in_turn(items: list[Any]) -> list[tuple[Any, Any]]:
    """Each test with the one after it, by which pytest knows which fixtures are still needed."""
    return list(zip(items, [*items[1:], None]))  # noqa: B905 Python 3.9 knows no `strict`


def session_end(item: Any) -> None:
    """Fixtures that later tests would have used are torn down: what they hold must not stay held."""
    try:
        item.session._setupstate.teardown_exact(None)
    except BaseException:  # noqa: BLE001 the test has failed already
        return


class Written:
    """A file with another content, for a while. Its time differs each time: no compiled copy is taken for it."""

    _clock = int(time.time()) - 500_000

    def __init__(self, path: str, data: bytes, *, really: bool = True) -> None:
        self._path, self._data, self._really = Path(path), data, really

    def __enter__(self) -> None:
        if self._really:
            self._before = self._path.read_bytes()
            self._put(self._data)

    def __exit__(self, *_: object) -> None:
        if self._really:
            self._put(self._before)

    def put_back(self, data: bytes) -> None:
        """Where whoever should have done it may have died."""
        if self._path.read_bytes() != data:
            self._put(data)

    def _put(self, data: bytes) -> None:
        Written._clock += 2
        self._path.write_bytes(data)
        os.utime(self._path, (Written._clock, Written._clock))
