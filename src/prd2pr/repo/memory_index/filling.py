"""Rows from a tree: all of them, or those of the files that differ from the tree that was looked at before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from prd2pr.errors import UnknownRevision
from prd2pr.repo.git import Git
from prd2pr.repo.memory_index.code_rows import CODE_TABLES, code_rows, is_read
from prd2pr.repo.memory_index.rows import SOURCES, is_state, source_of, state_rows
from prd2pr.repo.memory_index.schema import columns_of, fingerprint, statements

Scope = Literal["state", "code"]  # what roles ask about, and what only people do; the code may be large
BUNCH = 400  # files that are read at once
GREATEST = 2**63 - 1
STATE_TABLES = tuple(dict.fromkeys((*(table for each in SOURCES for table in each.tables), "problems")))
TABLES_OF: dict[Scope, tuple[str, ...]] = {"state": STATE_TABLES, "code": CODE_TABLES}


@dataclass(frozen=True)
class Seen:
    """A file as it is now; without a blob it is gone."""

    path: str
    mode: str = ""
    blob: str = ""


def create(connection: sqlite3.Connection) -> None:
    for statement in statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {fingerprint()}")


def is_ours(connection: sqlite3.Connection) -> bool:
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    return bool(version == fingerprint())


def is_current(connection: sqlite3.Connection, tree: str, scopes: Iterable[Scope]) -> bool:
    return all(tree_seen(connection, scope) == tree for scope in scopes)


def tree_seen(connection: sqlite3.Connection, scope: Scope) -> str:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (scope,)).fetchone()
    return str(found[0]) if found else ""


def fill(connection: sqlite3.Connection, git: Git, tree: str, scopes: Iterable[Scope]) -> None:
    """Bring the rows of each scope to a tree. The caller has begun a transaction, and ends it."""
    for scope in scopes:
        before = tree_seen(connection, scope)
        if before != tree:
            changed = changes(git, before, tree, scope) if before else None
            if changed is None:
                for table in TABLES_OF[scope] if before else ():
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a name of ours
                put(connection, git, scope, everything(git, tree, scope))
            else:
                take(connection, scope, changed)
                put(connection, git, scope, [each for each in changed if each.blob])
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (scope, tree))


def everything(git: Git, tree: str, scope: Scope) -> list[Seen]:
    entries = git.entries(tree, ".orch-state") if scope == "state" else git.entries(tree)
    return [Seen(each.path, each.mode, each.blob) for each in entries if concerns(each.path, scope)]


def changes(git: Git, before: str, tree: str, scope: Scope) -> list[Seen] | None:
    """None: the tree from before is gone, so nothing can be compared with it."""
    try:
        found = git.diff(before, tree)
    except UnknownRevision:
        return None
    return [Seen(each.path, each.new_mode, each.new_blob) for each in found if concerns(each.path, scope)]


def concerns(path: str, scope: Scope) -> bool:
    return is_state(path) == (scope == "state") and (scope == "code" or source_of(path) is not None)


def take(connection: sqlite3.Connection, scope: Scope, files: Iterable[Seen]) -> None:
    for each in files:
        found = source_of(each.path) if scope == "state" else None
        for table in (*found[0].tables, "problems") if found else CODE_TABLES:
            connection.execute(f"DELETE FROM {table} WHERE path = ?", (text(each.path),))  # noqa: S608 - a name of ours


def put(connection: sqlite3.Connection, git: Git, scope: Scope, files: Iterable[Seen]) -> None:
    for bunch in bunches(files):
        made: dict[str, list[dict[str, Any]]] = {}
        for each, (table, columns) in rows_of(git, scope, bunch):
            row = {"path": text(each.path), "blob": each.blob, **{key: kept(value) for key, value in columns.items()}}
            made.setdefault(table, []).append(row)
        for table, rows in made.items():
            connection.executemany(insertion(table), rows)


def bunches(files: Iterable[Seen]) -> Iterator[list[Seen]]:
    rest = iter(files)
    while bunch := list(islice(rest, BUNCH)):
        yield bunch


def rows_of(git: Git, scope: Scope, bunch: list[Seen]) -> Iterator[tuple[Seen, tuple[str, dict[str, Any]]]]:
    wanted = [each for each in bunch if scope == "state" or is_read(each.path, each.mode)]
    contents = git.read_blobs(each.blob for each in wanted if each.mode != "160000")
    for each in bunch:
        data = contents.get(each.blob) if scope == "state" or is_read(each.path, each.mode) else None
        made = state_rows(each.path, data or b"") if scope == "state" else code_rows(each.path, each.mode, data)
        yield from ((each, row) for row in made)


def insertion(table: str) -> str:
    """Columns that a row does not have are an error here, not a silent null."""
    names = columns_of(table)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"  # noqa: S608


def kept(value: Any) -> Any:
    """As SQLite can hold it: other people's files may hold half characters, and numbers without end."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int) and not -GREATEST <= value <= GREATEST:
        return float(f"{value:.6e}") if abs(value) < 10**300 else None
    return value


def text(value: str) -> str:
    return value.encode("utf-8", "backslashreplace").decode()
