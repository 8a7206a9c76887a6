"""Repositories with memory: records in real commits, and the index over them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from prd2pr.domain.memory_records import (
    DecisionRecord,
    EstimateRecord,
    FailureRecord,
    LibraryNote,
    Memory,
    Pattern,
    PatternUsage,
)
from prd2pr.memory.commit import read_files_under
from prd2pr.memory.files import MemoryRecords, encode_memory_file, read_all_records
from prd2pr.memory.index import MemoryIndex
from prd2pr.state.git import Git
from prd2pr.state.layout import MEMORY

AT = "2026-11-01T12:00:00Z"
NOW = "2026-11-16T12:00:00Z"


def read_memory(git: Git, commit: str) -> MemoryRecords:
    return read_all_records(read_files_under(git, commit, MEMORY))


def failure(name: str = "f-1", **more: Any) -> FailureRecord:
    told = {
        "feature": "WebSocket notifications",
        "approach": "Native WebSockets in the web process",
        "why_failed": "Connections were lost when a second process was started",
        "lesson": "Use Redis pub/sub between the processes",
    }
    return FailureRecord(**{"id": name, "prd": "shop", "story": "shop-1", "at": AT, **told, **more})


def decision(name: str, **more: Any) -> DecisionRecord:
    return DecisionRecord(id=name, prd="p", at=AT, **more)


def estimate(name: str, planned: int, actual: int, **more: Any) -> EstimateRecord:
    told = {
        "feature": "OAuth",
        "estimated_minutes": 10 * planned,
        "actual_minutes": 5 * actual,
        "estimated_sessions": planned,
        "actual_sessions": actual,
        "complexity": 7,
    }
    return EstimateRecord(**{"id": name, "prd": "shop", "story": "shop-1", "at": AT, **told, **more})


def note(library: str, version: str, at: str, expires_at: str) -> LibraryNote:
    name = f"{library}-{version}-{at[:10]}"
    return LibraryNote(
        id=name, prd="shop", at=at, library=library, version=version, content="How to use it.", expires_at=expires_at
    )


def pattern(record: str = "p-1", **more: Any) -> Pattern:
    told = {
        "name": "Money as Decimal",
        "description": "Amounts of money are Decimal, rounded once, at the end of a calculation",
        "example": "src/shop/points.py:12",
    }
    return Pattern(**{"id": record, "prd": "shop", "at": AT, **told, **more})


def usage(name: str, compliance: float, of: str = "p-1") -> PatternUsage:
    return PatternUsage(
        id=name, prd="shop", story="shop-2", at=AT, pattern=of, path="src/shop/fee.py", compliance=compliance
    )


class Library:
    """A repository whose commits are made with plumbing: `add` and `drop` make one commit each."""

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
        self.place = place
        self.git = Git.open(place)
        self.head = ""
        self.put({"README.md": b"# Shop\n"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.git.close()

    def put(self, files: dict[str, bytes | None], *, branch: str = "main") -> str:
        base = self.git.tree(self.head) if self.head else self.git.empty_tree
        tree = self.git.edit_tree(base, files)
        made = self.git.commit(tree, [self.head] if self.head else [], "A step", AT)
        self.git.set_branch(branch, made)
        self.head = made
        return made

    def add(self, *records: Memory) -> str:
        return self.put(dict(map(encode_memory_file, records)))

    def drop(self, records: Iterable[Memory]) -> str:
        return self.put({encode_memory_file(record)[0]: None for record in records})

    def index(self, *, code: bool = True) -> MemoryIndex:
        """The index with text search, even if the extra for vectors is installed."""
        made = MemoryIndex.open(self.git, self.head, code=code)
        made.embedder = None
        return made

    def shell(self, *arguments: str, cwd: Path | None = None) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=cwd or self.place, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()
