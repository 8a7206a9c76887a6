"""Which tests name which criterion, in languages beside Python."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prd2pr.core.evidence import Coverage
from prd2pr.core.other.language import Declared


def coverage_of(tests: Iterable[Declared], criteria: Iterable[str]) -> tuple[Coverage, ...]:
    known = list(tests)
    return tuple(
        Coverage(criterion=each, tests=tuple(dict.fromkeys(test.id for test in known if names(test, each))))
        for each in criteria
    )


def names(test: Declared, criterion: str) -> bool:
    """By its id in title, text or comment, or by `c2` as a word of the title."""
    if re.search(rf"(?<![\w.-]){re.escape(criterion)}(?![\w-]|\.\w)", test.said):
        return True
    words = re.split(r"[^a-z0-9]+", test.id.partition("::")[2].lower())
    return criterion.rpartition(".")[2].lower() in words
