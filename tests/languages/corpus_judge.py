"""Judges cheats and honest cycles of other languages with real git, the real runner and the real gates."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from languages.corpus import DIALECTS, Files, OtherCheat, OtherCycle, projects, stack_of_project
from prd2pr.config import TestRun
from prd2pr.domain.evidence import Evidence, Verdict
from prd2pr.domain.records import Phase
from prd2pr.errors import SetupProblem
from prd2pr.languages.project.dependencies import Dependencies
from prd2pr.languages.runner import LanguageRunner
from prd2pr.proof.judge import judge_commits
from prd2pr.state.git import Git
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.run_cache import CachedRunner
from prd2pr.verification.verdict import GatePolicy

# Fetched once by npm, stored next to the virtual environment, never committed.
INSTALLED = Path(sys.prefix) / "share" / "prd2pr-tests" / "dependencies"
STEPS = {"red": Phase.RED, "green": Phase.GREEN, "refactor": Phase.REFACTOR}


class OtherStage:
    """A repository with a commit for each project of one runner; cheats and steps are commits on top."""

    def __init__(self, runner: str, place: Path, kept_runs: Path | None = None) -> None:
        self.dialect = DIALECTS[runner]
        subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
        self.git = Git.open(place)
        stack = stack_of_project(self.dialect)
        settings = TestRun(stall_seconds=20, timeout_seconds=60)
        inner = LanguageRunner(self.git.export, stack, Dependencies(INSTALLED), settings)
        self.gathering = GatherContext(self.git, CachedRunner(inner, kept_runs), stacks=(stack,))
        self.commits = {name: self.commit("", files) for name, files in projects(self.dialect).items()}

    def commit(self, parent: str, files: Files) -> str:
        base = self.git.tree(parent) if parent else self.git.empty_tree
        updates = {path: None if text is None else text.encode() for path, text in files.items()}
        return self.git.commit(self.git.edit_tree(base, updates), [parent] if parent else [], "A step")

    def judge(self, cheat: OtherCheat) -> tuple[Evidence, Verdict]:
        base = self.commits[cheat.project]
        return judge_commits(self.gathering, GatePolicy(), cheat.phase, base, self.commit(base, cheat.files))

    def play(self, cycle: OtherCycle) -> Iterator[tuple[Phase, Evidence, Verdict]]:
        head = self.commit("", cycle.steps["base"])
        for name, phase in STEPS.items():
            if name in cycle.steps:
                base, head = head, self.commit(head, cycle.steps[name])
                evidence, verdict = judge_commits(self.gathering, GatePolicy(), phase, base, head)
                yield phase, evidence, verdict


def missing(runner: str) -> str:
    """Why tests with this runner cannot run here; empty if they can."""
    tool = DIALECTS[runner].tool
    if shutil.which(tool) is None:
        return f"no toolchain: {tool} is not installed"
    stack = stack_of_project(DIALECTS[runner])
    if not stack.setup:
        return ""
    if shutil.which("npm") is None:
        return "npm is not installed"
    try:
        Dependencies(INSTALLED).prepare(
            stack, {"package.json": (projects(DIALECTS[runner])["shop"]["package.json"] or "").encode()}
        )
    except SetupProblem as problem:
        return problem.what
    return ""
