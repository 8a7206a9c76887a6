"""Small projects, given as path -> text, run by the real runner."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from prd2pr.config import TestRun
from prd2pr.core.evidence import RunReport
from prd2pr.ports import RunRequest
from prd2pr.runners.pytest_runner import PytestRunner

Files = Mapping[str, str]


def exporter(files: Files) -> Callable[[str, Path, Mapping[str, str]], None]:
    def export(_tree: str, directory: Path, overlay: Mapping[str, str]) -> None:
        for path, text in {**files, **overlay}.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(dedent(text), encoding="utf-8")

    return export


def run_files(
    files: Files, *, python: Path | None = None, settings: TestRun | None = None, **request: Any
) -> RunReport:
    runner = PytestRunner(exporter(files), python or Path(sys.executable), settings)
    return runner.run(RunRequest(code_tree="t", **request))
