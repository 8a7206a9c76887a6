"""Test ids in languages other than Python: `path::suite > title`, with the parameters of a case in `[…]`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from prd2pr.languages.base import DeclaredTestCase

SEPARATOR = " > "
_MAX_LENGTH = 300


def normalize_title(title: str) -> str:
    """Return the title on one line.

    Square brackets become round, because an id ends with its parameters in square ones.
    """
    return re.sub(r"\s+", " ", title).strip().replace("[", "(").replace("]", ")")[:_MAX_LENGTH]


def make_test_id(path: str, titles: Iterable[str]) -> str:
    return f"{path}::{SEPARATOR.join(map(normalize_title, titles))}"


class IdAssigner:
    """Assigns ids to the test results of one file. A result with a declared test gets its id."""

    def __init__(self, path: str, declared: Sequence[DeclaredTestCase]) -> None:
        self._path = path
        self._exact = {each.id for each in declared if not each.pattern}
        self._holed = [(re.compile(each.pattern), each.id) for each in declared if each.pattern]
        self._seen = Counter[str]()

    def assign_id(self, titles: Sequence[str]) -> str:
        name = make_test_id(self._path, titles)
        if name not in self._exact:
            title = name.partition("::")[2]
            name = next((f"{holed}[{title}]" for pattern, holed in self._holed if pattern.fullmatch(title)), name)
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name} #{self._seen[name]}"
