"""What lies on a code host, as plain data: people, issues, pull requests, comments, checks. No call is made here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Level = Literal["none", "read", "triage", "write", "maintain", "admin"]
LEVELS: tuple[Level, ...] = get_args(Level)  # from the least to the most
Conclusion = Literal["success", "failure", "neutral", "action_required"]
Reaction = Literal["eyes", "rocket", "+1", "-1", "confused"]
ENDS: tuple[Reaction, ...] = ("confused", "rocket")  # set when a command is done with


@dataclass(frozen=True)
class Actor:
    login: str
    id: int
    bot: bool = False


Ours = tuple[Actor, ...]  # as whom we write now, then as whom we may have written before


@dataclass(frozen=True)
class Comment:
    id: int
    number: int  # of the issue or pull request that it stands under
    author: Actor
    body: str
    created_at: str = ""
    edited: bool = False
    url: str = ""
    reactions: frozenset[str] = frozenset()  # whoever's, of the kinds that tell how a command ended


@dataclass(frozen=True)
class Issue:
    number: int
    title: str
    body: str
    author: Actor
    open: bool = True
    labels: tuple[str, ...] = ()
    url: str = ""
    id: int = 0  # sub-issues are named by this, not by their number
    is_pull: bool = False
    closed_by: Actor | None = None


@dataclass(frozen=True)
class Given:
    """A label: by whom, and when."""

    by: Actor
    at: str
    again: bool = False  # it was there before, and was taken away


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
    merge_sha: str = ""  # what its merge made of the base branch; empty before


@dataclass(frozen=True)
class Annotation:
    path: str
    line: int
    level: Literal["notice", "warning", "failure"]
    message: str
    title: str = ""


@dataclass(frozen=True)
class Check:
    """One phase commit's check. `key` is its identity: the same key on the same commit is updated, never doubled."""

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


def same_text(one: str, other: str) -> bool:
    """The host may give line ends, and what surrounds a text, back in another form."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
