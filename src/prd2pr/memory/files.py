"""Encode memory records as files and read them back. An unreadable file is reported and affects no other file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from prd2pr.domain.memory_records import MEMORY_KINDS, LibraryNote, Memory
from prd2pr.errors import InputInvalid, StateCorrupted, StateProblem
from prd2pr.memory.timestamps import parse_epoch
from prd2pr.state.codec import decode_document, encode_document
from prd2pr.state.layout import ID, MEMORY, build_memory_path, check_id

M = TypeVar("M", bound=Memory)

MAX_RECORD_BYTES = 256 * 1024  # enough for a page of notes, but not for a library's whole documentation
MAX_ID_LENGTH = 100
MEMORY_PATH = re.compile(rf"{re.escape(MEMORY)}/([^/]+)/([^/]+)\.json")


@dataclass(frozen=True)
class UnreadableRecord:
    """A file that contains no record readable by this version."""

    path: str
    code: str  # error code: ERR401 if damaged, ERR402 if newer
    what: str


@dataclass(frozen=True)
class MemoryRecords:
    """All records of a commit, sorted by path, and the unreadable files."""

    records: tuple[Memory, ...] = ()
    problems: tuple[UnreadableRecord, ...] = ()

    def of_kind(self, kind: type[M]) -> tuple[M, ...]:
        return tuple(record for record in self.records if isinstance(record, kind))


def encode_memory_file(record: Memory) -> tuple[str, bytes]:
    """Return the path and content of a record; raise InputInvalid if it could not be read back."""
    path = build_memory_path(record.kind, record.id)
    data = encode_document(record)
    try:
        read_memory_record(path, data)
    except StateProblem as problem:
        raise InputInvalid(f"the record cannot be saved: {problem.what}", where=path) from problem
    return path, data


def read_memory_record(path: str, data: bytes) -> Memory:
    """Read a record. The file's directory determines the kind of record.

    Raises StateCorrupted or StateNewer, with the path, if the file is not such a record.
    """
    place = MEMORY_PATH.fullmatch(path)
    if place is None:
        raise make_damaged_record_error(path, f"the path must be {MEMORY}/KIND/ID.json")
    kind = MEMORY_KINDS.get(place[1])
    if kind is None:
        raise make_damaged_record_error(path, f"unknown kind of memory {place[1]!r}")
    if len(data) > MAX_RECORD_BYTES:
        raise make_damaged_record_error(
            path, f"{len(data):,} bytes exceed the limit of a record ({MAX_RECORD_BYTES:,})"
        )
    record = decode_document(kind, data, path)
    if record.id != place[2]:
        raise make_damaged_record_error(path, f"its id is {record.id!r}, but the file name is {place[2]!r}")
    check_record_names(path, record)
    check_record_times(path, record)
    return record


def check_record_names(path: str, record: Memory) -> None:
    try:
        for name in filter(None, (record.id, record.prd, record.story)):
            check_id(name)
    except InputInvalid as problem:
        raise make_damaged_record_error(path, problem.what) from problem
    if not record.prd:
        raise make_damaged_record_error(path, "it has no PRD")


def check_record_times(path: str, record: Memory) -> None:
    moments = {"at": record.at, **({"expires_at": record.expires_at} if isinstance(record, LibraryNote) else {})}
    for name, moment in moments.items():
        try:
            parse_epoch(moment)
        except (ValueError, OverflowError) as error:
            raise make_damaged_record_error(path, f"{name}: {error}") from error


def make_damaged_record_error(path: str, why: str) -> StateCorrupted:
    return StateCorrupted(
        f"{path} cannot be read: {why}", where=path, remedy="delete the file, or restore it from an earlier commit"
    )


def read_all_records(files: Mapping[str, bytes]) -> MemoryRecords:
    """Read all records. Unreadable files are reported and do not affect the others."""
    records: list[Memory] = []
    problems: list[UnreadableRecord] = []
    for path in sorted(files):
        try:
            records.append(read_memory_record(path, files[path]))
        except StateProblem as problem:
            problems.append(UnreadableRecord(path, problem.code, problem.what))
    return MemoryRecords(tuple(records), tuple(problems))


def make_record_id(parts: Iterable[str | int]) -> str:
    """Join the parts to an id that is short enough for a file name.

    Long ids, and those with unusual characters, end in a digest.
    """
    name = "-".join(str(part) for part in parts)
    if ID.fullmatch(name) and ".." not in name and not name.endswith(".lock"):
        return name
    cleaned = re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-")[: MAX_ID_LENGTH - 9]
    return f"{cleaned or 'x'}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
