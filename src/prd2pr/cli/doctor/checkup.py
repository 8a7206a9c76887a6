"""One result of `prd2pr doctor`: the check, the finding and the fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from prd2pr.domain.wording import count
from prd2pr.errors import Prd2prError

Mark = Literal["ok", "warning", "wrong", "unchecked"]
Use = Literal["plan and run", "GitHub"]  # what does not work while the check fails
MARKS: dict[Mark, str] = {"ok": "ok     ", "warning": "warning", "wrong": "WRONG  ", "unchecked": "-      "}


@dataclass(frozen=True)
class SetupCheck:
    name: str
    mark: Mark
    found: str
    remedy: str = ""
    affects: Use = "plan and run"


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
    failed = "".join(_format_failed(checks, use) for use in get_args(Use))
    if failed:
        return failed
    skipped = [check.name for check in checks if check.mark == "unchecked"]
    if skipped:
        return (
            f"No problems found in {count(len(checks) - len(skipped), 'check')}. Not checked: {', '.join(skipped)}.\n"
        )
    return "All checks passed.\n"


def _format_failed(checks: list[SetupCheck], use: Use) -> str:
    concerned = [check for check in checks if check.affects == use]
    failed = list(dict.fromkeys(check.name for check in concerned if check.mark == "wrong"))
    number = sum(check.mark == "wrong" for check in concerned)
    effect = "prd2pr does not work on GitHub" if use == "GitHub" else "`plan` and `run` do not work"
    where = " for GitHub" if use == "GitHub" else ""
    return (
        f"{number} of {count(len(concerned), 'check')}{where} failed ({', '.join(failed)}): {effect}.\n"
        if failed
        else ""
    )
