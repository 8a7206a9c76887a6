"""The pieces of a pull request's picture: frozen data, ready to be shown, the same for Markdown and for the page.

All text of others in here is one clean line (`wording.plain`) or spelt out (`wording.visible`); escaping for
Markdown or HTML is the template's part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from prd2pr.core.ahead import Ahead
from prd2pr.core.blocked import Blocked
from prd2pr.core.budget import Limits
from prd2pr.core.judgement.remarks import Remark
from prd2pr.core.patch import FileDiff
from prd2pr.core.records import Phase, Spend
from prd2pr.core.role_costs import RoleRow

Tone = Literal["proven", "working", "waiting", "refused", "blocked", "unproven", "quiet"]
SETTLED_TONES: tuple[Tone, ...] = ("proven", "unproven")  # of a branch on which nothing is left to do

LONGEST_NAME = 160  # of a PRD
BOARD_PHASES = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED)
NOT_MEASURED = "not measured"

# --- what the caller hands in -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommitFacts:
    sha: str
    subject: str
    at: str = ""
    patch: str = ""
    files: tuple[str, ...] = ()
    proved_with: str = ""  # the step whose gate has judged it together with its own commit: calc-1/2
    base_merge: bool = False  # git's own merge of the base, with which the suite holds
    join: bool = False  # brings a story's own branch in, and nothing of its own


@dataclass(frozen=True)
class SpendLimits:
    """Of the whole PRD; None where no limit is set."""

    usd: float | None = None
    tokens: int | None = None
    minutes: float | None = None
    others: bool = False  # a run or a story has one

    @classmethod
    def of(cls, limits: Limits) -> SpendLimits:
        others = any(value is not None for name, value in vars(limits).items() if not name.endswith("_per_prd"))
        return cls(limits.usd_per_prd, limits.tokens_per_prd, limits.minutes_per_prd, others)

    @property
    def none(self) -> bool:
        return self == NO_LIMITS


NO_LIMITS = SpendLimits()


@dataclass(frozen=True)
class RefusedWrite:
    """A file that a role wanted to write and was not allowed to."""

    story: str
    phase: str
    path: str
    code: str
    message: str = ""


@dataclass(frozen=True)
class PlanningCost:
    """What was spent before the first story: planning, replanning."""

    spend: Spend = field(default_factory=Spend)
    seconds: float = 0


# --- what is shown ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    value: str
    label: str
    strong: bool = False
    joint: str = " "  # between the two in running text


@dataclass(frozen=True)
class NextStep:
    sentence: str
    command: str = ""


NOTHING_NEXT = NextStep("")


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
    outcome: str  # a word or two for people
    tone: Tone
    cells: tuple[Cell, ...]  # in the order of BOARD_PHASES
    tests: str
    bite: str
    reason: str = ""  # why it is blocked


@dataclass(frozen=True)
class Refusal:
    anchor: str
    story: str
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str
    crossed: bool  # a later attempt got through


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
    outcome: str  # passes, fails as planned, not run …
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
class RunView:
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
    """One crossed phase with all that proves it."""

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
    runs: tuple[RunView, ...]
    tests: tuple[TestView, ...]
    findings: tuple[FindingView, ...]
    facts: tuple[str, ...]  # sentences: locked files, comparison with the base, improvement
    diff: tuple[FileDiff, ...]


@dataclass(frozen=True)
class PageView:
    """A picture of a page, as the story left it. Without data it is named, and not shown."""

    path: str
    file: str
    digest: str
    data: str = ""  # base64 of a PNG


@dataclass(frozen=True)
class StoryView:
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
class PullPicture:
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
    ahead: Ahead  # what `next` says, for whoever has to act on it
    check: str  # the command that proves everything again
    built: tuple[str, ...]
    board: tuple[StoryRow, ...]
    refusals: tuple[Refusal, ...]
    refused_writes: tuple[RefusedWrite, ...]
    questions: tuple[str, ...]
    assumptions: tuple[str, ...]
    requirements: tuple[RequirementRow, ...]
    trace: tuple[TraceRow, ...]
    costs: tuple[CostRow, ...]
    stories: tuple[StoryView, ...]
    commits: tuple[CommitRow, ...]
    unproven: tuple[CommitRow, ...]
    uncovered: tuple[str, ...] = ()  # requirements that no story builds, each with why
    stories_in_all: int = 0  # the board may show fewer
    commits_in_all: int = 0  # those of stories out of sight are proved, and are no rows
    docs: tuple[ChangedDoc, ...] = ()  # living docs that the branch has written
    unjudged: int = 0  # commits since the last step that change more than docs: what it proved is not the head's
    blocked: Blocked | None = None
    alarms: tuple[str, ...] = ()  # of the moderator
    role_costs: tuple[RoleRow, ...] = ()  # the dearest first
    remarks: tuple[Remark, ...] = ()  # of roles: they stop nothing
