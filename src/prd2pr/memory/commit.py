"""Read a commit's memory, add records to the next step, and drop expired ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prd2pr.config import Retention
from prd2pr.domain.memory_records import LibraryNote, Memory
from prd2pr.errors import InputInvalid
from prd2pr.memory.files import M, encode_memory_file, read_all_records
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.prompt_text import MEMORY_TOKEN_CAP
from prd2pr.memory.queries import RelevantMemory, find_relevant
from prd2pr.memory.retention import RetentionPolicy, find_expired_files, find_latest_timestamp
from prd2pr.state.finished_records import restore_memory
from prd2pr.state.git import Git
from prd2pr.state.layout import LOGS, MEMORY
from prd2pr.state.log_lines import parse_log
from prd2pr.state.store import StateChange

NOTES_PATH = f"{MEMORY}/{LibraryNote.kind}"


# --- reading and writing ----------------------------------------------------------------------------------------------


def add_memory(change: StateChange, records: Iterable[Memory]) -> StateChange:
    """Return the change with the records added; raise InputInvalid if two records have the same path."""
    for record in records:
        path, data = encode_memory_file(record)
        if path in change.updates:
            raise InputInvalid(f"{path} would be written twice in one step", where=path)
        change = change.with_bytes(path, data)
    return change


def has_memory(git: Git, commit: str) -> bool:
    return bool(git.entries(commit, MEMORY))


def read_memory_records(git: Git, commit: str, kind: type[M]) -> tuple[M, ...]:
    """Return the readable records of one kind."""
    return read_all_records(read_files_under(git, restore_memory(git, commit), f"{MEMORY}/{kind.kind}")).of_kind(kind)


def find_relevant_memory(git: Git, commit: str, text: str, token_cap: int = MEMORY_TOKEN_CAP) -> RelevantMemory:
    """Return earlier failures and patterns for the roles Why, Research and Builder."""
    with MemoryIndex.open(git, commit, code=False) as index:
        return find_relevant(index, text, token_cap)


# --- retention --------------------------------------------------------------------------------------------------------


def make_retention_policy(retention: Retention) -> RetentionPolicy:
    return RetentionPolicy(**retention.model_dump(exclude={"archive_after_days"}))


def drop_expired(change: StateChange, git: Git, commit: str, *, now: str, retention: Retention) -> StateChange:
    """Return the change that also deletes expired logs and library notes, except those it writes itself."""
    expired_paths = find_expired_files(read_written_times(git, commit), now, make_retention_policy(retention))
    for path in expired_paths:
        if path not in change.updates:
            change = change.without(path)
    return change


def read_written_times(git: Git, commit: str) -> dict[str, str]:
    """Return when each log and library note was last written.

    Files without a timestamp are left out, so they are never deleted.
    """
    readers = {NOTES_PATH: read_note_times, LOGS: read_log_times}
    found = {path: at for root, reader in readers.items() for path, at in reader(read_files_under(git, commit, root))}
    return {path: at for path, at in found.items() if at}


def read_files_under(git: Git, commit: str, root: str) -> dict[str, bytes]:
    entries = [entry for entry in git.entries(commit, root) if entry.kind == "blob"]
    contents = git.read_blobs(entry.blob for entry in entries)
    return {entry.path: contents[entry.blob] for entry in entries}


def read_note_times(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    yield from (
        (f"{NOTES_PATH}/{record.id}.json", record.at) for record in read_all_records(files).of_kind(LibraryNote)
    )


def read_log_times(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    for path, data in files.items():
        yield path, find_latest_timestamp(str(line["at"]) for line in parse_log(data, path))
