"""How tests of other languages are called: `path::suite > title`, and `[…]` only for what a title with holes became."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from prd2pr.core.other.language import Declared

SEPARATOR = " > "
_LONGEST = 300


def plain(title: str) -> str:
    """One line; square brackets are round here, since an id ends with its parameters in square ones."""
    return re.sub(r"\s+", " ", title).strip().replace("[", "(").replace("]", ")")[:_LONGEST]


def named(path: str, titles: Iterable[str]) -> str:
    return f"{path}::{SEPARATOR.join(map(plain, titles))}"


class Names:
    """Gives each result of one file its id: the declared one, where one is declared."""

    def __init__(self, path: str, declared: Sequence[Declared]) -> None:
        self._path = path
        self._exact = {each.id for each in declared if not each.pattern}
        self._holed = [(re.compile(each.pattern), each.id) for each in declared if each.pattern]
        self._seen = Counter[str]()

    def id_of(self, titles: Sequence[str]) -> str:
        name = named(self._path, titles)
        if name not in self._exact:
            told = name.partition("::")[2]
            name = next((f"{holed}[{told}]" for pattern, holed in self._holed if pattern.fullmatch(told)), name)
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name} #{self._seen[name]}"
