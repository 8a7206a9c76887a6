"""Where a project's own `pytest` looks for tests, as its configuration in a tree says."""

from __future__ import annotations

from fnmatch import fnmatchcase

from prd2pr.core.pytest_settings import CONFIGURED_IN, pytest_settings
from prd2pr.flows.codebase import Codebase
from prd2pr.runners.project import PytestProject, project_of


def project_in(codebase: Codebase) -> PytestProject:
    return project_of(pytest_settings(codebase.texts(lambda path: path in CONFIGURED_IN)))


def is_looked_at(project: PytestProject, test: str) -> bool:
    """Whether a run without further words comes by the file of this test."""
    path = test.partition("::")[0]
    roots = [root.removeprefix("./") for root in project.testpaths]  # globs among them
    inside = not roots or any(root in {".", path} or fnmatchcase(path, f"{root}/*") for root in roots)
    return inside and not project.ignored(path)
