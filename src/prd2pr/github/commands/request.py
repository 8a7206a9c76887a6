"""The input and the result of a command handler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.domain.forge import PermissionLevel
from prd2pr.github.messages.replies import CommandReply
from prd2pr.state.cursors import ProcessedItem
from prd2pr.state.store import BranchState
from prd2pr.workflow.session import Session

if TYPE_CHECKING:  # the parser needs a Markdown library, which server commands do not
    from prd2pr.github.commands.parser import ParsedCommand


@dataclass(frozen=True)
class BranchQuery:
    """A query and the state that answers it."""

    session: Session
    state: BranchState
    command: ParsedCommand


@dataclass(frozen=True)
class CommandRequest:
    """A command that its author may give; permission was checked before."""

    command: ParsedCommand
    by: str  # login; for a server command: whose token it was and who sent it
    level: PermissionLevel = "write"
    settles: ProcessedItem | None = None  # its comment or server command, recorded by the commit that executes it
    why: str = ""
    at: str = ""  # when it was written


@dataclass(frozen=True)
class CommandResult:
    """The result. `head` is the branch's head now; unchanged if nothing changed."""

    head: str
    answer: CommandReply | None = None  # None: the status comment shows it
    steps_wanted: int | None = 0  # phases to run now; None: as many as it takes
    run: bool = False  # a run command is in force, for this run and later ones
    story: str = ""  # run phases of this story only; empty: whichever is next
