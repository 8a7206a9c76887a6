"""Records which files of the checkout each test file executes.

Runs under the project's own Python, next to `launcher.py`. Used only for runs that a role requests while it works,
never for a run that a gate judges, because tracing is slow and programs can detect it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

MONITORING: Any = getattr(sys, "monitoring", None)  # Python 3.12 and later; reports only the first call of a function
TOOL = 4  # a tool id that Python leaves unassigned


class FileSurvey:
    """A pytest plugin that records the files executed for a test file, from its import to its last teardown."""

    def __init__(self, checkout: str, report: Callable[[dict[str, list[str]]], None]) -> None:
        self._root = checkout + os.sep
        self._report = report
        self._reached: dict[str, set[str]] = {}
        self._current: set[str] = set()

    def start(self) -> None:
        if MONITORING is not None:
            MONITORING.use_tool_id(TOOL, "survey")
            MONITORING.register_callback(TOOL, MONITORING.events.PY_START, self._on_start)
            MONITORING.set_events(TOOL, MONITORING.events.PY_START)
        else:
            threading.settrace(self._on_call)
            sys.settrace(self._on_call)

    def _on_start(self, code: Any, _: int) -> Any:
        self._current.add(code.co_filename)
        return MONITORING.DISABLE

    def _on_call(self, frame: Any, _event: str, _argument: object) -> None:
        self._current.add(frame.f_code.co_filename)

    def _switch_to(self, test_file: str) -> None:
        self._current = self._reached.setdefault(test_file, set())
        if MONITORING is not None:
            MONITORING.restart_events()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        if isinstance(collector, pytest.File):
            self._switch_to(collector.nodeid)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._switch_to(item.nodeid.partition("::")[0])
        yield

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        inside = {
            test: sorted(name[len(self._root) :].replace(os.sep, "/") for name in names if name.startswith(self._root))
            for test, names in self._reached.items()
        }
        self._report(inside)
