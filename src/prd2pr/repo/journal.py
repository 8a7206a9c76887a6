"""What was spent and refused since the last commit, written before anything else happens: kill -9 forgets nothing.

One JSON object per line under `.git/prd2pr/journal/`. Each entry carries the commit at which the branch stood. Once the
branch has moved on, the commit holds the sums, and the entry is settled.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prd2pr.core.layout import check_id
from prd2pr.errors import StateCorrupted


@dataclass(frozen=True)
class Entry:
    kind: str  # call, refused …
    head: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Journal:
    """One writer at a time: whoever holds the PRD's lock."""

    directory: Path
    prd_id: str

    def __post_init__(self) -> None:
        check_id(self.prd_id, "PRD id")

    @property
    def path(self) -> Path:
        return self.directory / "journal" / f"{self.prd_id}.jsonl"

    def append(self, kind: str, *, head: str, **facts: object) -> None:
        line = json.dumps({"kind": kind, "head": head, "facts": facts}, sort_keys=True).encode() + b"\n"
        fresh = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write_all(handle, line, _end_of_last_line(handle))
            os.fsync(handle)
        finally:
            os.close(handle)
        if fresh:
            _sync_directory(self.path.parent)

    def entries(self) -> tuple[Entry, ...]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return ()
        complete = data[: data.rfind(b"\n") + 1]  # what follows the last line end was torn by a kill
        return tuple(self._parse(complete))

    def since(self, head: str) -> tuple[Entry, ...]:
        """The entries that no commit has taken up yet: those written while the branch stood at `head`."""
        return tuple(entry for entry in self.entries() if entry.head == head)

    def settle(self, head: str = "", kept: Iterable[Entry] = ()) -> None:
        """Forget all entries but those of `head`, and `kept`, which are put there: a commit about something else."""
        here = (entry for entry in self.entries() if head and entry.head == head)
        self._rewrite([*here, *(replace(entry, head=head) for entry in kept)])

    def forget(self, kind: str) -> None:
        """All entries of one kind, wherever the branch stood."""
        self._rewrite([entry for entry in self.entries() if entry.kind != kind])

    def follow(self, old: str, new: str) -> None:
        """The branch moved, and not by a commit that took the entries of `old` up: they are as open as before."""
        entries = self.entries()
        if any(entry.head == old for entry in entries):
            self._rewrite([replace(entry, head=new) if entry.head == old else entry for entry in entries])

    def _rewrite(self, kept: Sequence[Entry]) -> None:
        """Either the old file is there or the new one, never a part."""
        if not kept and not self.path.exists():
            return
        with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as made:
            for entry in kept:
                made.write(json.dumps(vars(entry), sort_keys=True).encode() + b"\n")
            made.flush()
            os.fsync(made.fileno())
        Path(made.name).replace(self.path)
        _sync_directory(self.path.parent)

    def _parse(self, data: bytes) -> Iterator[Entry]:
        for number, line in enumerate(data.splitlines(), 1):
            try:
                raw = json.loads(line)
                yield Entry(raw["kind"], raw["head"], raw["facts"])
            except (ValueError, KeyError, TypeError) as error:
                # Skipping it would forget money that was spent.
                raise StateCorrupted(
                    f"line {number} of the journal cannot be read",
                    where=str(self.path),
                    remedy=f"what was spent since the last commit is unknown; to go on all the same: rm '{self.path}'",
                ) from error


def _end_of_last_line(handle: int) -> int:
    """Where the next line goes; a torn one is written over."""
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
