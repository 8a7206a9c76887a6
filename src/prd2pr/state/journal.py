"""The journal of costs and refusals since the last commit, written immediately so that it survives `kill -9`.

It has one JSON object per line under `.git/prd2pr/journal/`. Each entry contains the branch's head at that time. Once
the branch has moved, the new commit includes the totals, and the entry is no longer needed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prd2pr.errors import StateCorrupted
from prd2pr.state.layout import check_id


@dataclass(frozen=True)
class JournalEntry:
    kind: str  # call, refused …
    head: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Journal:
    """The journal of one PRD. Only the holder of the PRD's lock may write to it."""

    directory: Path
    prd_id: str

    def __post_init__(self) -> None:
        check_id(self.prd_id, "PRD id")

    @property
    def path(self) -> Path:
        return self.directory / "journal" / f"{self.prd_id}.jsonl"

    def append(self, kind: str, *, head: str, **facts: object) -> None:
        self.append_all(kind, head=head, listed=(facts,))

    def append_all(self, kind: str, *, head: str, listed: Iterable[Mapping[str, object]]) -> None:
        """Append several entries in one write, so that a kill leaves all of them or none."""
        entries = ({"kind": kind, "head": head, "facts": dict(facts)} for facts in listed)
        line = b"".join(json.dumps(entry, sort_keys=True).encode() + b"\n" for entry in entries)
        fresh = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write_all(handle, line, _truncate_torn_line(handle))
            os.fsync(handle)
        finally:
            os.close(handle)
        if fresh:
            _sync_directory(self.path.parent)

    def entries(self) -> tuple[JournalEntry, ...]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return ()
        complete = data[: data.rfind(b"\n") + 1]  # an incomplete last line was left by a kill
        return tuple(self._parse(complete))

    def entries_since(self, head: str) -> tuple[JournalEntry, ...]:
        """Return the entries that no commit includes yet, which were written while the branch was at `head`."""
        return tuple(entry for entry in self.entries() if entry.head == head)

    def settle(self, head: str = "", kept: Iterable[JournalEntry] = ()) -> None:
        """Remove all entries except those of `head`; `kept` entries are moved to `head`."""
        here = (entry for entry in self.entries() if head and entry.head == head)
        self._rewrite([*here, *(replace(entry, head=head) for entry in kept)])

    def restart(self, kind: str, *, head: str, **facts: object) -> None:
        """Replace all entries by one, so that a kill leaves either the old entries or the new one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._rewrite([JournalEntry(kind, head, facts)])

    def forget(self, kind: str) -> None:
        """Remove all entries of one kind, for any head."""
        self._rewrite([entry for entry in self.entries() if entry.kind != kind])

    def move_entries(self, old: str, new: str) -> None:
        """Move the entries of `old` to `new`, after the branch moved by a commit that does not include them."""
        entries = self.entries()
        if any(entry.head == old for entry in entries):
            self._rewrite([replace(entry, head=new) if entry.head == old else entry for entry in entries])

    def _rewrite(self, kept: Sequence[JournalEntry]) -> None:
        """Replace the file atomically."""
        if not kept and not self.path.exists():
            return
        with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as made:
            for entry in kept:
                made.write(json.dumps(vars(entry), sort_keys=True).encode() + b"\n")
            made.flush()
            os.fsync(made.fileno())
        Path(made.name).replace(self.path)
        _sync_directory(self.path.parent)

    def _parse(self, data: bytes) -> Iterator[JournalEntry]:
        for number, line in enumerate(data.splitlines(), 1):
            try:
                raw = json.loads(line)
                yield JournalEntry(raw["kind"], raw["head"], raw["facts"])
            except (ValueError, KeyError, TypeError) as error:
                # Skipping the line would lose track of money that was spent.
                raise StateCorrupted(
                    f"line {number} of the journal cannot be read",
                    where=str(self.path),
                    remedy=f"the spending since the last commit is unknown; to continue anyway: rm '{self.path}'",
                ) from error


def _truncate_torn_line(handle: int) -> int:
    """Remove an incomplete last line and return the offset of the next line."""
    end = os.lseek(handle, 0, os.SEEK_END)
    start = end
    while start > 0:
        step = min(4096, start)
        newline = os.pread(handle, step, start - step).rfind(b"\n")
        if newline >= 0:
            keep = start - step + newline + 1
            break
        start -= step
    else:
        keep = 0
    if keep < end:
        os.ftruncate(handle, keep)
    return keep


def _write_all(handle: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(handle, data, at)
        data, at = data[written:], at + written


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
