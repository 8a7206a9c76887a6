"""Replies to commands: one frozen type for each, filled from the state.

Fields may contain untrusted text of any length; `rendering.py` escapes and cuts it. `template` names the file with the
wording under `templates/github/`.
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

TEMPORARY_OUTCOMES = ("waiting", "paused", "blocked")  # outcomes after which the same command may succeed later

# --- not executed: `why` is shown in the job --------------------------------------------------------------------------


@dataclass(frozen=True)
class IllegalReply:
    """A state machine does not allow the command now, or the command does not exist (`unknown`)."""

    template: ClassVar[str] = "illegal"
    refusal: CommandRefusal
    next: NextStep = NO_NEXT_STEP

    @property
    def why(self) -> str:
        return self.refusal.describe()


@dataclass(frozen=True)
class UnknownCommandReply:
    template: ClassVar[str] = "unknown"
    written: str  # as the person wrote it, for example `/tdd nxt`
    did_you_mean: str = ""  # for example `/tdd next`

    @property
    def why(self) -> str:
        return f"{self.written} is not a command"


@dataclass(frozen=True)
class WrongArguments:
    """The command exists, but its arguments are wrong, missing or too many."""

    template: ClassVar[str] = "wrong_arguments"
    command: str  # for example `/backlog prioritize`
    problem: str
    usage: str
    example: str
    remedy: str = ""  # empty if the usage explains it

    @property
    def why(self) -> str:
        return f"{self.command}: {self.problem}"


@dataclass(frozen=True)
class PermissionDenied:
    template: ClassVar[str] = "not_allowed"
    command: str
    login: str
    has: str  # for example `read`
    needs: str  # for example `write`

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
    """A reply to a command that is not possible now: no approval, a pause, the budget, or a branch that moved."""

    template: ClassVar[str] = "not_now"
    command: str
    reason: str
    next: NextStep = NO_NEXT_STEP
    waits: bool = False  # whether it may become possible; otherwise, it will never be executed in this form

    @property
    def why(self) -> str:
        return f"{self.command}: {self.reason}"

    @classmethod
    def of(cls, command: str, stop: NoAction) -> NotNow:
        """Build the reply from a `NoAction`. The next step does not repeat the reason."""
        return cls(command, stop.reason, build_remedy_step(stop), waits=stop.outcome in TEMPORARY_OUTCOMES)


@dataclass(frozen=True)
class ProblemReply:
    """An error that a person can fix."""

    template: ClassVar[str] = "problem"
    command: str  # the command, or the part that failed: the plan, the pull request, this run
    what: str
    where: str = ""
    remedy: str = ""
    code: str = ""

    @property
    def why(self) -> str:
        return f"{self.command}: {self.what}"

    @property
    def digest(self) -> str:
        """A digest that distinguishes problems with the same code."""
        return hashlib.sha256(f"{self.where} {self.what}".encode()).hexdigest()[:12]

    @classmethod
    def of(cls, command: str, error: Prd2prError) -> ProblemReply:
        return cls(command, error.what, error.where, to_slash_commands(error.remedy), error.code)


# --- executed ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommandDone:
    """A command that changed something, in one commit. `command` is its name in the table, such as `sprint pause`."""

    template: ClassVar[str] = "command_done"
    command: str
    by: str
    stories: tuple[str, ...] = ()
    text: str = ""  # text of the command: the epic, the advice or the reason
    before: str = ""  # the old state of the machine that changed
    after: str = ""
    sha: str = ""
    next: NextStep = NO_NEXT_STEP


@dataclass(frozen=True)
class DraftReply:
    """Reply to `/tdd design`, `/tdd test`, `/tdd code` or `/tdd refactor`: a draft that no gate has judged."""

    template: ClassVar[str] = "draft"
    story: str
    paths: tuple[str, ...]
    sha: str = ""
    next: NextStep = NO_NEXT_STEP


@dataclass(frozen=True)
class GateReply:
    """The verdict of a gate on an attempt of a role, or on commits or drafts by people."""

    template: ClassVar[str] = "gate"
    story: str
    phase: str  # for example `green`
    accepted: bool
    findings: tuple[Finding, ...] = ()
    people: tuple[str, ...] = ()  # authors of the work; empty for a role
    attempt: int = 0  # 0 if not counted
    of: int = 0
    sha: str = ""  # the commit that passed the gate
    outcome: str = ""  # for example `9 tests fail as planned`
    next: NextStep = NO_NEXT_STEP

    @property
    def why(self) -> str:
        message = next((each.message for each in self.findings if each.severity == "error"), "see the answer")
        return f"{self.phase.upper()} of {self.story} refused it: {message}"


@dataclass(frozen=True)
class PlanReply:
    """A plan for approval. With `diff`, the PRD and the plan have changed."""

    template: ClassVar[str] = "plan"
    plan: PlanView
    diff: PlanDiff | None = None
    next: NextStep = NO_NEXT_STEP  # the next step, unless it is to approve the plan


@dataclass(frozen=True)
class RegisterReply:
    """Reply to `/project register`: the files that the base branch lacked, and the pull request that adds them."""

    template: ClassVar[str] = "register"
    repository: str
    base: str
    files: tuple[str, ...] = ()  # empty if nothing is missing
    pull: int = 0


NotExecuted = (
    IllegalReply | UnknownCommandReply | WrongArguments | PermissionDenied | CommandTooOld | NotNow | ProblemReply
)
CommandReply = NotExecuted | CommandDone | DraftReply | GateReply | PlanReply | RegisterReply | QueryReply


def is_refusal(answer: CommandReply) -> bool:
    return isinstance(answer, NotExecuted) or (isinstance(answer, GateReply) and not answer.accepted)


def format_refusal_reason(answer: CommandReply) -> str:
    """Return the reason for a refusal on one line for the job, or an empty string if the command was executed."""
    return answer.why if isinstance(answer, NotExecuted | GateReply) and is_refusal(answer) else ""
