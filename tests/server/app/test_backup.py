"""Backup during writes, restore, and what is refused: SQLite for real, PostgreSQL by a message."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from prd2pr.cli.main import main
from prd2pr.errors import SetupProblem, StateNewer, UsageProblem
from prd2pr.server.backup import back_up_database, restore_database
from prd2pr.server.database import Database, Migration, open_database

FIRST = Migration(40, "notes", ("CREATE TABLE notes (id {serial}, body TEXT NOT NULL)",))
SECOND = Migration(41, "notes have an author", ("ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'",))


def opened(path: Path, *migrations: Migration) -> Database:
    return open_database(f"sqlite:///{path}", migrations=migrations or (FIRST,))


def write(database: Database, body: str) -> None:
    with database.writing() as connection:
        connection.execute(text("INSERT INTO notes (body) VALUES (:body)"), {"body": body})


def notes(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT body FROM notes ORDER BY id")]


def test_a_backup_is_complete_while_the_server_writes(tmp_path: Path) -> None:
    place, target = tmp_path / "s.db", tmp_path / "backup.db"
    database = opened(place)
    write(database, "before")
    done = threading.Event()

    def keep_writing() -> None:
        number = 0
        while not done.is_set():
            write(database, f"{number}")
            number += 1

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        size = back_up_database(f"sqlite:///{place}", target)
    finally:
        done.set()
        writer.join()
    database.close()
    copied = notes(target)
    assert copied == notes(place)[: len(copied)] and copied[0] == "before"
    assert size == target.stat().st_size and stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if "backup" in path.name) == ["backup.db"]
    with pytest.raises(UsageProblem, match="exists already"):
        back_up_database(f"sqlite:///{place}", target)


def test_a_restore_replaces_the_database_and_keeps_the_old_one(tmp_path: Path) -> None:
    place, target = tmp_path / "s.db", tmp_path / "backup.db"
    database = opened(place)
    write(database, "kept")
    back_up_database(f"sqlite:///{place}", target)
    write(database, "lost")
    database.engine.dispose()
    (tmp_path / "s.db-dbos").touch()  # the queue of the inbox that is replaced
    aside = restore_database(f"sqlite:///{place}", target, (FIRST,))
    assert notes(place) == ["kept"] and aside is not None and notes(aside) == ["kept", "lost"]
    assert not (tmp_path / "s.db-dbos").exists()
    assert restore_database(f"sqlite:///{tmp_path}/new/s.db", target, (FIRST,)) is None
    assert notes(tmp_path / "new/s.db") == ["kept"]


def test_an_older_backup_is_migrated_and_a_newer_one_refused(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    database = opened(old)
    write(database, "from before the upgrade")
    back_up_database(f"sqlite:///{old}", tmp_path / "old.backup")
    database.close()
    assert restore_database(f"sqlite:///{new}", tmp_path / "old.backup", (FIRST, SECOND)) is None
    upgraded = opened(new, FIRST, SECOND)
    with upgraded.reading() as connection:
        assert connection.execute(text("SELECT body, author FROM notes")).all() == [
            ("from before the upgrade", "nobody")
        ]
    back_up_database(f"sqlite:///{new}", tmp_path / "new.backup")
    upgraded.close()
    with pytest.raises(StateNewer, match="newer prd2pr"):
        restore_database(f"sqlite:///{old}", tmp_path / "new.backup", (FIRST,))
    with pytest.raises(StateNewer, match="newer prd2pr"):
        opened(new)
    assert notes(old) == ["from before the upgrade"], "what is refused changes nothing"


def test_the_commands_work_and_a_server_refuses_a_newer_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, target = tmp_path / "s.db", tmp_path / "backup.db"
    url = f"sqlite:///{place}"
    open_database(url).close()
    assert main(["serve", "--database", url, "--backup", str(target)]) == 0
    assert main(["serve", "--database", url, "--restore", str(target)]) == 0
    said = capsys.readouterr().out
    assert f"wrote    {target}" in said and "before-restore-" in said
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("INSERT INTO migrations (number, name, at) VALUES (9999, 'of tomorrow', 0)")
        connection.commit()
    assert main(["serve", "--database", url]) == 1
    said = capsys.readouterr().err
    assert "newer prd2pr (migration 9999)" in said and "restore the backup" in said


def test_an_invalid_backup_replaces_nothing(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    database = opened(place)
    write(database, "mine")
    database.close()
    torn = tmp_path / "torn.db"
    torn.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
    for source in (torn, other):
        with pytest.raises(SetupProblem, match="not an intact prd2pr database"):
            restore_database(f"sqlite:///{place}", source, (FIRST,))
    with pytest.raises(UsageProblem, match="backup does not exist"):
        restore_database(f"sqlite:///{place}", tmp_path / "nowhere", (FIRST,))
    assert notes(place) == ["mine"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
@pytest.mark.parametrize("is_there", [True, False])
def test_files_restored_by_root_belong_to_the_owner_of_the_directory(tmp_path: Path, is_there: bool) -> None:
    """The service of docs/deploy.md has its own user, and restores are done by root."""
    open_database(f"sqlite:///{tmp_path}/old.db").close()
    back_up_database(f"sqlite:///{tmp_path}/old.db", tmp_path / "backup.db")
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, 10001, 10002)
    url = f"sqlite:///{state}/server.db"
    if is_there:
        open_database(url).close()
    restore_database(url, tmp_path / "backup.db")
    open_database(url).close()
    owners = {each.name: (each.stat().st_uid, each.stat().st_gid) for each in state.iterdir()}
    assert set(owners.values()) == {(10001, 10002)} and {"server.db", "server.db.lock"} <= owners.keys()


def test_nothing_is_restored_under_a_running_server(tmp_path: Path) -> None:
    place, target = tmp_path / "s.db", tmp_path / "backup.db"
    opened(place).close()
    back_up_database(f"sqlite:///{place}", target)
    with Path(f"{place}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SetupProblem, match="server uses this database"):
            restore_database(f"sqlite:///{place}", target, (FIRST,))


def test_postgresql_refers_to_its_own_tools() -> None:
    with pytest.raises(UsageProblem) as caught:
        back_up_database("postgresql://ada:s3cret@db/prd2pr", Path("backup"))
    assert "pg_dump" in caught.value.remedy and "s3cret" not in " ".join(caught.value.lines())
    with pytest.raises(UsageProblem) as caught:
        restore_database("postgresql://db/prd2pr", Path("backup"))
    assert "pg_restore" in caught.value.remedy
