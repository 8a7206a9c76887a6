"""Which way a PRD is planned, and how many model calls a plan may take."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.profiles import Profile
from prd2pr.core.records import Prd

# One answer can hold a plan of this size and be right; beyond it, requirements were forgotten and stories grew.
ONE_CALL_REQUIREMENTS = 12

# A cycle is asked about in three passes; two more calls are for splitting again, or for an answer that was no use.
CALLS_PER_CYCLE = 5
# To find the cycles: one call, and as many again as an answer may be refused or unreadable.
CALLS_FOR_CYCLES = 4


@dataclass(frozen=True)
class Way:
    four_passes: bool
    why: str

    def __str__(self) -> str:
        return f"{'four passes' if self.four_passes else 'one call'}: {self.why}"


def way_of(profile: Profile, prd: Prd) -> Way:
    """Acceptance criteria come with their requirements and are not counted."""
    number = sum(requirement.kind != "acceptance" for requirement in prd.requirements)
    counted = f"{number} {'requirement' if number == 1 else 'requirements'}"
    if profile == "quick":
        return Way(four_passes=False, why=f"{counted}, profile quick")
    if profile == "full":
        return Way(four_passes=True, why=f"{counted}, profile full")
    return Way(four_passes=number > ONE_CALL_REQUIREMENTS, why=counted)


def most_calls(cycles: int) -> int:
    return CALLS_FOR_CYCLES + CALLS_PER_CYCLE * cycles
