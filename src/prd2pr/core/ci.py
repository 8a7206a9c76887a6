"""The repository's own checks: three commits in a row on which they fail are a matter for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PATIENCE = 3
OUR_CHECKS = "prd2pr"  # whose our own are said to be: the token's App may be the one that CI has, too
FAILING = frozenset({"failure", "timed_out", "cancelled", "action_required", "startup_failure"})


@dataclass(frozen=True)
class CheckResult:
    """A check run as the code host has it. `app` is whose it is; `conclusion` is empty while it runs."""

    name: str
    conclusion: str
    app: str = ""


def failing(checks: Sequence[CheckResult], me: str) -> tuple[str, ...]:
    """Names of the checks of others that failed. Our own say what the gates said, which is known already."""
    found = (check.name for check in checks if check.app != me and check.conclusion in FAILING)
    return tuple(dict.fromkeys(found))


def ci_failed(heads: Sequence[Sequence[CheckResult]], me: str) -> str:
    """`heads`: checks of the branch's commits, the newest first. Empty: go on; else why not.

    A commit whose checks have not ended, or that has none, says nothing either way and is passed over.
    """
    judged = [checks for checks in heads if settled(checks, me)][:PATIENCE]
    failed = [failing(checks, me) for checks in judged]
    if len(failed) < PATIENCE or not all(failed):
        return ""
    return f"CI failed on {PATIENCE} commits in a row: {', '.join(failed[0])}"


def settled(checks: Sequence[CheckResult], me: str) -> bool:
    others = [check for check in checks if check.app != me]
    return bool(others) and all(check.conclusion for check in others)
