"""What a flow works with, wired once by an entry point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prd2pr.config import Config
from prd2pr.core.budget import Limits
from prd2pr.core.gates import GatePolicy
from prd2pr.core.paths import PathRules
from prd2pr.core.records import Prd, RunRecord, Spend
from prd2pr.flows.gather import Gathering
from prd2pr.ports import Clock, Model, Progress, TestRunner
from prd2pr.repo.git import Git
from prd2pr.repo.journal import Journal
from prd2pr.repo.store import StateStore


@dataclass
class RunLog:
    """What this invocation did so far. It goes into the next commit; it decides nothing."""

    id: str
    started_at: str
    started: float  # of the monotonic clock
    model: str = ""
    landed: str = ""  # the last commit that this invocation made
    steps: list[str] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)

    def add(self, at: str, kind: str, **facts: object) -> None:
        self.lines.append({"at": at, "kind": kind, **facts})

    def record(self, at: str, outcome: str = "") -> RunRecord:
        return RunRecord(
            id=self.id,
            started_at=self.started_at,
            ended_at=at,
            model=self.model,
            steps=tuple(self.steps),
            outcome=outcome,
            spend=self.spend,
        )


@dataclass(frozen=True)
class Hired:
    """Who does the work of a role."""

    model: Model
    edits_itself: bool = False  # `human` and `command:` may write into the workspace without our tools


@dataclass(frozen=True)
class Session:
    git: Git
    store: StateStore
    config: Config
    prd: Prd
    branch: str
    base_branch: str
    base_commit: str
    runner: TestRunner
    gathering: Gathering
    policy: GatePolicy
    hire: Callable[[str, bool], Hired]  # (role, strong)
    clock: Clock
    progress: Progress
    journal: Journal
    log: RunLog
    rules: PathRules
    limits: Limits
    only_story: str = ""
