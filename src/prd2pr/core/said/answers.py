"""What a comment is answered with: one frozen value for each kind of answer, filled from state.

Nothing in here is escaped or cut; both happen where it is rendered (`forges/said.py`), so any text of others may stand
in any field. `template` names the file under `templates/github/` that has the sentences.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from prd2pr.core.decide import Rest
from prd2pr.core.evidence import Finding
from prd2pr.core.next_step import what_helps
from prd2pr.core.picture_parts import NOTHING_NEXT, NextStep
from prd2pr.core.refusal import Refusal
from prd2pr.core.said.plans import PlanDiff, PlanView
from prd2pr.core.said.readings import Reading
from prd2pr.core.two_names import in_comments
from prd2pr.errors import Prd2prError

WAITS = ("waiting", "paused", "blocked")  # outcomes after which the same command can be carried out

# --- a command that was not carried out: `why` is for whoever looks at the run ----------------------------------------


@dataclass(frozen=True)
class Illegal:
    """A machine does not allow it now; also for a command that does not exist, as `Refusal.unknown` says."""

    template: ClassVar[str] = "illegal"
    refusal: Refusal
    next: NextStep = NOTHING_NEXT

    @property
    def why(self) -> str:
        return self.refusal.sentence()


@dataclass(frozen=True)
class Unknown:
    template: ClassVar[str] = "unknown"
    written: str  # as the person wrote it: /tdd nxt
    did_you_mean: str = ""  # /tdd next

    @property
    def why(self) -> str:
        return f"{self.written} is no command"


@dataclass(frozen=True)
class Misused:
    """The command exists, its arguments are wrong or too much."""

    template: ClassVar[str] = "misused"
    command: str  # /backlog prioritize
    problem: str
    usage: str
    example: str
    helps: str = ""  # where it was written as its usage says

    @property
    def why(self) -> str:
        return f"{self.command}: {self.problem}"


@dataclass(frozen=True)
class NotAllowed:
    template: ClassVar[str] = "not_allowed"
    command: str
    login: str
    has: str  # read
    needs: str  # write

    @property
    def why(self) -> str:
        return f"{self.command} needs the permission `{self.needs}`; {self.login} has `{self.has}`"


@dataclass(frozen=True)
class TooOld:
    template: ClassVar[str] = "too_old"
    command: str
    days: int

    @property
    def why(self) -> str:
        return f"{self.command} was written more than {self.days} days ago"


@dataclass(frozen=True)
class NotNow:
    """Legal, but something stands in its way: approval, a pause, the budget, a branch that moved."""

    template: ClassVar[str] = "not_now"
    command: str
    reason: str
    next: NextStep = NOTHING_NEXT
    waits: bool = False  # what it lacks can come; otherwise it will never be carried out as it was given

    @property
    def why(self) -> str:
        return f"{self.command}: {self.reason}"

    @classmethod
    def of(cls, command: str, rest: Rest) -> NotNow:
        """The reason is told once, and so not with what comes next."""
        return cls(command, rest.reason, what_helps(rest), waits=rest.outcome in WAITS)


@dataclass(frozen=True)
class Failed:
    """An error that a person can mend."""

    template: ClassVar[str] = "failed"
    command: str  # or what it kept from being made: the plan, the pull request; or this run as a whole
    what: str
    where: str = ""
    remedy: str = ""
    code: str = ""

    @property
    def why(self) -> str:
        return f"{self.command}: {self.what}"

    @property
    def digest(self) -> str:
        """Of one problem among those of its kind."""
        return hashlib.sha256(f"{self.where} {self.what}".encode()).hexdigest()[:12]

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

    @property
    def why(self) -> str:
        """Where it was refused."""
        message = next((each.message for each in self.findings if each.severity == "error"), "see the answer")
        return f"{self.phase.upper()} of {self.story} refused it: {message}"


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


NotDone = Illegal | Unknown | Misused | NotAllowed | TooOld | NotNow | Failed
Answer = NotDone | Carried | Drafted | Judged | PlanShown | Registered | Reading


def refuses(answer: Answer) -> bool:
    """Whether what was asked for was not done."""
    return isinstance(answer, NotDone) or (isinstance(answer, Judged) and not answer.accepted)


def why_refused(answer: Answer) -> str:
    """In one line, for whoever looks at the run; empty where it was done."""
    return answer.why if isinstance(answer, NotDone | Judged) and refuses(answer) else ""
