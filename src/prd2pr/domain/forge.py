"""The data model of a forge such as GitHub: users, issues, pull requests, comments and checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

PermissionLevel = Literal["none", "read", "triage", "write", "maintain", "admin"]
LEVELS: tuple[PermissionLevel, ...] = get_args(PermissionLevel)  # in ascending order
Conclusion = Literal["success", "failure", "neutral", "action_required"]
Reaction = Literal["eyes", "rocket", "+1", "-1", "confused"]
END_REACTIONS: tuple[Reaction, ...] = ("confused", "rocket")  # set when a command is finished


def has_level(level: PermissionLevel, needed: PermissionLevel) -> bool:
    return LEVELS.index(level) >= LEVELS.index(needed)


@dataclass(frozen=True)
class Actor:
    login: str
    id: int
    bot: bool = False


BotIdentities = tuple[Actor, ...]  # the bot's current account first, then accounts that it may have used before


@dataclass(frozen=True)
class Comment:
    id: int
    number: int  # of its issue or pull request
    author: Actor
    body: str
    created_at: str = ""
    edited: bool = False
    url: str = ""
    reactions: frozenset[str] = frozenset()  # by any account, of the kinds that show the result of a command


@dataclass(frozen=True)
class Issue:
    number: int
    title: str
    body: str
    author: Actor
    open: bool = True
    labels: tuple[str, ...] = ()
    url: str = ""
    id: int = 0  # sub-issues are identified by this, not by their number
    is_pull: bool = False
    closed_by: Actor | None = None


@dataclass(frozen=True)
class LabelEvent:
    """Who added a label, and when."""

    by: Actor
    at: str
    again: bool = False  # it was there before and had been removed


@dataclass(frozen=True)
class Pull:
    number: int
    title: str
    body: str
    head: str  # branch
    head_sha: str
    base: str
    author: Actor
    open: bool = True
    merged: bool = False
    draft: bool = False
    from_fork: bool = False
    labels: tuple[str, ...] = ()
    url: str = ""
    node_id: str = ""
    merge_sha: str = ""  # the commit that merged it into the base branch; empty before


@dataclass(frozen=True)
class Annotation:
    path: str
    line: int
    level: Literal["notice", "warning", "failure"]
    message: str
    title: str = ""


@dataclass(frozen=True)
class CheckRun:
    """The check of one phase commit. A check with the same `key` on the same commit is updated, not duplicated."""

    key: str
    name: str
    sha: str
    conclusion: Conclusion
    title: str
    summary: str
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True)
class Label:
    name: str
    color: str = "ededed"
    description: str = ""


def is_same_text(one: str, other: str) -> bool:
    """Compare two texts, ignoring line endings and surrounding space, which the forge may change."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
