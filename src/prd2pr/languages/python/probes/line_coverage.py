"""Measures line coverage with the coverage.py of the project, if it is installed.

Runs under the project's own Python, next to `launcher.py`. Used only in a separate run, never in a run that a gate
judges, because tracing is slow and programs can detect it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import pytest


class LineMeter:
    """A pytest plugin that reports the statements of each file of the checkout, and those that were not executed."""

    def __init__(self, checkout: str, report: Callable[[str, dict[str, Any]], None]) -> None:
        self._root = checkout + os.sep
        self._report = report
        self._coverage: Any = None
        self._tool = ""

    def start(self) -> None:
        try:
            coverage = importlib.import_module("coverage")
        except ImportError:
            return
        self._tool = f"coverage {coverage.__version__}"
        # The project's own settings apply, but nothing is written and no other process is measured.
        self._coverage = coverage.Coverage(data_file=None, data_suffix=False, messages=False)
        if not self._coverage.get_option("run:source") and not self._coverage.get_option("run:source_pkgs"):
            self._coverage.set_option("run:source", ["."])
            self._coverage.set_option("report:include_namespace_packages", value=True)  # else `src` is skipped
        self._coverage.start()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if self._coverage is None:
            return
        self._coverage.stop()
        found = {}
        for name in self._coverage.get_data().measured_files():
            if name.startswith(self._root):
                _, statements, _, missing, _ = self._coverage.analysis2(name)
                found[name[len(self._root) :].replace(os.sep, "/")] = {"statements": statements, "missing": missing}
        self._report(self._tool, found)
