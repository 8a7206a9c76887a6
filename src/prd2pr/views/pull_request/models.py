"""The models of the pull request view: frozen data for the Markdown body and the HTML page."""

from __future__ import annotations

from dataclasses import dataclass, field

from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.costs.role_costs import RoleRow
from prd2pr.domain.machines.next_action import NextAction
from prd2pr.domain.records import Spend
from prd2pr.domain.role_record import RoleRemark
from prd2pr.views.blocked_story import BlockedView
from prd2pr.views.models import (
    Figure,
    NextStep,
    RefusalView,
    RefusedWriteView,
    RequirementRow,
    StoryCard,
    StoryView,
    Tone,
    TraceRow,
)

# --- input ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SpendLimits:
    """Limits of the whole PRD; None: no limit."""

    usd: float | None = None
    tokens: int | None = None
    minutes: float | None = None
    others: bool = False  # a run or a story has a limit

    @classmethod
    def of(cls, limits: UsageLimits) -> SpendLimits:
        others = any(value is not None for name, value in vars(limits).items() if not name.endswith("_per_prd"))
        return cls(limits.usd_per_prd, limits.tokens_per_prd, limits.minutes_per_prd, others)

    @property
    def none(self) -> bool:
        return self == NO_LIMITS


NO_LIMITS = SpendLimits()


@dataclass(frozen=True)
class PlanningCost:
    """Spending before the first story: planning and replanning."""

    spend: Spend = field(default_factory=Spend)
    seconds: float = 0


# --- output -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CostRow:
    label: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usd: str
    time: str


@dataclass(frozen=True)
class CommitRow:
    sha: str
    subject: str
    at: str
    proof: str  # "proven red", "plan", "no proof"
    tone: Tone
    anchor: str


@dataclass(frozen=True)
class ChangedDoc:
    path: str
    word: str  # new, changed


@dataclass(frozen=True)
class PullRequestView:
    prd: str
    path: str
    title: str
    head: str
    base: str
    state: str
    tone: Tone
    model: str
    replayed: bool
    figures: tuple[Figure, ...]
    next: NextStep
    next_action: NextAction  # the action behind `next`
    check: str  # the command that verifies the branch
    built: tuple[str, ...]
    board: tuple[StoryCard, ...]
    refusals: tuple[RefusalView, ...]
    refused_writes: tuple[RefusedWriteView, ...]
    questions: tuple[str, ...]
    assumptions: tuple[str, ...]
    requirements: tuple[RequirementRow, ...]
    trace: tuple[TraceRow, ...]
    costs: tuple[CostRow, ...]
    stories: tuple[StoryView, ...]
    commits: tuple[CommitRow, ...]
    unproven: tuple[CommitRow, ...]
    uncovered: tuple[str, ...] = ()  # requirements that no story builds, with the reason
    stories_in_all: int = 0  # the board may show fewer
    commits_in_all: int = 0  # including those of hidden stories
    docs: tuple[ChangedDoc, ...] = ()  # living docs that the branch changed
    unjudged: int = 0  # commits since the last step that change more than docs: no gate checked them
    blocked: BlockedView | None = None
    alarms: tuple[str, ...] = ()  # of the moderator
    role_costs: tuple[RoleRow, ...] = ()  # the dearest first
    remarks: tuple[RoleRemark, ...] = ()  # of roles: they stop nothing
