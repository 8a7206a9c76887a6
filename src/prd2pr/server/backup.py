"""Backup and restore of a SQLite database, by SQLite's own backup: whole at one moment, also while the server writes.

PostgreSQL has tools of its own, and is told of them.
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
from prd2pr.server.database import Migration, all_migrations
from prd2pr.server.owner import hand_over
from prd2pr.server.work.sole import only_replica

PAGES_AT_ONCE = 1_000  # between them the server may write


def back_up(url: str, target: Path) -> int:
    """The size of the copy in bytes. A file that is there is never written over."""
    source = sqlite_file(url, "pg_dump --format=custom --file=FILE --dbname=URL")
    if not source.exists():
        raise SetupProblem("there is no database yet", where=str(source), remedy="check PRD2PR_DATABASE")
    if target.exists():
        raise UsageProblem("this file is there already", where=str(target), remedy="name a new one")
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        _copy(source, unfinished)
        _sound(unfinished)
        os.link(unfinished, target)  # fails where somebody was quicker
    except FileExistsError:
        raise UsageProblem("this file is there already", where=str(target), remedy="name a new one") from None
    finally:
        unfinished.unlink(missing_ok=True)
    _on_disk(target.parent)
    return target.stat().st_size


def restore(url: str, source: Path, migrations: Iterable[Migration] | None = None) -> Path | None:
    """Puts the backup into the database's place; the answer is where the old one is kept.

    Nothing is replaced before the backup was looked at, nor while a server uses the database.
    """
    place = sqlite_file(url, "pg_restore --clean --if-exists --dbname=URL FILE")
    if not source.is_file():
        raise UsageProblem("there is no such backup", where=str(source), remedy="name a file that --backup wrote")
    _refuse_newer(_sound(source), source, all_migrations() if migrations is None else migrations)
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_name(f".{place.name}.unfinished")
    with only_replica(url):
        try:
            _copy(source, unfinished)
            hand_over(unfinished)
            kept = _put_aside(place)
            unfinished.rename(place)
        finally:
            unfinished.unlink(missing_ok=True)
        _on_disk(place.parent)
    return kept


def sqlite_file(url: str, instead: str) -> Path:
    read = make_url(url)
    if read.get_backend_name() != "sqlite":
        raise UsageProblem(
            "a PostgreSQL database is backed up and restored by its own tools",
            where=read.render_as_string(hide_password=True),
            remedy=f"{instead} (docs/deploy.md)",
        )
    if not read.database or read.database == ":memory:":
        raise UsageProblem("this database is in memory alone", where=url)
    return Path(read.database)


def _copy(source: Path, target: Path) -> None:
    """Readable by its owner alone: it holds what people wrote, and the digests of tokens."""
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(_opened(source)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written, pages=PAGES_AT_ONCE, sleep=0.01)
            # One file, without a journal beside it.
            written.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise SetupProblem(f"the database cannot be copied: {error}", where=str(source)) from None
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _opened(path: Path) -> sqlite3.Connection:
    """Read-only: a look at a backup leaves it as it is."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)


def _sound(path: Path) -> set[int]:
    """The numbers of its migrations."""
    try:
        with closing(_opened(path)) as connection:
            [verdict] = connection.execute("PRAGMA quick_check(1)").fetchone()
            numbers = {int(row[0]) for row in connection.execute("SELECT number FROM migrations")}
    except sqlite3.Error as error:
        verdict, numbers = str(error), set()
    if verdict != "ok":
        raise SetupProblem(
            f"this is no sound database of prd2pr: {verdict}", where=str(path), remedy="take another backup"
        )
    return numbers


def _refuse_newer(applied: set[int], path: Path, migrations: Iterable[Migration]) -> None:
    unknown = applied - {each.number for each in migrations}
    if unknown:
        raise StateNewer(
            f"this backup is of a newer prd2pr (migration {max(unknown)})",
            where=str(path),
            remedy="install that version, or take an older backup",
        )


def _put_aside(place: Path) -> Path | None:
    """With its journal: the pages of a write-ahead log belong to this file and to no other."""
    if not place.exists():
        return None
    kept = place.with_name(f"{place.name}.before-restore-{time.strftime('%Y%m%dT%H%M%S')}")
    for ending in ("-wal", "-shm"):
        beside = Path(f"{place}{ending}")
        if beside.exists():
            beside.rename(f"{kept}{ending}")
    place.rename(kept)
    return kept


def _on_disk(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
