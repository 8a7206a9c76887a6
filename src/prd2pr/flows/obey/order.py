"""What a person ordered, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.cursors import Settled
from prd2pr.core.hub import Level
from prd2pr.core.said.answers import Answer

if TYPE_CHECKING:  # reading comments takes a Markdown parser, which no order needs
    from prd2pr.core.commands import Command


@dataclass(frozen=True)
class Ordered:
    """A command that its author may give; permission was asked before."""

    command: Command
    by: str  # login; of an order of the App's server, whose token it was and who brought it
    level: Level = "write"
    settles: Settled | None = None  # the comment or order that it comes from; the commit that carries it out says so
    why: str = ""
    at: str = ""  # when it was written


@dataclass(frozen=True)
class Obeyed:
    """What became of it. `head` is the branch's head now: the same as before where nothing changed."""

    head: str
    answer: Answer | None = None  # None: the status comment shows it
    steps_wanted: int | None = 0  # phases to drive now on account of it; None: as many as it takes
    run: bool = False  # an order to go on stands, for this run and the next ones
    story: str = ""  # the phases are to be of this story; empty: whichever is next
