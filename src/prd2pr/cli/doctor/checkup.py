"""One result of `prd2pr doctor`: the check, the finding and the fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.wording import count
from prd2pr.errors import Prd2prError

Mark = Literal["ok", "warning", "wrong", "unchecked"]
MARKS: dict[Mark, str] = {"ok": "ok     ", "warning": "warning", "wrong": "WRONG  ", "unchecked": "-      "}


@dataclass(frozen=True)
class SetupCheck:
    name: str
    mark: Mark
    found: str
    remedy: str = ""


def make_failed_check(name: str, error: Prd2prError) -> SetupCheck:
    where = f" ({error.where})" if error.where else ""
    return SetupCheck(name, "wrong", f"{error.what}{where}", error.remedy)


def make_skipped_check(name: str, why: str, remedy: str = "") -> SetupCheck:
    """Return a check that was skipped, which never counts as passed."""
    return SetupCheck(name, "unchecked", f"not checked: {why}", remedy)


def format_check(check: SetupCheck) -> str:
    remedy = f"\n{' ' * 22}fix: {check.remedy}" if check.remedy else ""
    return f"{MARKS[check.mark]}  {check.name:<12} {check.found}{remedy}\n"


def format_total(checks: list[SetupCheck]) -> str:
    failed = sum(check.mark == "wrong" for check in checks)
    skipped = [check.name for check in checks if check.mark == "unchecked"]
    if failed:
        return f"{failed} of {len(checks)} checks failed.\n"
    if skipped:
        return (
            f"No problems found in {count(len(checks) - len(skipped), 'check')}. Not checked: {', '.join(skipped)}.\n"
        )
    return "All checks passed.\n"
