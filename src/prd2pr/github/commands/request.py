"""Input and result of a command handler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.domain.forge import PermissionLevel
from prd2pr.github.messages.replies import CommandReply
from prd2pr.state.cursors import ProcessedItem
from prd2pr.state.store import BranchState
from prd2pr.workflow.session import Session

if TYPE_CHECKING:  # the parser needs a Markdown library, but orders do not
    from prd2pr.github.commands.parser import ParsedCommand


@dataclass(frozen=True)
class BranchQuery:
    session: Session
    state: BranchState
    command: ParsedCommand


@dataclass(frozen=True)
class CommandRequest:
    """A command whose author has the required permission."""

    command: ParsedCommand
    by: str  # login, or for an order the owner of the token and the sender
    level: PermissionLevel = "write"
    settles: ProcessedItem | None = None  # the comment or order, recorded by the commit that executes it
    why: str = ""
    at: str = ""  # when it was written


@dataclass(frozen=True)
class CommandResult:
    """The result of a command. `head` is the new head of the branch, or the old one if nothing changed."""

    head: str
    answer: CommandReply | None = None  # None if the status comment shows the result
    steps_wanted: int | None = 0  # number of phases to run now; None for no limit
    run: bool = False  # whether a run command is in force for this run and later ones
    story: str = ""  # run only phases of this story; empty for any story
