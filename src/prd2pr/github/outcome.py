"""The outcome of a run on GitHub: a status for programs, and a sentence and the next command for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.machines.next_phase import ActionOutcome, NoAction
from prd2pr.github.wave import Wave

RunStatus = Literal[
    "done", "nothing-to-do", "waiting", "blocked", "budget", "deadline", "handed-on", "refused", "error"
]

# A job fails if a person has to look into it, or if it did none of the requested work.
FAILED_STATUSES: frozenset[RunStatus] = frozenset({"blocked", "budget", "refused", "error"})
# The worst outcome represents a run over several PRDs.
STATUSES_WORST_FIRST: tuple[RunStatus, ...] = (
    *("error", "refused", "budget", "blocked", "deadline", "handed-on", "waiting", "done", "nothing-to-do"),
)

STATUS_BY_STOP: dict[ActionOutcome, RunStatus] = {
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
class PrdOutcome:
    status: RunStatus
    reason: str
    next: str = ""
    prd: str = ""
    branch: str = ""
    pull: str = ""  # URL
    story: str = ""
    phase: str = ""
    steps: int = 0
    usd: float | None = 0.0
    tokens: int = 0
    where: str = ""  # file and line that a person should look at
    wave: Wave | None = None  # stories that other jobs of this run work on next
    is_news: bool = True  # False if an earlier run already reported it
    replied: bool = False  # whether a refused command was answered where it was given

    @property
    def failed(self) -> bool:
        """Whether the job fails. A refusal with a reply is no failure of the job."""
        return self.status in FAILED_STATUSES and not (self.status == "refused" and self.replied)


def map_stop_to_status(stop: NoAction) -> RunStatus:
    return STATUS_BY_STOP[stop.outcome]


def get_worst_outcome(outcomes: tuple[PrdOutcome, ...]) -> PrdOutcome:
    """Return the outcome that represents the whole run."""
    return min(outcomes, key=lambda outcome: STATUSES_WORST_FIRST.index(outcome.status))
