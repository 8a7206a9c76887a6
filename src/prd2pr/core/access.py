"""What the holder of a token may do, and in which repositories. What is not granted is denied."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

EVERYWHERE = "*"
REPO = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
PATTERN = re.compile(r"\*|[A-Za-z0-9._-]{1,100}/(\*|[A-Za-z0-9._-]{1,100})")


class Scope(StrEnum):
    """Each holds those before it."""

    READ = "read"  # see what there is
    OPERATE = "operate"  # ask for work: retry, reset
    ADMIN = "admin"  # see who asked for what, and what was put aside

    def holds(self, needed: Scope) -> bool:
        order = tuple(Scope)
        return order.index(self) >= order.index(needed)


SCOPE_WORDS: dict[Scope, str] = {
    Scope.READ: "see projects, tasks, runs, workers, circuits and events",
    Scope.OPERATE: "also ask for a retry of a task or a reset of a circuit",
    Scope.ADMIN: "also see who asked for what",
}


@dataclass(frozen=True)
class Bearer:
    """Who holds a token, as far as the server knows."""

    id: str
    name: str
    scope: Scope
    repos: tuple[str, ...]  # owner/name, owner/* or *

    def sees(self, repo: str) -> bool:
        return any(covers(pattern, repo) for pattern in self.repos)

    def may(self, needed: Scope, repo: str) -> bool:
        return self.scope.holds(needed) and self.sees(repo)

    @property
    def sees_all(self) -> bool:
        return EVERYWHERE in self.repos


def covers(pattern: str, repo: str) -> bool:
    """The code host does not tell large letters from small ones in names."""
    pattern, repo = pattern.lower(), repo.lower()
    if pattern == EVERYWHERE:
        return True
    owner, _, name = pattern.partition("/")
    if name == EVERYWHERE:
        return repo.partition("/")[0] == owner
    return pattern == repo


def is_pattern(text: str) -> bool:
    return PATTERN.fullmatch(text) is not None


def is_repo(text: str) -> bool:
    return REPO.fullmatch(text) is not None
