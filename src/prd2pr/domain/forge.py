"""The data model of a forge such as GitHub: users, issues, pull requests, comments and checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

PermissionLevel = Literal["none", "read", "triage", "write", "maintain", "admin"]
LEVELS: tuple[PermissionLevel, ...] = get_args(PermissionLevel)  # in ascending order
Conclusion = Literal["success", "failure", "neutral", "action_required"]
Reaction = Literal["eyes", "rocket", "+1", "-1", "confused"]
END_REACTIONS: tuple[Reaction, ...] = ("confused", "rocket")  # added when a command is finished


def has_level(level: PermissionLevel, needed: PermissionLevel) -> bool:
    return LEVELS.index(level) >= LEVELS.index(needed)


@dataclass(frozen=True)
class Actor:
    login: str
    id: int
    bot: bool = False


BotIdentities = tuple[Actor, ...]  # the bot's current account, then accounts that it may have used before


@dataclass(frozen=True)
class Comment:
    id: int
    number: int  # the number of its issue or pull request
    author: Actor
    body: str
    created_at: str = ""
    edited: bool = False
    url: str = ""
    reactions: frozenset[str] = frozenset()  # by any account, limited to those that show a command's result


@dataclass(frozen=True)
class Review(Comment):
    """A submitted review. `parts` are the texts of its comments on lines, which may contain commands too."""

    parts: tuple[ReviewPart, ...] = ()
    requests_changes: bool = False

    @property
    def request(self) -> str:
        """What the review asks for: its text, then each comment with its place."""
        places = (f"{part.place}: {part.body}" for part in self.parts if part.body.strip())
        return "\n\n".join(text.strip() for text in (self.body, *places) if text.strip())


@dataclass(frozen=True)
class ReviewPart:
    place: str  # `src/app.py:12`, or only the file
    body: str


@dataclass(frozen=True)
class Issue:
    number: int
    title: str
    body: str
    author: Actor
    open: bool = True
    labels: tuple[str, ...] = ()
    url: str = ""
    id: int = 0  # identifies sub-issues, which the number does not
    is_pull: bool = False
    closed_by: Actor | None = None


@dataclass(frozen=True)
class LabelEvent:
    """The addition of a label: by whom and when."""

    by: Actor
    at: str
    again: bool = False  # the label had been there before and was removed


@dataclass(frozen=True)
class Pull:
    number: int
    title: str
    body: str
    head: str  # the branch's name
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
    merge_sha: str = ""  # the commit that merged it; empty if it is not merged


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
    """Return whether two texts are the same, ignoring line endings and outer whitespace, which the forge may change."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
