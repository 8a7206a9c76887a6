"""A record of memory as a file, and a file as a record. What cannot be read is named, and harms nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from prd2pr.core.codec import decode, encode
from prd2pr.core.layout import ID, MEMORY, check_id, memory_path
from prd2pr.core.memory.records import KINDS, LibraryNote, Memory
from prd2pr.core.memory.times import epoch
from prd2pr.errors import InputInvalid, StateCorrupted, StateProblem

M = TypeVar("M", bound=Memory)

MOST_BYTES = 256 * 1024  # of one record: a page of notes, not a library's whole documentation
LONGEST_ID = 100
WHERE = re.compile(rf"{re.escape(MEMORY)}/([^/]+)/([^/]+)\.json")


@dataclass(frozen=True)
class Unreadable:
    """A file that holds no record that this version can read."""

    path: str
    code: str  # of the error: ERR401 damaged, ERR402 newer
    what: str


@dataclass(frozen=True)
class Recollection:
    """All that a commit remembers, in the order of the files' names, and what of it could not be read."""

    records: tuple[Memory, ...] = ()
    problems: tuple[Unreadable, ...] = ()

    def of(self, kind: type[M]) -> tuple[M, ...]:
        return tuple(record for record in self.records if isinstance(record, kind))


def memory_file(record: Memory) -> tuple[str, bytes]:
    """Path and bytes. What could not be read back is not written: InputInvalid."""
    path = memory_path(record.kind, record.id)
    data = encode(record)
    try:
        read_record(path, data)
    except StateProblem as problem:
        raise InputInvalid(f"this cannot be remembered: {problem.what}", where=path) from problem
    return path, data


def read_record(path: str, data: bytes) -> Memory:
    """StateCorrupted or StateNewer, with the file's name, for what is not a record of the kind that its place says."""
    place = WHERE.fullmatch(path)
    if place is None:
        raise damaged(path, f"memory lies in {MEMORY}/KIND/ID.json")
    kind = KINDS.get(place[1])
    if kind is None:
        raise damaged(path, f"this version knows no memory of the kind {place[1]!r}")
    if len(data) > MOST_BYTES:
        raise damaged(path, f"{len(data):,} bytes are more than a record may have ({MOST_BYTES:,})")
    record = decode(kind, data, path)
    if record.id != place[2]:
        raise damaged(path, f"its id is {record.id!r}, and the file is called {place[2]!r}")
    check_names(path, record)
    check_times(path, record)
    return record


def check_names(path: str, record: Memory) -> None:
    try:
        for name in filter(None, (record.id, record.prd, record.story)):
            check_id(name)
    except InputInvalid as problem:
        raise damaged(path, problem.what) from problem
    if not record.prd:
        raise damaged(path, "it belongs to no PRD")


def check_times(path: str, record: Memory) -> None:
    moments = {"at": record.at, **({"expires_at": record.expires_at} if isinstance(record, LibraryNote) else {})}
    for name, moment in moments.items():
        try:
            epoch(moment)
        except (ValueError, OverflowError) as error:
            raise damaged(path, f"{name}: {error}") from error


def damaged(path: str, why: str) -> StateCorrupted:
    return StateCorrupted(
        f"{path} cannot be read: {why}", where=path, remedy="delete the file, or restore it from an earlier commit"
    )


def read_all(files: Mapping[str, bytes]) -> Recollection:
    """Everything that can be read. A bad file is reported and passed over: what else was learnt still counts."""
    records: list[Memory] = []
    problems: list[Unreadable] = []
    for path in sorted(files):
        try:
            records.append(read_record(path, files[path]))
        except StateProblem as problem:
            problems.append(Unreadable(path, problem.code, problem.what))
    return Recollection(tuple(records), tuple(problems))


def record_id(parts: Iterable[str | int]) -> str:
    """One name of several, short enough to be a file's. Odd or long ones end in a digest, so that no two are one."""
    name = "-".join(str(part) for part in parts)
    if ID.fullmatch(name) and ".." not in name and not name.endswith(".lock"):
        return name
    tame = re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-")[: LONGEST_ID - 9]
    return f"{tame or 'x'}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
