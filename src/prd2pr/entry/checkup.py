"""One line of `prd2pr doctor`: what was looked at, what was found, what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.core.wording import count
from prd2pr.errors import Prd2prError

Mark = Literal["ok", "warning", "wrong", "unchecked"]
MARKS: dict[Mark, str] = {"ok": "ok     ", "warning": "warning", "wrong": "WRONG  ", "unchecked": "-      "}


@dataclass(frozen=True)
class Check:
    name: str
    mark: Mark
    found: str
    remedy: str = ""


def wrong(name: str, error: Prd2prError) -> Check:
    where = f" ({error.where})" if error.where else ""
    return Check(name, "wrong", f"{error.what}{where}", error.remedy)


def not_checked(name: str, why: str, remedy: str = "") -> Check:
    """What was not looked at is never called fine."""
    return Check(name, "unchecked", f"not checked: {why}", remedy)


def shown(check: Check) -> str:
    remedy = f"\n{' ' * 22}to do: {check.remedy}" if check.remedy else ""
    return f"{MARKS[check.mark]}  {check.name:<12} {check.found}{remedy}\n"


def total(checks: list[Check]) -> str:
    wrongs = sum(check.mark == "wrong" for check in checks)
    skipped = [check.name for check in checks if check.mark == "unchecked"]
    if wrongs:
        return f"{wrongs} of {len(checks)} checks {'is' if wrongs == 1 else 'are'} wrong.\n"
    if skipped:
        return f"Nothing is wrong in {count(len(checks) - len(skipped), 'check')}. Not checked: {', '.join(skipped)}.\n"
    return "Everything is ready.\n"
