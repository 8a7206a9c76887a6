"""What a comment is answered with: one frozen value for each kind of answer, filled from state.

Nothing in here is escaped or cut; both happen where it is rendered (`forges/said.py`), so any text of others may stand
in any field. `template` names the file under `templates/github/` that has the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prd2pr.core.budget import Unit, amount
from prd2pr.core.burndown import Point, chart, in_a_line
from prd2pr.core.decide import Rest
from prd2pr.core.evidence import Failure, Finding, RunReport, TestResult
from prd2pr.core.next_step import what_helps
from prd2pr.core.picture_parts import CostRow, Figure, NextStep, StoryRow
from prd2pr.core.records import Sprint, Status
from prd2pr.core.refusal import Refusal
from prd2pr.core.said.plans import PlanDiff, PlanView
from prd2pr.core.statement import Statements
from prd2pr.core.two_names import in_comments
from prd2pr.errors import Prd2prError

NOTHING_NEXT = NextStep("")
NOT_PASSED = ("failed", "xpassed", "error")
WAITS = ("waiting", "paused", "blocked")  # outcomes after which the same command can be carried out

# --- a command that was not carried out -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Illegal:
    """A machine does not allow it now; also for a command that does not exist, as `Refusal.unknown` says."""

    template: ClassVar[str] = "illegal"
    refusal: Refusal
    next: NextStep = NOTHING_NEXT


@dataclass(frozen=True)
class Unknown:
    template: ClassVar[str] = "unknown"
    written: str  # as the person wrote it: /tdd nxt
    did_you_mean: str = ""  # /tdd next


@dataclass(frozen=True)
class Misused:
    """The command exists, its arguments are wrong or too much."""

    template: ClassVar[str] = "misused"
    command: str  # /backlog prioritize
    problem: str
    usage: str
    example: str
    helps: str = ""  # where it was written as its usage says


@dataclass(frozen=True)
class NotAllowed:
    template: ClassVar[str] = "not_allowed"
    command: str
    login: str
    has: str  # read
    needs: str  # write


@dataclass(frozen=True)
class TooOld:
    template: ClassVar[str] = "too_old"
    command: str
    days: int


@dataclass(frozen=True)
class NotNow:
    """Legal, but something stands in its way: approval, a pause, the budget, a branch that moved."""

    template: ClassVar[str] = "not_now"
    command: str
    reason: str
    next: NextStep = NOTHING_NEXT
    waits: bool = False  # what it lacks can come; otherwise it will never be carried out as it was given

    @classmethod
    def of(cls, command: str, rest: Rest) -> NotNow:
        """The reason is told once, and so not with what comes next."""
        return cls(command, rest.reason, what_helps(rest), waits=rest.outcome in WAITS)


@dataclass(frozen=True)
class Failed:
    """An error that a person can mend."""

    template: ClassVar[str] = "failed"
    command: str
    what: str
    where: str = ""
    remedy: str = ""
    code: str = ""

    @classmethod
    def of(cls, command: str, error: Prd2prError) -> Failed:
        return cls(command, error.what, error.where, in_comments(error.remedy), error.code)


# --- a command that was carried out -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Carried:
    """Something changed, in one commit. `command` is the name in the table (`sprint pause`), which has its sentence."""

    template: ClassVar[str] = "carried"
    command: str
    by: str
    stories: tuple[str, ...] = ()
    text: str = ""  # what the person gave: the epic, the advice, the reason
    before: str = ""  # the state of the machine that moved
    after: str = ""
    sha: str = ""
    next: NextStep = NOTHING_NEXT


@dataclass(frozen=True)
class Drafted:
    """`/tdd design`, `/tdd test`, `/tdd code`, `/tdd refactor`: work is on the branch, and no gate has judged it."""

    template: ClassVar[str] = "drafted"
    command: str
    story: str
    paths: tuple[str, ...]
    sha: str = ""
    next: NextStep = NOTHING_NEXT


@dataclass(frozen=True)
class Judged:
    """A gate looked at work: a refused attempt of a role, or what a person pushed or drafted."""

    template: ClassVar[str] = "judged"
    story: str
    phase: str  # green
    accepted: bool
    findings: tuple[Finding, ...] = ()
    people: tuple[str, ...] = ()  # whose work it is; empty: a role's
    attempt: int = 0  # 0: not counted
    of: int = 0
    sha: str = ""  # the commit that crosses, where it was accepted
    outcome: str = ""  # 9 tests fail as planned
    next: NextStep = NOTHING_NEXT


# --- reading ----------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class PlanShown:
    """The plan, to be approved. With `diff`: the PRD changed, and so did the plan."""

    template: ClassVar[str] = "plan"
    plan: PlanView
    diff: PlanDiff | None = None
    next: NextStep = NOTHING_NEXT  # where it is not the plan's approval


@dataclass(frozen=True)
class Registered:
    """`/project register`: what the base branch lacked, and the pull request that adds it."""

    template: ClassVar[str] = "registered"
    repository: str
    base: str
    files: tuple[str, ...] = ()  # none: all is there
    pull: int = 0


Answer = (
    Illegal
    | Unknown
    | Misused
    | NotAllowed
    | TooOld
    | NotNow
    | Failed
    | Carried
    | Drafted
    | Judged
    | Help
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
    | PlanShown
    | Registered
)


def refuses(answer: Answer) -> bool:
    """Whether what was asked for was not done."""
    if isinstance(answer, Judged):
        return not answer.accepted
    return isinstance(answer, Illegal | Unknown | Misused | NotAllowed | TooOld | NotNow | Failed)
