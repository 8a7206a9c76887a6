"""Back up and restore a SQLite database with SQLite's online backup, which is consistent even while the server writes.

For PostgreSQL, the error message refers to `pg_dump` and `pg_restore`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import make_url

from prd2pr.errors import SetupProblem, StateNewer, UsageProblem
from prd2pr.server.database import Migration, load_migrations
from prd2pr.server.file_owner import match_directory_owner
from prd2pr.server.work.single_writer import hold_database_lock

PAGES_PER_STEP = 1_000  # the server may write between steps


def back_up_database(url: str, target: Path) -> int:
    """Copy the database to `target` and return its size in bytes. An existing file is never overwritten."""
    source = resolve_sqlite_path(url, "pg_dump --format=custom --file=FILE --dbname=URL")
    if not source.exists():
        raise SetupProblem("the database does not exist", where=str(source), remedy="check PRD2PR_DATABASE")
    if target.exists():
        raise UsageProblem("the backup file exists already", where=str(target), remedy="choose a new file name")
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        _copy_database(source, unfinished)
        _check_integrity(unfinished)
        os.link(unfinished, target)  # fails if the file was created in the meantime
    except FileExistsError:
        raise UsageProblem(
            "the backup file exists already", where=str(target), remedy="choose a new file name"
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)
    _fsync_directory(target.parent)
    return target.stat().st_size


def restore_database(url: str, source: Path, migrations: Iterable[Migration] | None = None) -> Path | None:
    """Replace the database with the backup and return the path to which the old database was renamed.

    The backup is checked first. The database is not replaced while a server uses it.
    """
    place = resolve_sqlite_path(url, "pg_restore --clean --if-exists --dbname=URL FILE")
    if not source.is_file():
        raise UsageProblem("the backup does not exist", where=str(source), remedy="name a file written by --backup")
    _refuse_newer(_check_integrity(source), source, load_migrations() if migrations is None else migrations)
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_name(f".{place.name}.unfinished")
    with hold_database_lock(url):
        try:
            _copy_database(source, unfinished)
            match_directory_owner(unfinished)
            old_path = _rename_existing(place)
            unfinished.rename(place)
            for queue_file in place.parent.glob(f"{place.name}-dbos*"):  # belongs to the replaced inbox
                queue_file.unlink()
        finally:
            unfinished.unlink(missing_ok=True)
        _fsync_directory(place.parent)
    return old_path


def resolve_sqlite_path(url: str, instead: str) -> Path:
    read = make_url(url)
    if read.get_backend_name() != "sqlite":
        raise UsageProblem(
            "a PostgreSQL database is backed up and restored with PostgreSQL's own tools",
            where=read.render_as_string(hide_password=True),
            remedy=f"{instead} (docs/deploy.md)",
        )
    if not read.database or read.database == ":memory:":
        raise UsageProblem("an in-memory database cannot be backed up or restored", where=url)
    return Path(read.database)


def _copy_database(source: Path, target: Path) -> None:
    """Copy the database to a file with mode 0600, since it contains private text and token digests."""
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(_open_read_only(source)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written, pages=PAGES_PER_STEP, sleep=0.01)
            # leaves one file without a separate journal
            written.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise SetupProblem(f"the database cannot be copied: {error}", where=str(source)) from None
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _open_read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)


def _check_integrity(path: Path) -> set[int]:
    """Return the migration numbers of the database; raise unless the file is an intact prd2pr database."""
    try:
        with closing(_open_read_only(path)) as connection:
            [verdict] = connection.execute("PRAGMA quick_check(1)").fetchone()
            numbers = {int(row[0]) for row in connection.execute("SELECT number FROM migrations")}
    except sqlite3.Error as error:
        verdict, numbers = str(error), set()
    if verdict != "ok":
        raise SetupProblem(f"not an intact prd2pr database: {verdict}", where=str(path), remedy="use another backup")
    return numbers


def _refuse_newer(applied: set[int], path: Path, migrations: Iterable[Migration]) -> None:
    unknown = applied - {each.number for each in migrations}
    if unknown:
        raise StateNewer(
            f"the backup was made by a newer prd2pr (migration {max(unknown)})",
            where=str(path),
            remedy="install that version, or use an older backup",
        )


def _rename_existing(place: Path) -> Path | None:
    """Rename the database together with its write-ahead log, which must not be applied to another file."""
    if not place.exists():
        return None
    old_path = place.with_name(f"{place.name}.before-restore-{time.strftime('%Y%m%dT%H%M%S')}")
    for ending in ("-wal", "-shm"):
        journal = Path(f"{place}{ending}")
        if journal.exists():
            journal.rename(f"{old_path}{ending}")
    place.rename(old_path)
    return old_path


def _fsync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
