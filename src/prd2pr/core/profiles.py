"""Which roles run in which profile, and by what: the one table. The cost follows from it.

`quick` asks a model as seldom as can be, `standard` where it pays, `full` wherever judgement can be had.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple, get_args

Profile = Literal["quick", "standard", "full"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

By = Literal["", "code", "model"]  # empty: the role does not run


class Moment(StrEnum):
    """When a role runs."""

    BEFORE_PLAN = "before the plan"
    PLAN = "the plan"
    AFTER_PLAN = "after the plan, before it is committed"
    DESIGN = "DESIGN"
    RED = "RED"
    GREEN = "GREEN"
    BEFORE_LAST_ATTEMPT = "before the last attempt at RED or GREEN"
    REFACTOR = "REFACTOR"
    BEFORE_INTEGRATION = "before INTEGRATED"
    AFTER_LAST_STORY = "with the last story's INTEGRATED"
    EVERY_STEP = "at every step"


class Staffing(NamedTuple):
    quick: By
    standard: By
    full: By


STAFF: dict[str, Staffing] = {
    "why": Staffing("", "", "model"),
    "research": Staffing("", "", "model"),
    "documentation": Staffing("", "", "model"),
    "spike": Staffing("", "", "model"),
    "planner": Staffing("model", "model", "model"),  # in `full` only for what changes later
    "decomposer_cycles": Staffing("", "model", "model"),  # in `standard` beyond twelve requirements
    "decomposer_tasks": Staffing("", "model", "model"),
    "decomposer_criteria": Staffing("", "model", "model"),
    "decomposer_hints": Staffing("", "model", "model"),
    "security": Staffing("", "", "model"),
    "estimator": Staffing("code", "code", "model"),
    "designer": Staffing("", "", "model"),
    "deployment": Staffing("", "", "model"),
    "architect": Staffing("", "model", "model"),
    "tester": Staffing("", "model", "model"),
    "builder": Staffing("model", "model", "model"),
    "fused": Staffing("model", "model", "model"),
    "debugger": Staffing("", "model", "model"),
    "refactorer": Staffing("", "model", "model"),
    "smell": Staffing("code", "code", "code"),
    "pattern_validator": Staffing("", "", "model"),
    "review": Staffing("", "", "model"),
    "retrospective": Staffing("code", "code", "model"),
    "moderator": Staffing("code", "code", "code"),
}


# Whom a mistake of theirs would cost more than their words: these have `models.strong`.
STRONG: frozenset[str] = frozenset({"spike", "security", "debugger", "review"})


def by(role: str, profile: Profile) -> By:
    staffing = STAFF[role]
    return {"quick": staffing.quick, "standard": staffing.standard, "full": staffing.full}[profile]


def asks(role: str, profile: Profile) -> bool:
    """Whether a model is asked for it."""
    return by(role, profile) == "model"


def left_out_by(profile: Profile) -> str:
    """How a phase that a profile does without is told of in its step's note."""
    return f"profile {profile}"
