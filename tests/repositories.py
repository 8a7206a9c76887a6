"""Real repositories made from path -> text, commit by commit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Self

from prd2pr.domain.documents import list_living_paths
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.state.git import Git
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.run_cache import CachedRunner

Files = Mapping[str, str | None]


class Repository:
    """Commits are made with plumbing: fast, and without a checkout."""

    def __init__(self, place: Path, kept_runs: Path | None = None) -> None:
        subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
        self.git = Git.open(place)
        self.gathering = GatherContext(
            self.git,
            CachedRunner(PytestRunner(self.git.export, Path(sys.executable)), kept_runs),
            living_docs=list_living_paths("docs"),
        )
        self.head = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.git.close()

    def commit(self, files: Files, message: str = "A step") -> str:
        """`None` deletes a file; other files stay."""
        self.head = self.git.commit(self.tree_with(files), [self.head] if self.head else [], message)
        return self.head

    def tree_with(self, files: Files) -> str:
        base = self.git.tree(self.head) if self.head else self.git.empty_tree
        updates = {path: None if text is None else dedent(text).encode() for path, text in files.items()}
        return self.git.edit_tree(base, updates)
