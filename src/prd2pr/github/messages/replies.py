"""Replies to commands: one frozen type for each, filled from state.

Nothing is escaped or cut here; both happen in `rendering.py`, so any field may contain text of others. `template` names
the file under `templates/github/` with the sentences.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from prd2pr.domain.evidence import Finding
from prd2pr.domain.machines.command_aliases import to_slash_commands
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.errors import Prd2prError
from prd2pr.github.messages.query_replies import QueryReply
from prd2pr.views.models import NO_NEXT_STEP, NextStep
from prd2pr.views.plan import PlanDiff, PlanView
from prd2pr.views.pull_request.next_step import build_remedy_step

TEMPORARY_OUTCOMES = ("waiting", "paused", "blocked")  # after these the same command can be executed later

# --- not executed: `why` is shown in the job --------------------------------------------------------------------------


@dataclass(frozen=True)
class IllegalReply:
    """A state machine does not allow it now; also a command that does not exist (`unknown`)."""

    template: ClassVar[str] = "illegal"
    refusal: CommandRefusal
    next: NextStep = NO_NEXT_STEP

    @property
    def why(self) -> str:
        return self.refusal.describe()


@dataclass(frozen=True)
class UnknownCommandReply:
    template: ClassVar[str] = "unknown"
    written: str  # as the person wrote it: /tdd nxt
    did_you_mean: str = ""  # /tdd next

    @property
    def why(self) -> str:
        return f"{self.written} is not a command"


@dataclass(frozen=True)
class WrongArguments:
    """The command exists, but its arguments are wrong or too many."""

    template: ClassVar[str] = "wrong_arguments"
    command: str  # /backlog prioritize
    problem: str
    usage: str
    example: str
    helps: str = ""  # what to do if the usage was right

    @property
    def why(self) -> str:
        return f"{self.command}: {self.problem}"


@dataclass(frozen=True)
class PermissionDenied:
    template: ClassVar[str] = "not_allowed"
    command: str
    login: str
    has: str  # read
    needs: str  # write

    @property
    def why(self) -> str:
        return f"{self.command} needs the permission `{self.needs}`; {self.login} has `{self.has}`"


@dataclass(frozen=True)
class CommandTooOld:
    template: ClassVar[str] = "too_old"
    command: str
    days: int

    @property
    def why(self) -> str:
        return f"{self.command} was written more than {self.days} days ago"


@dataclass(frozen=True)
class NotNow:
    """Legal, but not possible now: approval is missing, a pause, the budget, a branch that moved."""

    template: ClassVar[str] = "not_now"
    command: str
    reason: str
    next: NextStep = NO_NEXT_STEP
    waits: bool = False  # it may become possible; otherwise it will never be executed as given

    @property
    def why(self) -> str:
        return f"{self.command}: {self.reason}"

    @classmethod
    def of(cls, command: str, stop: NoAction) -> NotNow:
        """The reason is given once and not repeated in the next step."""
        return cls(command, stop.reason, build_remedy_step(stop), waits=stop.outcome in TEMPORARY_OUTCOMES)


@dataclass(frozen=True)
class ProblemReply:
    """An error that a person can fix."""

    template: ClassVar[str] = "problem"
    command: str  # or the part that failed: the plan, the pull request, this run
    what: str
    where: str = ""
    remedy: str = ""
    code: str = ""

    @property
    def why(self) -> str:
        return f"{self.command}: {self.what}"

    @property
    def digest(self) -> str:
        """Identifies one problem among those of its kind."""
        return hashlib.sha256(f"{self.where} {self.what}".encode()).hexdigest()[:12]

    @classmethod
    def of(cls, command: str, error: Prd2prError) -> ProblemReply:
        return cls(command, error.what, error.where, to_slash_commands(error.remedy), error.code)


# --- executed ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommandDone:
    """Something changed, in one commit. `command` is the name in the table (`sprint pause`)."""

    template: ClassVar[str] = "command_done"
    command: str
    by: str
    stories: tuple[str, ...] = ()
    text: str = ""  # what the person gave: the epic, the advice, the reason
    before: str = ""  # the state of the machine that moved
    after: str = ""
    sha: str = ""
    next: NextStep = NO_NEXT_STEP


@dataclass(frozen=True)
class DraftReply:
    """`/tdd design`, `/tdd test`, `/tdd code`, `/tdd refactor`: a draft that no gate has judged."""

    template: ClassVar[str] = "draft"
    story: str
    paths: tuple[str, ...]
    sha: str = ""
    next: NextStep = NO_NEXT_STEP


@dataclass(frozen=True)
class GateReply:
    """A gate judged work: a refused attempt of a role, or what a person pushed or drafted."""

    template: ClassVar[str] = "gate"
    story: str
    phase: str  # green
    accepted: bool
    findings: tuple[Finding, ...] = ()
    people: tuple[str, ...] = ()  # whose work it is; empty: a role's
    attempt: int = 0  # 0: not counted
    of: int = 0
    sha: str = ""  # the commit that passed the gate
    outcome: str = ""  # 9 tests fail as planned
    next: NextStep = NO_NEXT_STEP

    @property
    def why(self) -> str:
        """Why it was refused."""
        message = next((each.message for each in self.findings if each.severity == "error"), "see the answer")
        return f"{self.phase.upper()} of {self.story} refused it: {message}"


@dataclass(frozen=True)
class PlanReply:
    """The plan, to be approved. With `diff`, the PRD and the plan changed."""

    template: ClassVar[str] = "plan"
    plan: PlanView
    diff: PlanDiff | None = None
    next: NextStep = NO_NEXT_STEP  # if it is not the plan's approval


@dataclass(frozen=True)
class RegisterReply:
    """`/project register`: what the base branch lacked, and the pull request that adds it."""

    template: ClassVar[str] = "register"
    repository: str
    base: str
    files: tuple[str, ...] = ()  # empty: nothing is missing
    pull: int = 0


NotExecuted = (
    IllegalReply | UnknownCommandReply | WrongArguments | PermissionDenied | CommandTooOld | NotNow | ProblemReply
)
CommandReply = NotExecuted | CommandDone | DraftReply | GateReply | PlanReply | RegisterReply | QueryReply


def is_refusal(answer: CommandReply) -> bool:
    """Return whether the command was not executed."""
    return isinstance(answer, NotExecuted) or (isinstance(answer, GateReply) and not answer.accepted)


def format_refusal_reason(answer: CommandReply) -> str:
    """Return the reason in one line for the job; empty if the command was executed."""
    return answer.why if isinstance(answer, NotExecuted | GateReply) and is_refusal(answer) else ""
