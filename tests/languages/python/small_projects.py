"""Small projects, given as path -> text, run by the real runner."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from prd2pr.config import TestRun
from prd2pr.domain.evidence import RunReport
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import RunRequest

Files = Mapping[str, str]

# Set it to test the runner on a project with another Python or pytest.
TARGET = Path(os.environ.get("PRD2PR_TEST_PYTHON", sys.executable))


def exporter(files: Files) -> Callable[[str, Path, Mapping[str, str]], None]:
    def export(_tree: str, directory: Path, overlay: Mapping[str, str]) -> None:
        for path, text in {**files, **overlay}.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(dedent(text), encoding="utf-8")

    return export


def run_files(
    files: Files,
    *,
    python: Path | None = None,
    settings: TestRun | None = None,
    sandboxed: bool = True,
    **request: Any,
) -> RunReport:
    runner = PytestRunner(exporter(files), python or TARGET, settings, sandboxed=sandboxed)
    return runner.run(RunRequest(code_tree="t", **request))
