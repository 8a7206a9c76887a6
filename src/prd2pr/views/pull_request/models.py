"""Models of the pull request view: frozen data for the Markdown body and the HTML page."""

from __future__ import annotations

from dataclasses import dataclass, field

from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.costs.role_costs import RoleRow
from prd2pr.domain.machines.next_action import NextAction
from prd2pr.domain.records import Spend
from prd2pr.domain.role_record import RoleRemark
from prd2pr.views.blocked_story import BlockedView
from prd2pr.views.models import (
    NO_NEXT_STEP,
    Figure,
    FindingView,
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
    """Budget limits for the whole PRD. None means no limit."""

    usd: float | None = None
    tokens: int | None = None
    minutes: float | None = None
    others: bool = False  # whether there are limits for a run or a story

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
    """Cost of planning and replanning, which belongs to no story."""

    spend: Spend = field(default_factory=Spend)
    seconds: float = 0


SURVIVOR_CODE = "GRN502"

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
    proof: str  # for example `red proved`, `plan` or `no proof`
    tone: Tone
    anchor: str


@dataclass(frozen=True)
class StoryWarning:
    """A finding that did not lead to a refusal, but that a reviewer should check."""

    story: str
    finding: FindingView

    @property
    def is_survivor(self) -> bool:
        """Whether the warning is about a mutant that survived."""
        return self.finding.code == SURVIVOR_CODE

    @property
    def sentence(self) -> str:
        what, finding = "surviving mutant" if self.is_survivor else "warning", self.finding
        place = f" {finding.place}" if finding.place and finding.place not in finding.message else ""
        return f"{what} {finding.code} in {self.story}:{place} {finding.message}"


@dataclass(frozen=True)
class ChangedDoc:
    path: str
    word: str  # `new` or `changed`


@dataclass(frozen=True)
class HeldCommits:
    """Commits of an unfinished story that are on GitHub, but not on the pull request's branch."""

    ref: str
    commits: tuple[str, ...]


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
    next_action: NextAction  # action that `next` describes
    check: str  # command that verifies the branch
    about: tuple[str, ...]  # what and why, in at most three sentences
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
    uncovered: tuple[str, ...] = ()  # requirements that no test of their own proves, with the reason
    warnings: tuple[StoryWarning, ...] = ()  # of accepted steps; surviving mutants come first
    answer: NextStep = NO_NEXT_STEP  # how to answer an open question
    stories_in_all: int = 0  # the board may show fewer
    commits_in_all: int = 0  # includes commits of hidden stories
    docs: tuple[ChangedDoc, ...] = ()  # living docs that the branch changed
    unjudged: int = 0  # number of commits since the last step that change more than docs and that no gate checked
    blocked: BlockedView | None = None
    alarms: tuple[str, ...] = ()  # alarms raised by the moderator
    role_costs: tuple[RoleRow, ...] = ()  # most expensive first
    remarks: tuple[RoleRemark, ...] = ()  # remarks by roles; they do not block anything
    held: HeldCommits | None = None
    archive: str = ""  # of a finished branch: the line that a squash message needs so that its proof is found
