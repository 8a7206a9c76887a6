"""The index's file: opened for reading or writing, and thrown away when it is damaged or somebody else's.

Every process that has it open holds a shared lock beside it. Only who gets that lock alone may remove the file:
SQLite's write-ahead log lies in a second file, and a log without its own database would ruin the next one.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 5.0  # seconds for another process that writes
# The machine is in the way, or another process: nothing is wrong with the file.
PASSING = ("BUSY", "LOCKED", "READONLY", "CANTOPEN", "FULL", "IOERR", "PERM", "AUTH", "NOMEM", "INTERRUPT")


@dataclass
class Place:
    path: Path
    _lock: int = field(default=-1, repr=False)

    def hold(self) -> None:
        if self._lock < 0:
            self._lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def remove(self) -> bool:
        """False: somebody else has it open and keeps it, or this machine does not let us."""
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
        connection.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes is made again
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )


def is_damage(error: BaseException | None) -> bool:
    """The file holds something else than SQLite has written."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def is_passing(error: sqlite3.Error) -> bool:
    name = getattr(error, "sqlite_errorname", "")
    return any(name.startswith(f"SQLITE_{each}") for each in PASSING)
