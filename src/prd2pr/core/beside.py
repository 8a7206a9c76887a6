"""What a command means while stories are worked on side by side, each on a branch of its own.

Such a branch holds steps of its story alone, made by one job after the other. So what steers a story's phases is not
for the PRD's branch then; what is about all of them is, and their jobs heed it between two phases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prd2pr.core.decide import Rest

if TYPE_CHECKING:  # reading comments takes a Markdown parser
    from prd2pr.core.commands import Command

CYCLE_COMMANDS = "tdd "
ABOUT_ALL = frozenset({"tdd run", "tdd halt_all", "tdd reset"})
PAUSE, RESUME, HALT_ALL = "tdd pause", "tdd resume", "tdd halt_all"


@dataclass(frozen=True)
class UnderWay:
    """Stories that have a branch of their own now."""

    stories: tuple[str, ...] = ()

    def meant(self, command: Command) -> Command | Rest:
        """The command as it is carried out, or why it is not."""
        if not self.stories or command.reads or not command.name.startswith(CYCLE_COMMANDS) or self._elsewhere(command):
            return command
        if command.name == PAUSE and not command.stories:
            return replace(command, name=HALT_ALL)
        if command.name in ABOUT_ALL or (command.name == RESUME and not command.stories):
            return command
        names = ", ".join(f"`{name}`" for name in self.stories)
        reason = f"{names} {'is' if len(self.stories) == 1 else 'are'} worked on side by side, by jobs of their own"
        return Rest("waiting", f"{reason}. `/tdd pause` stops them after the phase that they are at", "/tdd run")

    def _elsewhere(self, command: Command) -> bool:
        return bool(command.stories) and not set(command.stories).intersection(self.stories)
