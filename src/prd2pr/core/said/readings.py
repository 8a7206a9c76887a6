"""What a question is answered with: one frozen value for each kind of answer, by the same rules as in `answers.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prd2pr.core.budget import Unit, amount
from prd2pr.core.burndown import Point, chart, in_a_line
from prd2pr.core.evidence import Failure, Finding, RunReport, TestResult
from prd2pr.core.picture_parts import NOTHING_NEXT, CostRow, Figure, NextStep, StoryRow
from prd2pr.core.records import Sprint, Status
from prd2pr.core.statement import Statements

NOT_PASSED = ("failed", "xpassed", "error")


@dataclass(frozen=True)
class HelpRow:
    usage: str  # /backlog prioritize STORY NUMBER
    help: str
    example: str = ""
    needs: str = ""  # write
    now: bool = True  # allowed in the present state


@dataclass(frozen=True)
class Help:
    template: ClassVar[str] = "help"
    rows: tuple[HelpRow, ...]
    state: str = ""


@dataclass(frozen=True)
class StateShown:
    """`/state`"""

    template: ClassVar[str] = "state"
    status: Status
    allowed: tuple[str, ...]
    next: NextStep = NOTHING_NEXT


@dataclass(frozen=True)
class StoryStatusShown:
    """`/tdd status`: one story, as the board has it, with what was refused of its present phase."""

    template: ClassVar[str] = "story_status"
    row: StoryRow
    state: str  # of its cycle: CODE_GREEN
    attempts: int = 0  # used up in the present phase
    of: int = 0
    refused: tuple[Finding, ...] = ()
    next: NextStep = NOTHING_NEXT
    circuits: tuple[str, ...] = ()  # that are not closed, in sentences


@dataclass(frozen=True)
class Overview:
    """`/tdd overview`: every story. `in_all` may be more than there are rows."""

    template: ClassVar[str] = "overview"
    rows: tuple[StoryRow, ...]
    figures: tuple[Figure, ...] = ()
    in_all: int = 0
    next: NextStep = NOTHING_NEXT
    circuits: tuple[str, ...] = ()


@dataclass(frozen=True)
class LogLine:
    at: str
    text: str


@dataclass(frozen=True)
class Logs:
    """The newest last; `in_all` counts those that are not shown too."""

    template: ClassVar[str] = "logs"
    lines: tuple[LogLine, ...]
    in_all: int
    story: str = ""


@dataclass(frozen=True)
class Metrics:
    template: ClassVar[str] = "metrics"
    figures: tuple[Figure, ...]
    costs: tuple[CostRow, ...]
    attempts: int  # made
    refused: int  # of these


@dataclass(frozen=True)
class BudgetRow:
    scope: str  # this run, this story, this PRD
    unit: Unit
    used: float | None  # None: it cannot be counted, for want of a price
    limit: float | None  # None: no limit is set

    @property
    def used_up(self) -> bool:
        return self.limit is not None and self.used is not None and self.used >= self.limit

    @property
    def unit_name(self) -> str:
        return {"usd": "money", "tokens": "tokens", "minutes": "time"}[self.unit]

    @property
    def used_text(self) -> str:
        return "no price known" if self.used is None else amount(self.used, self.unit)

    @property
    def limit_text(self) -> str:
        return "no limit" if self.limit is None else amount(self.limit, self.unit)


@dataclass(frozen=True)
class BudgetShown:
    template: ClassVar[str] = "budget"
    rows: tuple[BudgetRow, ...]
    next: NextStep = NOTHING_NEXT


@dataclass(frozen=True)
class VerifiedRow:
    """A commit that is not proved: what it claims, and what was found. Without a step it is a person's."""

    sha: str
    subject: str
    step: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Verified:
    template: ClassVar[str] = "verified"
    steps: int
    proved: int  # of the steps
    commits: int
    not_proved: tuple[VerifiedRow, ...] = ()
    head: str = ""
    warnings: int = 0


@dataclass(frozen=True)
class ReportRow:
    """A commit of a verified branch, whatever was found."""

    sha: str
    subject: str
    step: str
    phase: str
    outcome: str  # proved, UNPROVEN, NOT SO, or proved as part of another step
    errors: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class VerifyReport:
    """`prd2pr verify` as a document: the whole branch, commit by commit."""

    template: ClassVar[str] = "verify_report"
    total: str
    start: str  # the commit that the branch left
    head: str
    rows: tuple[ReportRow, ...]
    runs: str = ""  # how many test runs were made for it
    warnings: tuple[tuple[str, str, int], ...] = ()  # code, text, number of commits
    statements: Statements | None = None


@dataclass(frozen=True)
class TestsRun:
    __test__ = False
    template: ClassVar[str] = "tests_run"
    sha: str
    collected: int
    passed: int
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    seconds: float = 0
    problems: tuple[str, ...] = ()  # why the run is not honest
    not_passed: tuple[TestResult, ...] = ()
    uncollected: tuple[Failure, ...] = ()  # what could not be collected, where no test of it is known by name

    @classmethod
    def of(cls, sha: str, report: RunReport, shown: int) -> TestsRun:
        """Each test counts once. Those of a module that could not be collected are among the results already."""
        outcomes = [result.outcome for result in report.results]
        told = {result.failure for result in report.results}
        return cls(
            sha=sha,
            collected=len(outcomes),
            passed=outcomes.count("passed") + outcomes.count("xfailed"),
            failed=outcomes.count("failed") + outcomes.count("xpassed"),
            errors=outcomes.count("error"),
            skipped=outcomes.count("skipped"),
            seconds=report.seconds,
            problems=report.problems,
            not_passed=tuple(each for each in report.results if each.outcome in NOT_PASSED)[:shown],
            uncollected=tuple(failure for failure in report.collect_errors if failure not in told),
        )


@dataclass(frozen=True)
class Explained:
    """`/tdd explain CODE`; `title` empty: there is no such code."""

    template: ClassVar[str] = "explained"
    code: str
    title: str = ""
    explanation: str = ""
    bad: str = ""
    good: str = ""
    hint: str = ""
    weight: str = ""
    did_you_mean: tuple[str, ...] = ()


@dataclass(frozen=True)
class SprintShown:
    template: ClassVar[str] = "sprint"
    sprint: Sprint
    rows: tuple[StoryRow, ...]
    state: str
    next: NextStep = NOTHING_NEXT
    burned: tuple[Point, ...] = ()  # stories left, over time

    @property
    def burn_down(self) -> str:
        return in_a_line(self.burned)

    @property
    def chart(self) -> str:
        return chart(self.sprint, self.burned)


@dataclass(frozen=True)
class BacklogRow:
    id: str
    title: str
    kind: str
    status: str
    priority: int
    criteria: int
    depends_on: tuple[str, ...] = ()
    approved: bool | None = None  # None: nothing has to be approved


@dataclass(frozen=True)
class BacklogShown:
    template: ClassVar[str] = "backlog"
    rows: tuple[BacklogRow, ...]
    questions: tuple[str, ...] = ()
    next: NextStep = NOTHING_NEXT


Reading = (
    Help
    | StateShown
    | StoryStatusShown
    | Overview
    | Logs
    | Metrics
    | BudgetShown
    | Verified
    | VerifyReport
    | TestsRun
    | Explained
    | SprintShown
    | BacklogShown
)
