"""Replies to queries: one frozen type for each query. The rules are the same as in `replies.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prd2pr.domain.costs.budget import Unit, format_amount
from prd2pr.domain.evidence import Failure, Finding, RunReport, TestResult
from prd2pr.domain.records import LineCoverage, Sprint, Status, Story
from prd2pr.proof.attestation import StatementCheck
from prd2pr.views.burndown import format_burndown, render_burndown_chart
from prd2pr.views.models import NO_NEXT_STEP, BurndownPoint, Figure, NextStep, StoryCard
from prd2pr.views.pull_request.models import CostRow

NOT_PASSED = ("failed", "xpassed", "error")


@dataclass(frozen=True)
class HelpRow:
    usage: str  # for example `/backlog prioritize STORY NUMBER`
    help: str
    example: str = ""
    needs: str = ""  # for example `write`
    now: bool = True  # whether the command is allowed in the current state


@dataclass(frozen=True)
class HelpReply:
    template: ClassVar[str] = "help"
    rows: tuple[HelpRow, ...]
    state: str = ""


@dataclass(frozen=True)
class StateReply:
    """Reply to `/state`."""

    template: ClassVar[str] = "state"
    status: Status
    allowed: tuple[str, ...]
    next: NextStep = NO_NEXT_STEP


@dataclass(frozen=True)
class StoryStatusReply:
    """Reply to `/tdd status`: one story with the refused attempts at its current phase."""

    template: ClassVar[str] = "story_status"
    row: StoryCard
    state: str  # state of its cycle, for example `CODE_GREEN`
    attempts: int = 0  # number of attempts used at the current phase
    of: int = 0
    refused: tuple[Finding, ...] = ()
    next: NextStep = NO_NEXT_STEP
    circuits: tuple[str, ...] = ()  # sentences about breakers that are not closed


@dataclass(frozen=True)
class OverviewReply:
    """Reply to `/tdd overview`: all stories. `in_all` may exceed the number of rows."""

    template: ClassVar[str] = "overview"
    rows: tuple[StoryCard, ...]
    figures: tuple[Figure, ...] = ()
    in_all: int = 0
    next: NextStep = NO_NEXT_STEP
    circuits: tuple[str, ...] = ()


@dataclass(frozen=True)
class LogLine:
    at: str
    text: str


@dataclass(frozen=True)
class LogsReply:
    """Log lines, newest last. `in_all` also counts the lines that are not shown."""

    template: ClassVar[str] = "logs"
    lines: tuple[LogLine, ...]
    in_all: int
    story: str = ""


@dataclass(frozen=True)
class MetricsReply:
    template: ClassVar[str] = "metrics"
    figures: tuple[Figure, ...]
    costs: tuple[CostRow, ...]
    attempts: int
    refused: int  # number of refused attempts
    coverage: tuple[tuple[str, LineCoverage], ...] = ()  # after each story, in the order of integration


@dataclass(frozen=True)
class BudgetRow:
    scope: str  # `this run`, `this story` or `this PRD`
    unit: Unit
    used: float | None  # None if unknown, because a price is missing
    limit: float | None  # None for no limit

    @property
    def used_up(self) -> bool:
        return self.limit is not None and self.used is not None and self.used >= self.limit

    @property
    def unit_name(self) -> str:
        return {"usd": "money", "tokens": "tokens", "minutes": "time"}[self.unit]

    @property
    def used_text(self) -> str:
        return "no price known" if self.used is None else format_amount(self.used, self.unit)

    @property
    def limit_text(self) -> str:
        return "no limit" if self.limit is None else format_amount(self.limit, self.unit)


@dataclass(frozen=True)
class BudgetReply:
    template: ClassVar[str] = "budget"
    rows: tuple[BudgetRow, ...]
    next: NextStep = NO_NEXT_STEP


@dataclass(frozen=True)
class UnprovedRow:
    """A commit that is not proved, with its claim and findings. A commit by a person has no step."""

    sha: str
    subject: str
    step: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class VerifyReply:
    template: ClassVar[str] = "verify"
    steps: int
    proved: int  # number of proved steps
    commits: int
    not_proved: tuple[UnprovedRow, ...] = ()
    head: str = ""
    warnings: int = 0


@dataclass(frozen=True)
class ReportRow:
    """One commit of a verified branch."""

    sha: str
    subject: str
    step: str
    phase: str
    outcome: str  # `proved`, `UNPROVEN`, `REFUTED`, or proved as part of another step
    errors: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class VerifyReport:
    """The result of `prd2pr verify` as a document that lists every commit of the branch."""

    template: ClassVar[str] = "verify_report"
    total: str
    start: str  # the commit that the branch starts from
    head: str
    rows: tuple[ReportRow, ...]
    runs: str = ""  # number of test runs
    warnings: tuple[tuple[str, str, int], ...] = ()  # code, text and number of commits
    statements: StatementCheck | None = None


@dataclass(frozen=True)
class TestRunReply:
    __test__ = False
    template: ClassVar[str] = "test_run"
    sha: str
    collected: int
    passed: int
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    seconds: float = 0
    problems: tuple[str, ...] = ()  # reasons why the run cannot be trusted
    not_passed: tuple[TestResult, ...] = ()
    uncollected: tuple[Failure, ...] = ()  # modules that could not be collected and have no known tests

    @classmethod
    def of(cls, sha: str, report: RunReport, shown: int) -> TestRunReply:
        """Build the reply.

        Tests of a module that could not be collected are among the results and counted only once.
        """
        outcomes = [result.outcome for result in report.results]
        listed = {result.failure for result in report.results}
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
            uncollected=tuple(failure for failure in report.collect_errors if failure not in listed),
        )


@dataclass(frozen=True)
class ExplainReply:
    """Reply to `/tdd explain CODE`. An empty `title` means that there is no such code."""

    template: ClassVar[str] = "explain"
    code: str
    title: str = ""
    explanation: str = ""
    bad: str = ""
    good: str = ""
    remedy: str = ""
    weight: str = ""
    did_you_mean: tuple[str, ...] = ()


@dataclass(frozen=True)
class SprintReply:
    template: ClassVar[str] = "sprint"
    sprint: Sprint
    rows: tuple[StoryCard, ...]
    state: str
    next: NextStep = NO_NEXT_STEP
    burned: tuple[BurndownPoint, ...] = ()  # number of open stories over time

    @property
    def burn_down(self) -> str:
        return format_burndown(self.burned)

    @property
    def chart(self) -> str:
        return render_burndown_chart(self.sprint, self.burned)


@dataclass(frozen=True)
class BacklogReply:
    template: ClassVar[str] = "backlog"
    rows: tuple[Story, ...]
    questions: tuple[str, ...] = ()
    next: NextStep = NO_NEXT_STEP
    approved: frozenset[str] | None = None  # None if no approval is needed


QueryReply = (
    HelpReply
    | StateReply
    | StoryStatusReply
    | OverviewReply
    | LogsReply
    | MetricsReply
    | BudgetReply
    | VerifyReply
    | VerifyReport
    | TestRunReply
    | ExplainReply
    | SprintReply
    | BacklogReply
)
