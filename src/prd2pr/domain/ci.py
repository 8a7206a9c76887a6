"""The repository's own CI checks. If they fail on three commits in a row, a person must decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from prd2pr.domain.records import Document, Record

FAILED_COMMITS_TO_STOP = 3
OUR_CHECKS = "prd2pr"  # `app` of our own checks, since CI may use the same GitHub App
FAILING = frozenset({"failure", "timed_out", "cancelled", "action_required", "startup_failure"})


@dataclass(frozen=True)
class CheckResult:
    """A check run as reported by GitHub. `app` is its owner, and `conclusion` is empty while it runs."""

    name: str
    conclusion: str
    app: str = ""


class CiCheck(Record):
    name: str
    conclusion: str


class StepCi(Record):
    """The results of the repository's own CI on the commit of one step."""

    step: int
    commit: str
    checks: tuple[CiCheck, ...]


class StoryCi(Document):
    """The CI results of a story, stored as `tdd/ci/<story>.json` by the first commit after they were known.

    No gate depends on them, and nobody can prove them again from the commits.
    """

    item_lines: ClassVar[bool] = True
    story: str
    results: tuple[StepCi, ...] = ()

    def with_result(self, result: StepCi) -> StoryCi:
        others = (each for each in self.results if each.step != result.step)
        return self.model_copy(update={"results": tuple(sorted((*others, result), key=lambda each: each.step))})


@dataclass(frozen=True)
class CommitCi:
    """The settled checks of one commit, as GitHub reports them."""

    story: str
    step: int
    commit: str
    checks: tuple[CheckResult, ...]

    @property
    def record(self) -> StepCi:
        others = [check for check in self.checks if check.app != OUR_CHECKS]
        found = sorted({(each.name, each.conclusion) for each in others})
        return StepCi(
            step=self.step,
            commit=self.commit,
            checks=tuple(CiCheck(name=name, conclusion=conclusion) for name, conclusion in found),
        )


def list_failing_checks(checks: Sequence[CheckResult], me: str) -> tuple[str, ...]:
    """Return the names of failed checks of other apps. Our own checks only repeat the gates' verdicts."""
    found = (check.name for check in checks if check.app != me and check.conclusion in FAILING)
    return tuple(dict.fromkeys(found))


def describe_ci_failure(heads: Sequence[Sequence[CheckResult]], me: str) -> str:
    """Return why work must stop after repeated CI failures, or an empty string.

    `heads` are the checks of the branch's commits, newest first. Commits without checks or with unfinished ones are
    ignored.
    """
    judged = [checks for checks in heads if has_settled_checks(checks, me)][:FAILED_COMMITS_TO_STOP]
    failed = [list_failing_checks(checks, me) for checks in judged]
    if len(failed) < FAILED_COMMITS_TO_STOP or not all(failed):
        return ""
    return f"CI failed on {FAILED_COMMITS_TO_STOP} commits in a row: {', '.join(failed[0])}"


def has_settled_checks(checks: Sequence[CheckResult], me: str) -> bool:
    others = [check for check in checks if check.app != me]
    return bool(others) and all(check.conclusion for check in others)
