"""The models of the pull request view: frozen data for the Markdown body and the HTML page.

Untrusted text is one clean line (`clean_line`) or spelt out (`escape_invisible`); escaping for
Markdown or HTML is up to the template.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.costs.role_costs import RoleRow
from prd2pr.domain.machines.next_action import NextAction
from prd2pr.domain.records import Phase, Spend
from prd2pr.domain.remarks import RoleRemark
from prd2pr.views.blocked_story import BlockedView
from prd2pr.views.diff import FileDiff

Tone = Literal["proven", "working", "waiting", "refused", "blocked", "unproven", "quiet"]
SETTLED_TONES: tuple[Tone, ...] = ("proven", "unproven")  # of a branch on which nothing is left to do

MAX_TITLE = 160  # of a PRD
BOARD_PHASES = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED)
NOT_MEASURED = "not measured"

# --- input ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommitFacts:
    sha: str
    subject: str
    at: str = ""
    patch: str = ""
    files: tuple[str, ...] = ()
    proved_with: str = ""  # the step whose gate checked it together with its own commit: calc-1/2
    base_merge: bool = False  # an unmodified merge of the base with which the suite passes
    join: bool = False  # merges a story's branch without other changes


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
class RefusedWriteView:
    """A write of a role that the policy refused."""

    story: str
    phase: str
    path: str
    code: str
    message: str = ""


@dataclass(frozen=True)
class PlanningCost:
    """Spending before the first story: planning and replanning."""

    spend: Spend = field(default_factory=Spend)
    seconds: float = 0


# --- output -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    value: str
    label: str
    strong: bool = False
    joint: str = " "  # between value and label in running text


@dataclass(frozen=True)
class NextStep:
    sentence: str
    command: str = ""


NO_NEXT_STEP = NextStep("")


@dataclass(frozen=True)
class Cell:
    text: str = ""
    detail: str = ""
    sha: str = ""
    anchor: str = ""
    tone: Tone = "quiet"


@dataclass(frozen=True)
class StoryRow:
    id: str
    title: str
    kind: str
    anchor: str
    outcome: str  # for people
    tone: Tone
    cells: tuple[Cell, ...]  # in the order of BOARD_PHASES
    tests: str
    bite: str
    reason: str = ""  # why it is blocked


@dataclass(frozen=True)
class RefusalView:
    anchor: str
    story: str
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str
    crossed: bool  # a later attempt passed


@dataclass(frozen=True)
class RequirementRow:
    id: str
    text: str
    stories: tuple[str, ...]
    verdict: str
    tone: Tone


@dataclass(frozen=True)
class TracedTest:
    id: str
    outcome: str  # passes, fails as expected, not run …
    tone: Tone


@dataclass(frozen=True)
class TraceRow:
    requirements: tuple[str, ...]
    story: str
    criterion: str
    text: str
    tests: tuple[TracedTest, ...]
    commit: str  # sha, empty where there is none yet
    anchor: str
    verdict: str
    tone: Tone


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
class TestView:
    __test__ = False
    id: str
    before: str
    after: str
    tone: Tone
    failure: str = ""  # kind and message


@dataclass(frozen=True)
class TestRunView:
    label: str  # before, after, repeated
    collected: int
    passed: int
    failed: int
    errors: int
    skipped: int
    seconds: str
    sandbox: str
    honest: bool
    problems: tuple[str, ...]


@dataclass(frozen=True)
class FindingView:
    code: str
    severity: str
    message: str
    place: str


@dataclass(frozen=True)
class StepView:
    """One step with its evidence."""

    anchor: str
    n: int
    phase: str
    outcome: str
    tone: Tone
    sha: str
    at: str
    attempts: int
    cost: str
    note: str
    runs: tuple[TestRunView, ...]
    tests: tuple[TestView, ...]
    findings: tuple[FindingView, ...]
    facts: tuple[str, ...]  # sentences: locked files, comparison with the base, improvement
    diff: tuple[FileDiff, ...]


@dataclass(frozen=True)
class PageView:
    """A screenshot of a page after the story; without data only its name is shown."""

    path: str
    file: str
    digest: str
    data: str = ""  # base64 of a PNG


@dataclass(frozen=True)
class StoryEvidenceView:
    anchor: str
    id: str
    title: str
    outcome: str
    tone: Tone
    design: str
    decisions: tuple[str, ...]
    steps: tuple[StepView, ...]
    pages: tuple[PageView, ...] = ()


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
    board: tuple[StoryRow, ...]
    refusals: tuple[RefusalView, ...]
    refused_writes: tuple[RefusedWriteView, ...]
    questions: tuple[str, ...]
    assumptions: tuple[str, ...]
    requirements: tuple[RequirementRow, ...]
    trace: tuple[TraceRow, ...]
    costs: tuple[CostRow, ...]
    stories: tuple[StoryEvidenceView, ...]
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
