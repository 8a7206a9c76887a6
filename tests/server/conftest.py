"""The server's database; each test runs on both kinds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from prd2pr.server.database import Database, open_database
from server.postgres import binaries, postgres


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    if binaries() is None:
        pytest.skip("NOT TESTED: PostgreSQL's binaries (initdb) are not on this machine")
    with postgres(durable=False) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def either_database(request, tmp_path) -> Iterator[Database]:
    """SQLite, and PostgreSQL if available; with an empty queue."""
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    opened = open_database(url)
    with opened.writing() as connection:
        for table in ("deliveries", "replicas"):
            connection.execute(text(f"DELETE FROM {table}"))
    yield opened
    opened.close()
