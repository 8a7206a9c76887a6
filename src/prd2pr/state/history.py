"""Commits as values, parsed from the raw commit objects, so that no git configuration can change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from prd2pr.state.commit_message import read_trailers, split_message
from prd2pr.state.git_process import GitObject


@dataclass(frozen=True)
class CommitInfo:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str  # name <email>
    at: str  # the author's date, UTC
    subject: str
    body: str
    trailers: Mapping[str, tuple[str, ...]]

    @property
    def short(self) -> str:
        return self.sha[:10]


def parse_commit(found: GitObject) -> CommitInfo:
    head, _, message = found.content.partition(b"\n\n")
    headers: dict[str, list[str]] = {}
    for line in head.split(b"\n"):
        if line.startswith(b" "):  # continuation line of a signature
            continue
        key, _, value = line.partition(b" ")
        headers.setdefault(key.decode("ascii", "replace"), []).append(value.decode("utf-8", "replace"))
    encoding = headers.get("encoding", ["utf-8"])[0]
    subject, body = split_message(_decode_message(message, encoding))
    author, at = _parse_signature(headers.get("author", [""])[0])
    return CommitInfo(
        sha=found.id,
        tree=headers["tree"][0],
        parents=tuple(headers.get("parent", ())),
        author=author,
        at=at,
        subject=subject,
        body=body,
        trailers=read_trailers(body),
    )


def _decode_message(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding, "replace")
    except LookupError:  # an encoding unknown to Python
        return raw.decode("utf-8", "replace")


def _parse_signature(line: str) -> tuple[str, str]:
    who, _, when = line.rpartition("> ")
    seconds = when.split(" ")[0]
    if not seconds.isdigit():
        return line, ""
    return f"{who}>", format_utc_seconds(int(seconds))


def format_utc_seconds(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):  # git accepts dates that datetime does not
        return ""
