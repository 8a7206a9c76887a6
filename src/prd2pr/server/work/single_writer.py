"""A lock file that reserves a SQLite database for one server. The kernel releases it when the server's process ends."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url

from prd2pr.errors import SetupProblem
from prd2pr.server.file_owner import match_directory_owner


@contextmanager
def hold_database_lock(url: str) -> Iterator[None]:
    """Hold the lock while the context is open; raise if another server holds it. Does nothing for PostgreSQL."""
    read = make_url(url)
    if read.get_backend_name() != "sqlite" or not read.database or read.database == ":memory:":
        yield
        return
    lock = Path(f"{read.database}.lock")
    with lock.open("a") as file:
        match_directory_owner(lock)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupProblem(
                "another server uses this database",
                where=url,
                remedy="stop that server, or use PostgreSQL, which several replicas can share",
            ) from None
        yield
