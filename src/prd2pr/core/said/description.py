"""The pull request's description: our part of it is written anew each time, what people write around it stays."""

from __future__ import annotations

from prd2pr.core.said.markers import DESCRIPTION_BEGINS, DESCRIPTION_ENDS

# Descriptions of before there were marks: wholly ours, and known by their last line.
LAST_LINE = "Check it yourself: `prd2pr verify "


def around(there: str) -> tuple[str, str]:
    """What stands before and after our part. A text without our part in it is a person's, and stands before."""
    text = there.replace("\r\n", "\n")
    before, begins, rest = text.partition(DESCRIPTION_BEGINS)
    _, ends, after = rest.rpartition(DESCRIPTION_ENDS)
    if begins and ends:
        return before.strip(), after.strip()
    return ("", "") if LAST_LINE in text else (text.strip(), "")


def described(there: str, ours: str) -> str:
    before, after = around(there)
    marked = f"{DESCRIPTION_BEGINS}\n{ours.strip()}\n{DESCRIPTION_ENDS}"
    return "\n\n".join(part for part in (before, marked, after) if part)


def taken(there: str) -> int:
    """Characters that our part must leave to the others."""
    return len(described(there, ""))
