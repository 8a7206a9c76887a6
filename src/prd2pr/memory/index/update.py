"""Update the rows of the index to a tree, either all of them or those of files that differ from the indexed tree."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from prd2pr.errors import UnknownRevision
from prd2pr.memory.index.code_rows import CODE_TABLES, is_parsed, make_code_rows
from prd2pr.memory.index.rows import ROW_SOURCES, find_row_source, is_state_path, make_state_rows
from prd2pr.memory.index.schema import compute_schema_fingerprint, list_schema_statements, list_table_columns
from prd2pr.state.git import Git

IndexScope = Literal["state", "code"]  # roles query only "state"; "code" is for people and may be large
BATCH_SIZE = 400  # files read per batch
MAX_INTEGER = 2**63 - 1
STATE_TABLES = tuple(dict.fromkeys((*(table for each in ROW_SOURCES for table in each.tables), "problems")))
SCOPE_TABLES: dict[IndexScope, tuple[str, ...]] = {"state": STATE_TABLES, "code": CODE_TABLES}


@dataclass(frozen=True)
class IndexedFile:
    """A file in its current version; without a blob, it was deleted."""

    path: str
    mode: str = ""
    blob: str = ""


def create_schema(connection: sqlite3.Connection) -> None:
    for statement in list_schema_statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {compute_schema_fingerprint()}")


def has_current_schema(connection: sqlite3.Connection) -> bool:
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    return bool(version == compute_schema_fingerprint())


def is_up_to_date(connection: sqlite3.Connection, tree: str, scopes: Iterable[IndexScope]) -> bool:
    return all(read_indexed_tree(connection, scope) == tree for scope in scopes)


def read_indexed_tree(connection: sqlite3.Connection, scope: IndexScope) -> str:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (scope,)).fetchone()
    return str(found[0]) if found else ""


def update_rows(connection: sqlite3.Connection, git: Git, tree: str, scopes: Iterable[IndexScope]) -> None:
    """Update the rows of each scope to a tree, inside the caller's transaction."""
    for scope in scopes:
        before = read_indexed_tree(connection, scope)
        if before != tree:
            changed = list_changed_index_files(git, before, tree, scope) if before else None
            if changed is None:
                for table in SCOPE_TABLES[scope] if before else ():
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constant names
                insert_rows(connection, git, scope, list_all_files(git, tree, scope))
            else:
                delete_rows(connection, scope, changed)
                insert_rows(connection, git, scope, [each for each in changed if each.blob])
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (scope, tree))


def list_all_files(git: Git, tree: str, scope: IndexScope) -> list[IndexedFile]:
    entries = git.entries(tree, ".orch-state") if scope == "state" else git.entries(tree)
    return [IndexedFile(each.path, each.mode, each.blob) for each in entries if belongs_to_scope(each.path, scope)]


def list_changed_index_files(git: Git, before: str, tree: str, scope: IndexScope) -> list[IndexedFile] | None:
    """List the files that changed since the indexed tree, or return None if that tree no longer exists."""
    try:
        found = git.diff(before, tree)
    except UnknownRevision:
        return None
    return [
        IndexedFile(each.path, each.new_mode, each.new_blob) for each in found if belongs_to_scope(each.path, scope)
    ]


def belongs_to_scope(path: str, scope: IndexScope) -> bool:
    return is_state_path(path) == (scope == "state") and (scope == "code" or find_row_source(path) is not None)


def delete_rows(connection: sqlite3.Connection, scope: IndexScope, files: Iterable[IndexedFile]) -> None:
    for each in files:
        found = find_row_source(each.path) if scope == "state" else None
        for table in (*found[0].tables, "problems") if found else CODE_TABLES:
            connection.execute(f"DELETE FROM {table} WHERE path = ?", (to_valid_text(each.path),))  # noqa: S608 - constant names


def insert_rows(connection: sqlite3.Connection, git: Git, scope: IndexScope, files: Iterable[IndexedFile]) -> None:
    for batch in split_batches(files):
        made: dict[str, list[dict[str, Any]]] = {}
        for each, (table, columns) in make_index_rows(git, scope, batch):
            row = {
                "path": to_valid_text(each.path),
                "blob": each.blob,
                **{key: to_sqlite_value(value) for key, value in columns.items()},
            }
            made.setdefault(table, []).append(row)
        for table, rows in made.items():
            connection.executemany(build_insert_statement(table), rows)


def split_batches(files: Iterable[IndexedFile]) -> Iterator[list[IndexedFile]]:
    rest = iter(files)
    while batch := list(islice(rest, BATCH_SIZE)):
        yield batch


def make_index_rows(
    git: Git, scope: IndexScope, batch: list[IndexedFile]
) -> Iterator[tuple[IndexedFile, tuple[str, dict[str, Any]]]]:
    wanted = [each for each in batch if scope == "state" or is_parsed(each.path, each.mode)]
    contents = git.read_blobs(each.blob for each in wanted if each.mode != "160000")
    for each in batch:
        data = contents.get(each.blob) if scope == "state" or is_parsed(each.path, each.mode) else None
        made = (
            make_state_rows(each.path, data or b"") if scope == "state" else make_code_rows(each.path, each.mode, data)
        )
        yield from ((each, row) for row in made)


def build_insert_statement(table: str) -> str:
    """Build a statement with named columns, so that a missing value is an error and not a silent null."""
    names = list_table_columns(table)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"  # noqa: S608


def to_sqlite_value(value: Any) -> Any:
    """Convert a value to one that SQLite can store, since files may contain surrogates and huge numbers."""
    if isinstance(value, str):
        return to_valid_text(value)
    if isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        return float(f"{value:.6e}") if abs(value) < 10**300 else None
    return value


def to_valid_text(value: str) -> str:
    return value.encode("utf-8", "backslashreplace").decode()
