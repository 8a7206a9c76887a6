"""Results of honest test runs, kept by code for the whole session, below the product's own cache.

Settings, PRDs, workflows and living docs are no part of the code: no test of the sample projects reads them, and they
differ between worlds that do the same. ESTIMATES.md even contains measured times.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from prd2pr.domain.evidence import RunReport
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import DifferentialRequest, MutationRequest, RunRequest, SurveyResult
from prd2pr.state.git import Git
from prd2pr.verification.run_cache import CachedRunner

NO_CODE = re.compile(r"\.prd2pr\.yml|\.github/.*|prds/.*\.md|docs/[A-Z_]+\.md|docs/\.gitattributes")


class KeptRunner(CachedRunner):
    def __init__(self, git: Git, inner: PytestRunner, directory: Path) -> None:
        super().__init__(inner, directory)
        self._git = git
        self._tests = inner
        self._codes: dict[str, str] = {}

    def identity(self) -> str:
        return self._inner.identity()

    def run(self, request: RunRequest) -> RunReport:
        return super().run(request).model_copy(update={"code_tree": request.code_tree})

    def survey(self, request: RunRequest) -> SurveyResult:
        return self._tests.survey(request)

    def expect(self, hash_seed: int = 0) -> None:
        """Most runs are cached: nothing is started in advance."""

    def start_early_run(self, request: RunRequest, *, in_parallel: bool) -> None:
        """Nothing is started."""

    def _key(self, request: RunRequest) -> str:
        return super()._key(replace(request, code_tree=self._code(request.code_tree)))

    def _mutation_key(self, request: MutationRequest) -> str:
        return super()._mutation_key(replace(request, code_tree=self._code(request.code_tree)))

    def _parity_key(self, request: DifferentialRequest) -> str:
        return super()._parity_key(replace(request, code_tree=self._code(request.code_tree)))

    def _code(self, tree: str) -> str:
        if tree not in self._codes:
            entries = [repr(entry) for entry in self._git.entries(tree) if not NO_CODE.fullmatch(entry.path)]
            self._codes[tree] = hashlib.sha256("\n".join(entries).encode()).hexdigest()
        return self._codes[tree]


def make_kept_runner(directory: Path) -> Callable[..., KeptRunner]:
    """A constructor to use instead of `PytestRunner`."""

    def make(export: Any, *arguments: Any, many: bool = False, **more: Any) -> KeptRunner:
        """`many` requests early starts."""
        return KeptRunner(export.__self__, PytestRunner(export, *arguments, **more), directory)

    return make
