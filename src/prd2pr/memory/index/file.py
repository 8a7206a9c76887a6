"""The index file: opened for reading or writing, and deleted if it is damaged or from another version.

Every process that has it open holds a shared lock on a second file. Only a process with an exclusive lock may delete
it: SQLite's write-ahead log is a separate file, and a log without its database would corrupt the next one.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

LOCK_SECONDS = 5.0  # time to wait for another writing process
# Errors caused by the machine or another process; the file itself is intact.
TRANSIENT_ERRORS = ("BUSY", "LOCKED", "READONLY", "CANTOPEN", "FULL", "IOERR", "PERM", "AUTH", "NOMEM", "INTERRUPT")


@dataclass
class IndexFile:
    """The database file and its lock."""

    path: Path
    _lock: int = field(default=-1, repr=False)

    def lock_shared(self) -> None:
        if self._lock < 0:
            self._lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def remove(self) -> bool:
        """Delete the file; return False if another process has it open or it cannot be deleted."""
        if self._lock < 0:
            return False
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for ending in ("", "-wal", "-shm", "-journal"):
                self.path.with_name(f"{self.path.name}{ending}").unlink(missing_ok=True)
            fcntl.flock(self._lock, fcntl.LOCK_SH)
        except OSError:
            return False
        return True

    def reader(self) -> sqlite3.Connection:
        return self._connect("ro")

    def writer(self) -> sqlite3.Connection:
        connection = self._connect("rwc")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # lost data can be rebuilt
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=LOCK_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )


def is_corruption(error: BaseException | None) -> bool:
    """Return whether the error means that the file is damaged or not an SQLite database."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def is_transient_sqlite_error(error: sqlite3.Error) -> bool:
    name = getattr(error, "sqlite_errorname", "")
    return any(name.startswith(f"SQLITE_{each}") for each in TRANSIENT_ERRORS)
