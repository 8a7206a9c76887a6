"""Where a project's own `pytest` looks for tests, as its configuration in a tree says."""

from __future__ import annotations

import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

from prd2pr.flows.codebase import Codebase
from prd2pr.runners.project import CONFIGURED_IN, PytestProject, read_project


def project_in(codebase: Codebase) -> PytestProject:
    texts = codebase.texts(lambda path: path in CONFIGURED_IN)
    with tempfile.TemporaryDirectory() as place:
        for name, text in texts.items():
            (Path(place) / name).write_text(text, encoding="utf-8")
        return read_project(Path(place))


def is_looked_at(project: PytestProject, test: str) -> bool:
    """Whether a run without further words comes by the file of this test."""
    path = test.partition("::")[0]
    roots = [root.removeprefix("./") for root in project.testpaths]  # globs among them
    inside = not roots or any(root in {".", path} or fnmatchcase(path, f"{root}/*") for root in roots)
    return inside and not project.ignored(path)
