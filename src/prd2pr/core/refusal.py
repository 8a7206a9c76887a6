"""What a machine answers when it does not allow a command: nothing changed, and here is what would work."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.errors import IllegalCommand


@dataclass(frozen=True)
class Refusal:
    command: str  # as people write it: /sprint plan
    state: str
    allowed_now: tuple[str, ...]
    allowed_in: tuple[str, ...] = ()  # states; empty for an unknown command
    hint: str = ""
    did_you_mean: str = ""

    @property
    def unknown(self) -> bool:
        return not self.allowed_in

    def sentence(self) -> str:
        if self.unknown:
            return f"there is no command `{self.command}`"
        return f"`{self.command}` does nothing in state {self.state}"

    def error(self) -> IllegalCommand:
        now = ", ".join(f"`{name}`" for name in self.allowed_now)
        advice = f"did you mean `{self.did_you_mean}`?" if self.did_you_mean else self.hint
        return IllegalCommand(self.sentence(), where=f"allowed now: {now}", remedy=advice)


def closest(name: str, known: Iterable[str]) -> str:
    """The known command that was meant, or nothing."""
    folded = {option.lower().replace("_", "-"): option for option in known}
    near = difflib.get_close_matches(name.lower().replace("_", "-"), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else ""
