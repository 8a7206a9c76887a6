"""Choose between planning in one call and in four passes, and limit the number of model calls."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.costs.profiles import Profile
from prd2pr.domain.records import Prd

# Up to this number one answer suffices: it is checked by code, and all of it fits into one answer.
ONE_CALL_REQUIREMENTS = 40

# A cycle takes three passes; two more calls are for splitting again or for an unusable answer.
CALLS_PER_CYCLE = 5
# One call to find the cycles, and three retries after a refused or unreadable answer.
CALLS_FOR_CYCLES = 4


@dataclass(frozen=True)
class PlanningStrategy:
    four_passes: bool
    why: str

    def __str__(self) -> str:
        return f"{'four passes' if self.four_passes else 'one call'}: {self.why}"


def choose_strategy(profile: Profile, prd: Prd) -> PlanningStrategy:
    """Choose by profile and number of requirements, not counting acceptance criteria."""
    number = sum(requirement.kind != "acceptance" for requirement in prd.requirements)
    counted = f"{number} {'requirement' if number == 1 else 'requirements'}"
    if profile == "quick":
        return PlanningStrategy(four_passes=False, why=f"{counted}, profile quick")
    if profile == "full":
        return PlanningStrategy(four_passes=True, why=f"{counted}, profile full")
    return PlanningStrategy(four_passes=number > ONE_CALL_REQUIREMENTS, why=counted)


def compute_max_model_calls(cycles: int) -> int:
    return CALLS_FOR_CYCLES + CALLS_PER_CYCLE * cycles
