"""A state machine's refusal of a command, with the commands that are allowed instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.errors import IllegalCommand


@dataclass(frozen=True)
class CommandRefusal:
    command: str  # as people write it, such as /sprint plan
    state: str
    allowed_now: tuple[str, ...]
    allowed_in: tuple[str, ...] = ()  # states that allow it; empty for an unknown command
    remedy: str = ""
    did_you_mean: str = ""

    @property
    def is_unknown(self) -> bool:
        return not self.allowed_in

    def describe(self) -> str:
        if self.is_unknown:
            return f"unknown command `{self.command}`"
        return f"`{self.command}` is not allowed in state {self.state}"

    def to_error(self) -> IllegalCommand:
        now = ", ".join(f"`{name}`" for name in self.allowed_now)
        advice = f"did you mean `{self.did_you_mean}`?" if self.did_you_mean else self.remedy
        return IllegalCommand(self.describe(), where=f"allowed now: {now}", remedy=advice)


def find_closest_command(name: str, known: Iterable[str]) -> str:
    """Return the known command with the most similar spelling, or an empty string if none is close."""
    folded = {option.lower().replace("_", "-"): option for option in known}
    near = difflib.get_close_matches(name.lower().replace("_", "-"), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else ""
