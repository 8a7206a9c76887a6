"""The session: all objects that the workflow uses, built once by an entry point."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prd2pr.agents.models.base import Model
from prd2pr.config import Config
from prd2pr.domain.ci import CommitCi
from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.costs.model_selection import ModelSelection
from prd2pr.domain.costs.role_costs import add_spends, list_role_spends
from prd2pr.domain.evidence import SmokeRun
from prd2pr.domain.machines.approval import ApprovalMode
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.paths import PathRules
from prd2pr.domain.records import Backlog, Prd, RunRecord, Spend
from prd2pr.domain.secrets import Secrets
from prd2pr.languages.test_runner import CoverageMeter, Surveyor, TestRunner
from prd2pr.state.cursors import ProcessedItem
from prd2pr.state.git import Git
from prd2pr.state.journal import Journal
from prd2pr.state.store import StateStore
from prd2pr.verification.commit_check import BranchRefutation
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.program.pages import Camera
from prd2pr.verification.verdict import GatePolicy
from prd2pr.workflow.interfaces import BranchWriter, Clock, Progress
from prd2pr.workflow.ledger import SharedLedger


@dataclass
class CallsInFlight:
    """The estimated spending of model calls that have not returned yet."""

    reserved: dict[str, Spend] = field(default_factory=dict)  # by purpose
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)


@dataclass
class WorkerLog:
    """Log lines and spending of this run's parallel workers, which also write their own logs."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)


@dataclass
class BranchWrites:
    """The commits of this run, and the changes of other writers to the branch since."""

    last: str = ""  # the last commit of this run
    last_at: float = 0  # its time by the monotonic clock; 0 if there is none yet
    commits: set[str] = field(default_factory=set)  # commits that this run put on the branch
    foreign_head: str = ""  # another writer's head that was checked for hand edits
    pending: ProcessedItem | None = None  # the command that the next commit will answer
    regression: tuple[str, str] = ("", "")  # a code tree on which a finished story fails, and the message


@dataclass
class RunLog:
    """The log of this run. It goes into the next commit, and no decision depends on it."""

    id: str
    started_at: str
    started: float  # by the monotonic clock
    model: str = ""
    worker: str = ""  # the model that the current step called last
    steps: list[str] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)
    inherited: Mapping[str, Spend] = field(default_factory=dict)  # by role: unrecorded spending of killed runs
    calls: CallsInFlight = field(default_factory=CallsInFlight)
    workers: WorkerLog = field(default_factory=WorkerLog)
    branch_writes: BranchWrites = field(default_factory=BranchWrites)

    def add(self, at: str, kind: str, **facts: object) -> None:
        self.lines.append({"at": at, "kind": kind, **facts})

    def record(self, at: str, older: Mapping[str, Spend], outcome: str) -> RunRecord:
        """Build the run's record. `older` is the spending that the commit inherits from killed runs."""
        inherited = add_spends(self.inherited, older)
        return RunRecord(
            id=self.id,
            started_at=self.started_at,
            ended_at=at,
            model=self.model,
            steps=tuple(self.steps),
            outcome=outcome,
            spend=sum(inherited.values(), self.spend),
            roles=list_role_spends(self.lines, inherited),
        )

    def forget(self, lines: int, steps: int) -> None:
        """Remove the log lines and steps of a commit that was not made."""
        del self.lines[lines:], self.steps[steps:]


@dataclass(frozen=True)
class RoleModel:
    """The model that plays a role."""

    model: Model
    edits_itself: bool = False  # `human` and `command:` write files without our tools
    remembers: bool = False  # its paid answers may be reused for the same question


@dataclass(frozen=True)
class OutdatedPlan:
    """The reason why the plan of this version of the PRD must not be used."""

    blob: str  # the PRD that was planned
    stop: NoAction


@dataclass(frozen=True)
class Target:
    """The branch on which this session works, and the story if it is limited to one."""

    branch: str
    base_branch: str
    base_commit: str
    story: str = ""  # the only story to work on; empty for all
    prd_branch: str = ""  # set when `branch` is a story branch
    integrates: bool = False  # the story branch's worker also integrates it
    issue: int | None = None  # the issue that contains or requested the PRD


@dataclass(frozen=True)
class Services:
    writer: BranchWriter
    runner: TestRunner
    gathering: GatherContext
    journal: Journal
    models: ModelSelection
    select_model: Callable[[str, bool], RoleModel]  # (role, strong)
    camera: Camera | None = None  # for screenshots
    surveyor: Surveyor | None = None  # maps changed files to the tests that reach them
    meter: CoverageMeter | None = None
    describe_library: Callable[[str], str] = lambda _: ""  # what an installed library says about itself
    run_smoke: Callable[[str, tuple[str, ...], int], SmokeRun] | None = None  # (code tree, command, seconds)


@dataclass(frozen=True)
class Constraints:
    """The limits of the session: its permitted actions and its budget."""

    gate_policy: GatePolicy
    paths: PathRules
    limits: UsageLimits
    approval: ApprovalMode = "given"  # on GitHub, the configured approval
    secrets: Secrets = field(default_factory=Secrets)  # must not appear in commits or prompts
    # Asks a person at the terminal about a plan; returns why nothing is built from it, or None.
    confirm_plan: Callable[[Backlog], NoAction | None] | None = None
    # Asks a person at the terminal about accepted edits: what, the tree before and after.
    confirm_edits: Callable[[str, str, str], bool] | None = None


@dataclass(frozen=True)
class HostState:
    """Facts and callbacks of a run on GitHub. The defaults are those of a local run."""

    outdated_plan: OutdatedPlan | None = None
    published_head: str = ""  # the head in the status comment before this run; empty if none
    refuted: BranchRefutation | None = None  # rewritten steps, on which no work may be based
    continues: bool = False  # another step follows this one
    ci: tuple[CommitCi, ...] = ()  # results of the repository's own CI, which the next commit stores
    on_command_done: Callable[[ProcessedItem], None] = lambda _: None  # called before the commit that answers it
    waits_for_budget: Callable[[], bool] = lambda: False  # the last run stopped at its budget and asked a person
    fetch_branch: Callable[[str], object] = lambda _: None  # called before a branch of another purpose is read
    on_branch_deleted: Callable[[str, str], object] = lambda _, __: None  # with the branch and its last head
    reload_prd: Callable[[Session], Session] = lambda session: session  # with the PRD's current text


@dataclass(frozen=True)
class Session:
    """The objects that one run uses, created once by an entry point."""

    git: Git
    store: StateStore
    config: Config
    prd: Prd
    clock: Clock
    progress: Progress
    log: RunLog
    target: Target
    services: Services
    constraints: Constraints
    host: HostState = field(default_factory=HostState)
    shared: SharedLedger | None = None  # shared with the run's other workers

    @property
    def work_directory(self) -> Path:
        """The private directory in which worktrees are created."""
        if self.target.prd_branch:
            return get_stories_directory(self.git, self.prd.id) / "work" / self.target.story
        return self.git.private / "work" / self.prd.id


def get_stories_directory(git: Git, prd: str) -> Path:
    """Return the private directory for stories that run in parallel."""
    return git.private / "stories" / prd
