"""One line for people about how a file that must not change has changed. Pure."""

from __future__ import annotations

import difflib

_SHOWN = 60


def first_difference(old: bytes, new: bytes) -> str:
    """line 14 `== 90` became `>= 0`; and how many places more."""
    if b"\0" in old or b"\0" in new:
        return f"{len(old)} bytes became {len(new)}"
    before, after = (data.decode("utf-8", "replace").splitlines() for data in (old, new))
    edits = [
        edit for edit in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if _is_edit(edit)
    ]
    if not edits:
        return "only line ends or the end of the file differ"
    kind, start, _, new_start, _ = edits[0]
    if kind == "insert":
        said = f"line {new_start + 1} `{_shown(after[new_start])}` was added"
    elif kind == "delete":
        said = f"line {start + 1} `{_shown(before[start])}` was removed"
    else:
        said = f"line {start + 1} {_words(before[start], after[new_start])}"
    return said + (f", and {len(edits) - 1} more" if len(edits) > 1 else "")


def _is_edit(edit: tuple[str, int, int, int, int]) -> bool:
    return edit[0] != "equal"


def _words(old: str, new: str) -> str:
    """The part of the line that differs, in whole words."""
    a, b = old.split(), new.split()
    start = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    tail = next(
        (at for at, (x, y) in enumerate(zip(a[start:][::-1], b[start:][::-1], strict=False)) if x != y),
        min(len(a), len(b)) - start,
    )
    was, now = " ".join(a[start : len(a) - tail]), " ".join(b[start : len(b) - tail])
    return f"`{_shown(was or old)}` became `{_shown(now or new)}`"


def _shown(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
