"""A SQLite database belongs to one server. The kernel drops its lock when that server dies, however it dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url

from prd2pr.errors import SetupProblem
from prd2pr.server.owner import hand_over


@contextmanager
def only_replica(url: str) -> Iterator[None]:
    read = make_url(url)
    if read.get_backend_name() != "sqlite" or not read.database or read.database == ":memory:":
        yield
        return
    lock = Path(f"{read.database}.lock")
    with lock.open("a") as file:
        hand_over(lock)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupProblem(
                "another server uses this database",
                where=url,
                remedy="stop that one, or use PostgreSQL, which several replicas can share",
            ) from None
        yield
