"""The table of roles by profile: whether a role runs, and whether code or a model does its work.

`quick` uses as few model calls as possible, `standard` those that pay off, and `full` all of them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple

Profile = Literal["quick", "standard", "full"]

Executor = Literal["", "code", "model"]  # empty if the role does not run


class RoleTiming(StrEnum):
    BEFORE_PLAN = "before the plan"  # the values are shown in docs/roles.md
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


class RoleExecutors(NamedTuple):
    quick: Executor
    standard: Executor
    full: Executor


ROLE_EXECUTORS: dict[str, RoleExecutors] = {
    "why": RoleExecutors("", "", "model"),
    "research": RoleExecutors("", "", "model"),
    "documentation": RoleExecutors("", "", "model"),
    "spike": RoleExecutors("", "", "model"),
    "planner": RoleExecutors("model", "model", "model"),
    "security": RoleExecutors("", "", "model"),
    "estimator": RoleExecutors("code", "code", "model"),
    "designer": RoleExecutors("", "", "model"),
    "deployment": RoleExecutors("", "", "model"),
    "architect": RoleExecutors("", "model", "model"),
    "tester": RoleExecutors("", "model", "model"),
    "builder": RoleExecutors("model", "model", "model"),
    "fused": RoleExecutors("model", "model", "model"),
    "programmer": RoleExecutors("model", "model", "model"),
    "examples": RoleExecutors("", "model", "model"),
    "judge": RoleExecutors("", "model", "model"),
    "debugger": RoleExecutors("", "model", "model"),
    "refactorer": RoleExecutors("", "model", "model"),
    "smell": RoleExecutors("code", "code", "code"),
    "pattern_validator": RoleExecutors("", "", "model"),
    "review": RoleExecutors("", "", "model"),
    "retrospective": RoleExecutors("code", "code", "model"),
    "moderator": RoleExecutors("code", "code", "code"),
}


# Roles whose mistakes cost more than their calls. They use `models.strong`.
STRONG_ROLES: frozenset[str] = frozenset({"spike", "security", "debugger", "review"})


def get_executor(role: str, profile: Profile) -> Executor:
    staffing = ROLE_EXECUTORS[role]
    return {"quick": staffing.quick, "standard": staffing.standard, "full": staffing.full}[profile]


def uses_model(role: str, profile: Profile) -> bool:
    return get_executor(role, profile) == "model"


def describe_profile(profile: Profile) -> str:
    """Return why the profile skips its phase, for the note that is committed instead of the phase."""
    return f"profile {profile}"
