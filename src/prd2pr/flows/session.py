"""What a flow works with, wired once by an entry point."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prd2pr.config import Config
from prd2pr.core.approval import ApprovalMode
from prd2pr.core.budget import Limits
from prd2pr.core.crew import Crew
from prd2pr.core.cursors import Settled
from prd2pr.core.decide import Rest
from prd2pr.core.gates import GatePolicy
from prd2pr.core.paths import PathRules
from prd2pr.core.records import Prd, RunRecord, Spend
from prd2pr.core.role_costs import added, on_record
from prd2pr.core.said.leaks import Secrets
from prd2pr.core.said.status import Refuted
from prd2pr.flows.gather import Gathering
from prd2pr.flows.shared_ledger import SharedLedger
from prd2pr.ports import BranchWriter, Camera, Clock, Model, Progress, Surveyor, TestRunner
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
    worker: str = ""  # whom the step under way has asked last
    landed: str = ""  # the last commit that this invocation made
    committed: float = 0  # when that was, by the monotonic clock; 0: it has made none yet
    made: set[str] = field(default_factory=set)  # commits that this invocation put on the branch
    steps: list[str] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)
    inherited: Mapping[str, Spend] = field(default_factory=dict)  # by role, of killed runs that could not record it
    regressed: tuple[str, str] = ("", "")  # a code tree on which a finished story fails, and what is told of it
    seen: str = ""  # a head that somebody else made, and whose state was looked at
    pending: Settled | None = None  # a comment or an order that is being carried out: the next commit says so
    reserved: dict[str, Spend] = field(default_factory=dict)  # what calls under way will probably take, by purpose
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)  # for calls that are made side by side
    beside: list[dict[str, Any]] = field(default_factory=list)  # lines of this run's workers: their own logs have them
    spent_beside: Spend = field(default_factory=Spend)

    def add(self, at: str, kind: str, **facts: object) -> None:
        self.lines.append({"at": at, "kind": kind, **facts})

    def record(self, at: str, older: Mapping[str, Spend]) -> RunRecord:
        """`older`: what the commit that it is for inherits of killed runs."""
        inherited = added(self.inherited, older)
        return RunRecord(
            id=self.id,
            started_at=self.started_at,
            ended_at=at,
            model=self.model,
            steps=tuple(self.steps),
            spend=sum(inherited.values(), self.spend),
            roles=on_record(self.lines, inherited),
        )

    def forget(self, lines: int, steps: int) -> None:
        """What was written down for a commit that did not come about."""
        del self.lines[lines:], self.steps[steps:]


@dataclass(frozen=True)
class Hired:
    """Who does the work of a role."""

    model: Model
    edits_itself: bool = False  # `human` and `command:` may write into the workspace without our tools
    remembers: bool = False  # an answer that it gave, and that was paid for, may be used again for the same question


@dataclass(frozen=True)
class Outdated:
    """Nothing is built by the plan of this text any more; and why."""

    blob: str  # of the PRD that the plan was made from
    rest: Rest


@dataclass(frozen=True)
class Session:
    git: Git
    store: StateStore
    writer: BranchWriter
    config: Config
    prd: Prd
    branch: str
    base_branch: str
    base_commit: str
    runner: TestRunner
    gathering: Gathering
    policy: GatePolicy
    crew: Crew
    hire: Callable[[str, bool], Hired]  # (role, strong)
    clock: Clock
    progress: Progress
    journal: Journal
    log: RunLog
    rules: PathRules
    limits: Limits
    only_story: str = ""
    trunk: str = ""  # the PRD's branch, where `branch` is a story's own
    shared: SharedLedger | None = None  # with other workers of the same run
    integrates: bool = False  # who works on a story's own branch integrates it too: nothing is noted for others
    approval: ApprovalMode = "given"  # on a code host: what the configuration says
    issue: int | None = None  # that the PRD was made from, or that asked for it
    outdated: Outdated | None = None
    shown: str = ""  # the head that people were shown last, before this run; empty: none
    secrets: Secrets = field(default_factory=Secrets)  # that no commit and no prompt may hold
    camera: Camera | None = None  # for pictures of pages
    surveyor: Surveyor | None = None  # who can tell which tests a change reaches
    goes_on: bool = False  # one step will be followed by the next
    carried_out: Callable[[Settled], None] = lambda _: None  # told right before the commit that carries it out
    rewritten: Refuted | None = None  # steps that are not what they were proved as: nothing is built on them
    waits_for_money: Callable[[], bool] = lambda: False  # whether the last run ended for its budget and asked a person
    taken_anew: Callable[[Session], Session] = lambda held: held  # with what the PRD says by now, where it comes from

    @property
    def workplace(self) -> Path:
        """Where directories for work are made; nobody else has any there."""
        if self.trunk:
            return stories_place(self.git, self.prd.id) / "work" / self.only_story
        return self.git.private / "work" / self.prd.id


def stories_place(git: Git, prd: str) -> Path:
    """What this machine keeps of stories that are worked on beside each other."""
    return git.private / "stories" / prd
