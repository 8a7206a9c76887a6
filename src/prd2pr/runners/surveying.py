"""Which files of the checkout each test file enters, seen while the tests run.

Executed by the project's Python, beside `launch.py`. It is for runs that a role asks for while it works, never for one
that a gate judges by: to be watched takes time, and a program can see that it is watched.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

MONITORING: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on; the first call of a function is enough
TOOL = 4  # of the ids that Python leaves free


class Survey:
    """A pytest plugin. Whatever a test file makes run, from its import to its last teardown, it reaches."""

    def __init__(self, checkout: str, tell: Callable[[dict[str, list[str]]], None]) -> None:
        self._root = checkout + os.sep
        self._tell = tell
        self._reached: dict[str, set[str]] = {}
        self._into: set[str] = set()

    def start(self) -> None:
        if MONITORING is not None:
            MONITORING.use_tool_id(TOOL, "survey")
            MONITORING.register_callback(TOOL, MONITORING.events.PY_START, self._started)
            MONITORING.set_events(TOOL, MONITORING.events.PY_START)
        else:
            threading.settrace(self._traced)
            sys.settrace(self._traced)

    def _started(self, code: Any, _: int) -> Any:
        self._into.add(code.co_filename)
        return MONITORING.DISABLE

    def _traced(self, frame: Any, _event: str, _argument: object) -> None:
        self._into.add(frame.f_code.co_filename)

    def _turn_to(self, test_file: str) -> None:
        self._into = self._reached.setdefault(test_file, set())
        if MONITORING is not None:
            MONITORING.restart_events()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        if isinstance(collector, pytest.File):
            self._turn_to(collector.nodeid)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._turn_to(item.nodeid.partition("::")[0])
        yield

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        inside = {
            test: sorted(name[len(self._root) :].replace(os.sep, "/") for name in names if name.startswith(self._root))
            for test, names in self._reached.items()
        }
        self._tell(inside)
