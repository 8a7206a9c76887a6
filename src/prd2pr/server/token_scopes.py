"""Scopes and repositories of API tokens. All access that is not granted is denied."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

ALL_REPOSITORIES = "*"
REPO = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
PATTERN = re.compile(r"\*|[A-Za-z0-9._-]{1,100}/(\*|[A-Za-z0-9._-]{1,100})")


class Scope(StrEnum):
    """The scope of a token. Each scope includes those before it."""

    READ = "read"  # see everything except the audit log
    OPERATE = "operate"  # also order work: retry, reset
    ADMIN = "admin"  # also see the audit log

    def includes(self, needed: Scope) -> bool:
        order = tuple(Scope)
        return order.index(self) >= order.index(needed)


SCOPE_DESCRIPTIONS: dict[Scope, str] = {
    Scope.READ: "see projects, tasks, runs, workers, circuits and events",
    Scope.OPERATE: "also retry tasks and reset circuits",
    Scope.ADMIN: "also see the audit log: who requested what",
}


@dataclass(frozen=True)
class Bearer:
    """The holder of a token."""

    id: str
    name: str
    scope: Scope
    repos: tuple[str, ...]  # owner/name, owner/* or *

    def sees(self, repo: str) -> bool:
        return any(matches_repo_pattern(pattern, repo) for pattern in self.repos)

    def may(self, needed: Scope, repo: str) -> bool:
        return self.scope.includes(needed) and self.sees(repo)

    @property
    def sees_all(self) -> bool:
        return ALL_REPOSITORIES in self.repos


def matches_repo_pattern(pattern: str, repo: str) -> bool:
    """Return whether a repository matches the pattern, ignoring case as GitHub does."""
    pattern, repo = pattern.lower(), repo.lower()
    if pattern == ALL_REPOSITORIES:
        return True
    owner, _, name = pattern.partition("/")
    if name == ALL_REPOSITORIES:
        return repo.partition("/")[0] == owner
    return pattern == repo


def is_repo_pattern(text: str) -> bool:
    return PATTERN.fullmatch(text) is not None


def is_repo_name(text: str) -> bool:
    return REPO.fullmatch(text) is not None
