"""What a commit remembers: read, written with the next step, told to roles, and forgotten when its time is over.

Whatever makes or judges commits may use this, so nothing of them is used here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prd2pr.config import Retention
from prd2pr.core.layout import LOGS, MEMORY
from prd2pr.core.log_lines import readable
from prd2pr.core.memory.files import M, Recollection, memory_file, read_all
from prd2pr.core.memory.queries import Relevant, relevant
from prd2pr.core.memory.records import LibraryNote, Memory
from prd2pr.core.memory.retention import Keeping, expired, last_moment
from prd2pr.core.memory.told import TOKEN_CAP
from prd2pr.errors import InputInvalid
from prd2pr.repo.git import Git
from prd2pr.repo.memory_index import MemoryIndex
from prd2pr.repo.store import StateChange

NOTES = f"{MEMORY}/{LibraryNote.kind}"


# --- reading and writing ----------------------------------------------------------------------------------------------


def with_memory(change: StateChange, records: Iterable[Memory]) -> StateChange:
    """The change with records added. Two of one name would be one file: InputInvalid."""
    for record in records:
        path, data = memory_file(record)
        if path in change.updates:
            raise InputInvalid(f"{path} would be written twice in one step", where=path)
        change = change.with_bytes(path, data)
    return change


def memory_of(git: Git, commit: str) -> Recollection:
    """All records of a commit. A file that cannot be read is among its problems, and stops nothing."""
    return read_all(files_under(git, commit, MEMORY))


def knows(git: Git, commit: str) -> bool:
    """Whether it remembers anything at all."""
    return bool(git.entries(commit, MEMORY))


def records_of(git: Git, commit: str, kind: type[M]) -> tuple[M, ...]:
    """Those of one kind. One that cannot be read teaches nothing, and stops nothing."""
    return read_all(files_under(git, commit, f"{MEMORY}/{kind.kind}")).of(kind)


def relevant_to(git: Git, commit: str, text: str, token_cap: int = TOKEN_CAP) -> Relevant:
    """What Why, Research and Builder are told of earlier failures and patterns."""
    with MemoryIndex.open(git, commit, code=False) as index:
        return relevant(index, text, token_cap)


# --- forgetting -------------------------------------------------------------------------------------------------------


def keeping(retention: Retention) -> Keeping:
    return Keeping(**retention.model_dump())


def without_expired(change: StateChange, git: Git, commit: str, *, now: str, retention: Retention) -> StateChange:
    """The change that also drops logs and library notes whose time is over; what it writes itself stays."""
    gone = expired(written_at(git, commit), now, keeping(retention))
    for path in gone:
        if path not in change.updates:
            change = change.without(path)
    return change


def written_at(git: Git, commit: str) -> dict[str, str]:
    """When each log and library note was last written. What does not say so is kept."""
    notes = {NOTES: read_notes, LOGS: read_logs}
    found = {path: at for root, read in notes.items() for path, at in read(files_under(git, commit, root))}
    return {path: at for path, at in found.items() if at}


def files_under(git: Git, commit: str, root: str) -> dict[str, bytes]:
    entries = [entry for entry in git.entries(commit, root) if entry.kind == "blob"]
    contents = git.read_blobs(entry.blob for entry in entries)
    return {entry.path: contents[entry.blob] for entry in entries}


def read_notes(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    yield from ((f"{NOTES}/{record.id}.json", record.at) for record in read_all(files).of(LibraryNote))


def read_logs(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    for path, data in files.items():
        yield path, last_moment(str(line["at"]) for line in readable(data, path))
