"""One database for all parts, migrated at every start."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from sqlalchemy import text

from prd2pr.errors import SetupProblem, StateNewer
from prd2pr.server.database import Migration, load_migrations, open_database

ONE = Migration(1, "one", ("CREATE TABLE one (id {serial}, body {bytes})",))
TWO = Migration(2, "two", ("ALTER TABLE one ADD COLUMN at {real}",))


def test_the_file_is_readable_by_its_owner_only(tmp_path):
    with closing(open_database(f"sqlite:///{tmp_path}/s.db")) as database, database.writing():
        assert {each.stat().st_mode & 0o077 for each in tmp_path.iterdir()} == {0}


def test_each_migration_runs_once_and_later_ones_are_added(tmp_path):
    url = f"sqlite:///{tmp_path}/s.db"
    for migrations in ((ONE,), (ONE,), (ONE, TWO)):
        open_database(url, migrations=migrations).close()
    database = open_database(url, migrations=(ONE, TWO))
    with database.writing() as connection:
        connection.execute(text("INSERT INTO one (body, at) VALUES (:body, 1.5)"), {"body": b"x"})
    with database.reading() as connection:
        assert connection.execute(text("SELECT body, at FROM one")).one() == (b"x", 1.5)
        assert connection.execute(text("SELECT number FROM migrations ORDER BY number")).scalars().all() == [1, 2]
    database.close()


def test_several_replicas_may_start_at_once(tmp_path):
    url, failed = f"sqlite:///{tmp_path}/s.db", []

    def start() -> None:
        try:
            open_database(url, migrations=(ONE, TWO)).close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []


def test_a_failed_migration_leaves_nothing_behind(tmp_path):
    url = f"sqlite:///{tmp_path}/s.db"
    with pytest.raises(SetupProblem):
        open_database(url, migrations=(Migration(1, "bad", ("CREATE TABLE fine (id {serial})", "CREATE nonsense")),))
    database = open_database(url, migrations=(ONE,))
    with database.reading() as connection:
        tables = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars())
    assert "fine" not in tables and "one" in tables
    database.close()


def test_a_database_of_a_newer_version_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/s.db"
    open_database(url, migrations=(ONE, TWO)).close()
    with pytest.raises(StateNewer, match="newer prd2pr"):
        open_database(url, migrations=(ONE,))


def test_a_database_that_cannot_be_opened_is_reported(tmp_path):
    with pytest.raises(SetupProblem, match="cannot be opened") as told:
        open_database(f"sqlite:///{tmp_path}/no/such/place.db")
    assert "PRD2PR_DATABASE" in told.value.remedy


def test_migration_numbers_are_unique_across_parts():
    numbers = [each.number for each in load_migrations()]
    assert len(numbers) == len(set(numbers))
