"""Match tests in languages other than Python with the criteria that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prd2pr.domain.evidence import Coverage
from prd2pr.languages.base import DeclaredTestCase


def match_criteria(tests: Iterable[DeclaredTestCase], criteria: Iterable[str]) -> tuple[Coverage, ...]:
    known = list(tests)
    return tuple(
        Coverage(criterion=each, tests=tuple(dict.fromkeys(test.id for test in known if names_criterion(test, each))))
        for each in criteria
    )


def names_criterion(test: DeclaredTestCase, criterion: str) -> bool:
    """Return whether the test names the criterion.

    Its title, text or comment must contain the id, or its title must contain the word `c2` for criterion 2.
    """
    if re.search(rf"(?<![\w.-]){re.escape(criterion)}(?![\w-]|\.\w)", test.described):
        return True
    words = re.split(r"[^a-z0-9]+", test.id.partition("::")[2].lower())
    return criterion.rpartition(".")[2].lower() in words
