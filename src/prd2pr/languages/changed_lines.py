"""Find the lines that differ from the previous version of a text."""

from __future__ import annotations

from difflib import SequenceMatcher


def find_changed_lines(before: str | None, after: str) -> frozenset[int]:
    """Return the numbers of the changed lines, starting at 1.

    A line whose indentation alone changed is not included.
    """
    new = [line.strip() for line in after.splitlines()]
    if before is None:
        return frozenset(range(1, len(new) + 1))
    old = [line.strip() for line in before.splitlines()]
    found: set[int] = set()
    for kind, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in {"replace", "insert"}:
            found.update(range(start + 1, end + 1))
    return frozenset(found)
