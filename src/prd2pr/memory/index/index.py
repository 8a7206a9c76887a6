"""The index of one commit: opened, updated with the changes since the last time, and queried.

It is only a cache; the memory itself is in the commit. If the file is not available (because of a full disk, or because
another process uses it for another commit), the rows are built in memory for this process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from prd2pr.errors import UsageProblem
from prd2pr.memory.index.embedding import Embedder, find_embedder
from prd2pr.memory.index.file import IndexFile, is_corruption, is_transient_sqlite_error
from prd2pr.memory.index.schema import EMBEDDED_TEXTS, TABLES, TEXTS, VIEWS, EmbeddedTable, list_table_columns
from prd2pr.memory.index.sql_guard import QueryResult, run_query
from prd2pr.memory.index.update import (
    IndexScope,
    create_schema,
    has_current_schema,
    is_up_to_date,
    read_indexed_tree,
    to_sqlite_value,
    update_rows,
)
from prd2pr.state.finished_records import restore_all_records
from prd2pr.state.git import Git

INDEX_FILE_NAME = "index.db"
MAX_ATTEMPTS = 5  # another process may update the file to another commit between our writing and reading
ALL_SCOPES: tuple[IndexScope, ...] = ("state", "code")


def rank_by_cosine(vectors: Mapping[str, bytes], wanted: Any, limit: int) -> list[tuple[str, float]]:
    """Return names and cosines, the nearest first and ties sorted by name. All vectors have length 1."""
    import numpy as np

    if not vectors:
        return []
    names = sorted(vectors)
    table = np.frombuffer(b"".join(vectors[name] for name in names), dtype=np.float32).reshape(len(names), -1)
    cosines = table @ wanted
    order = np.argsort(-cosines, kind="stable")[:limit]
    return [(names[at], float(cosines[at])) for at in order]


@dataclass
class MemoryIndex:
    """Implements `SearchIndex` for one commit, regardless of what other processes do at the same time."""

    git: Git
    tree: str
    scopes: tuple[IndexScope, ...]
    place: IndexFile
    embedder: Embedder | None = None
    _connection: sqlite3.Connection | None = field(default=None, repr=False)
    _in_memory: bool = False
    _vectors: dict[str, dict[str, bytes]] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, git: Git, commit: str, *, code: bool = True) -> Self:
        """Open the index of a commit or tree.

        With `code`, it includes the tables of files, symbols, dependencies and tests.
        """
        scopes: tuple[IndexScope, ...] = ALL_SCOPES if code else ("state",)
        index = cls(
            git, restore_all_records(git, commit), scopes, IndexFile(git.private / INDEX_FILE_NAME), find_embedder()
        )
        index._connection = index._open_on_disk() or index._build_in_memory()
        return index

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self.place.unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- queries ------------------------------------------------------------------------------------------------------

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        given = tuple(map(to_sqlite_value, values))
        try:
            return self._active_connection.execute(sql, given).fetchall()
        except sqlite3.DatabaseError as error:
            if self._in_memory or is_transient_sqlite_error(error):
                raise
            self.rebuild()  # damage that was not detected earlier
            return self._active_connection.execute(sql, given).fetchall()

    def select(self, sql: str, *, most: int, seconds: float) -> QueryResult:
        """Run a user's own query, which can only read."""
        try:
            return run_query(self._active_connection, sql, most=most, seconds=seconds)
        except (UsageProblem, sqlite3.DatabaseError) as problem:
            if self._in_memory or not (is_corruption(problem) or is_corruption(problem.__cause__)):
                raise
        self.rebuild()
        return run_query(self._active_connection, sql, most=most, seconds=seconds)

    def texts_with(self, table: str, word: str) -> int:
        assert table in TEXTS, "only these are searched"
        ((number,),) = self.rows(
            f"SELECT count(*) FROM {table}_text WHERE {table}_text MATCH ?",  # noqa: S608 - constant names
            (f'"{word}"*',),
        )
        return int(number)

    def nearest(self, table: EmbeddedTable, text: str, limit: int) -> list[tuple[str, float]] | None:
        if self.embedder is None:
            return None
        return rank_by_cosine(self._table_vectors(table, self.embedder), self.embedder.vector(text), limit)

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the whole content in a canonical order, so that two indexes of one commit have equal dumps."""
        found: dict[str, list[tuple[Any, ...]]] = {}
        for name in (*TABLES, *VIEWS, *(f"{table}_words" for table in TEXTS)):
            columns = ", ".join(list_table_columns(name)) if name in TABLES else "*"
            found[name] = sorted(self.rows(f"SELECT {columns} FROM {name}"), key=repr)  # noqa: S608 - constant names
        return found

    # --- building -----------------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Rebuild the index from scratch, in memory if another process has the file open."""
        self._close_connection()
        removed = self.place.remove()
        self._connection = (self._open_on_disk() if removed else None) or self._build_in_memory()

    @property
    def _active_connection(self) -> sqlite3.Connection:
        assert self._connection is not None, "the index is closed"
        return self._connection

    def _open_on_disk(self) -> sqlite3.Connection | None:
        """Open the index file, or return None if this machine or another process prevents it."""
        try:
            self.place.lock_shared()
            for _ in range(MAX_ATTEMPTS):
                found = self._snapshot()
                if found is not None:
                    return found
                if not self._write():
                    return None
        except sqlite3.DatabaseError as error:
            if is_transient_sqlite_error(error) or not self.place.remove():
                return None
            return self._recreate()
        except OSError:
            return None
        return None

    def _recreate(self) -> sqlite3.Connection | None:
        try:
            return self._snapshot() if self._write() else None
        except sqlite3.DatabaseError:
            return None

    def _snapshot(self) -> sqlite3.Connection | None:
        """Begin a read transaction at this commit; return None if the file does not exist or is at another commit."""
        if not self.place.path.exists():
            return None
        reader = self.place.reader()
        try:
            reader.execute("BEGIN")
            if has_current_schema(reader) and is_up_to_date(reader, self.tree, self.scopes):
                return reader
        except BaseException:
            reader.close()
            raise
        reader.close()
        return None

    def _write(self) -> bool:
        """Update the file to this commit; return False if it is from another version and in use."""
        writer = self.place.writer()
        try:
            writer.execute("BEGIN IMMEDIATE")
            ((tables,),) = writer.execute("SELECT count(*) FROM sqlite_master").fetchall()
            if tables and not has_current_schema(writer):
                writer.close()
                return self.place.remove() and self._write()
            if not tables:
                create_schema(writer)
            update_rows(writer, self.git, self.tree, self.scopes)
            writer.execute("COMMIT")
        finally:
            writer.close()  # nothing was written without a COMMIT
        return True

    def _build_in_memory(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        create_schema(connection)
        update_rows(connection, self.git, self.tree, self.scopes)
        self._in_memory = True
        return connection

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._in_memory = False

    # --- vectors ------------------------------------------------------------------------------------------------------

    def _table_vectors(self, table: EmbeddedTable, embedder: Embedder) -> dict[str, bytes]:
        """Return the vector of each row by path. Missing ones are computed now, and stored if possible."""
        if table in self._vectors:
            return self._vectors[table]
        stored = self.rows("SELECT path, blob, vector FROM embeddings WHERE model = ?", (embedder.name,))
        known = {(path, blob): vector for path, blob, vector in stored}
        texts = {(path, blob): text for path, blob, text in self.rows(EMBEDDED_TEXTS[table])}
        missing = [
            (*place, embedder.name, embedder.vector(text).tobytes())
            for place, text in texts.items()
            if place not in known
        ]
        self._store_vectors(missing)
        known |= {(path, blob): vector for path, blob, _, vector in missing}
        self._vectors[table] = {place[0]: known[place] for place in texts}
        return self._vectors[table]

    def _store_vectors(self, vectors: list[tuple[str, str, str, bytes]]) -> None:
        if not vectors or self._in_memory:
            return
        with suppress(sqlite3.DatabaseError, OSError):  # the stored vectors are only a cache for the next time
            writer = self.place.writer()
            try:
                writer.execute("BEGIN IMMEDIATE")
                if has_current_schema(writer) and read_indexed_tree(writer, "state") == self.tree:
                    writer.executemany(
                        "DELETE FROM embeddings WHERE path = ?1 AND blob != ?2 AND model = ?3",
                        [vector[:3] for vector in vectors],
                    )
                    writer.executemany(
                        "INSERT INTO embeddings (path, blob, model, vector) SELECT ?1, ?2, ?3, ?4"
                        " WHERE NOT EXISTS (SELECT 1 FROM embeddings WHERE path = ?1 AND model = ?3)",
                        vectors,
                    )
                writer.execute("COMMIT")
            finally:
                writer.close()
