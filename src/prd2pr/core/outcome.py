"""How a run on a code host ended: one word for programs, a sentence and the next command for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.core.decide import Outcome, Rest
from prd2pr.core.waves import Wave

Ended = Literal["done", "nothing-to-do", "waiting", "blocked", "budget", "deadline", "handed-on", "refused", "error"]

# A job is red where a person has to look into it. A run that did nothing of what it was asked for is one of these.
FAILED: frozenset[Ended] = frozenset({"blocked", "budget", "refused", "error"})
# The worst says how a run over several PRDs ended.
WORST_FIRST: tuple[Ended, ...] = (
    *("error", "refused", "budget", "blocked", "deadline", "handed-on", "waiting", "done", "nothing-to-do"),
)

ENDED: dict[Outcome, Ended] = {
    "done": "done",
    "waiting": "waiting",
    "paused": "waiting",
    "blocked": "blocked",
    "budget": "budget",
    "stopped": "waiting",
    "nothing": "nothing-to-do",
    "deadline": "deadline",
    "handed-on": "handed-on",
}


@dataclass(frozen=True)
class Ending:
    """Of one PRD in one run."""

    ended: Ended
    reason: str
    next: str = ""
    prd: str = ""
    branch: str = ""
    pull: str = ""  # its address
    story: str = ""
    phase: str = ""
    steps: int = 0
    usd: float | None = 0.0
    tokens: int = 0
    where: str = ""  # file and line that a person has to look at
    wave: Wave | None = None  # stories that other jobs of this very run go on with
    news: bool = True  # what a run finds as an earlier one has told it is none

    @property
    def failed(self) -> bool:
        return self.ended in FAILED


def ended(rest: Rest) -> Ended:
    return ENDED[rest.outcome]


def worst(endings: tuple[Ending, ...]) -> Ending:
    """The one that says how the whole run ended."""
    return min(endings, key=lambda ending: WORST_FIRST.index(ending.ended))
