"""The index of one commit: opened, brought up to date by what changed since it was last looked at, and asked.

It only saves time. Whatever happens to its file, what a commit remembers is in the commit: where the file cannot be had
(a full disk, another process that keeps it on another commit), the rows are made in memory, for this process alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from prd2pr.errors import UsageProblem
from prd2pr.repo.git import Git
from prd2pr.repo.memory_index.filling import Scope, create, fill, is_current, is_ours, kept, tree_seen
from prd2pr.repo.memory_index.guarded import Answer, ask
from prd2pr.repo.memory_index.minilm import Embedder, find_embedder
from prd2pr.repo.memory_index.nearness import nearest
from prd2pr.repo.memory_index.place import Place, is_damage, is_passing
from prd2pr.repo.memory_index.schema import TABLES, TEXTS, VIEWS, columns_of

NAME = "index.db"
TRIES = 5  # another process may bring it to another commit between our writing and our reading
WHOLE: tuple[Scope, ...] = ("state", "code")


@dataclass
class MemoryIndex:
    """Implements `core.memory.queries.Index`. What is read is one commit's, whatever other processes do meanwhile."""

    git: Git
    tree: str
    scopes: tuple[Scope, ...]
    place: Place
    embedder: Embedder | None = None
    _connection: sqlite3.Connection | None = field(default=None, repr=False)
    _in_memory: bool = False
    _vectors: dict[str, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, git: Git, commit: str, *, code: bool = True) -> Self:
        """A tree will do for a commit. `code`: the tables of files, symbols, dependencies and tests are wanted too."""
        scopes: tuple[Scope, ...] = WHOLE if code else ("state",)
        made = cls(git, git.tree(commit), scopes, Place(git.private / NAME), find_embedder())
        made._connection = made._on_disk() or made._at_hand()
        return made

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self.place.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def on_disk(self) -> bool:
        return not self._in_memory

    # --- asking -------------------------------------------------------------------------------------------------------

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        given = tuple(map(kept, values))
        try:
            return self._open.execute(sql, given).fetchall()
        except sqlite3.DatabaseError as error:
            if self._in_memory or is_passing(error):
                raise
            self.rebuild()  # damaged in a place that nobody had looked at yet
            return self._open.execute(sql, given).fetchall()

    def select(self, sql: str, *, most: int, seconds: float) -> Answer:
        """Somebody's own question, which can read and do nothing else."""
        try:
            return ask(self._open, sql, most=most, seconds=seconds)
        except (UsageProblem, sqlite3.DatabaseError) as problem:
            if self._in_memory or not (is_damage(problem) or is_damage(problem.__cause__)):
                raise
        self.rebuild()
        return ask(self._open, sql, most=most, seconds=seconds)

    def texts_with(self, table: str, word: str) -> int:
        assert table in TEXTS, "only these are searched"
        ((number,),) = self.rows(
            f"SELECT count(*) FROM {table}_text WHERE {table}_text MATCH ?",  # noqa: S608 - a name of ours
            (f'"{word}"*',),
        )
        return int(number)

    def nearest(self, text: str, limit: int) -> list[tuple[str, float]] | None:
        if self.embedder is None:
            return None
        return nearest(self._learnt_vectors(self.embedder), self.embedder.vector(text), limit)

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """All that it says, in one order, however it came to be: two indexes of a commit have equal dumps."""
        found: dict[str, list[tuple[Any, ...]]] = {}
        for name in (*TABLES, *VIEWS, *(f"{table}_words" for table in TEXTS)):
            columns = ", ".join(columns_of(name)) if name in TABLES else "*"
            found[name] = sorted(self.rows(f"SELECT {columns} FROM {name}"), key=repr)  # noqa: S608 - names of ours
        return found

    # --- coming to be -------------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        """From nothing, whatever is there; in memory, while another process has the file open."""
        self._end_reading()
        removed = self.place.remove()
        self._connection = (self._on_disk() if removed else None) or self._at_hand()

    @property
    def _open(self) -> sqlite3.Connection:
        assert self._connection is not None, "the index is closed"
        return self._connection

    def _on_disk(self) -> sqlite3.Connection | None:
        """None: this machine, or another process, does not let us."""
        try:
            self.place.hold()
            for _ in range(TRIES):
                found = self._snapshot()
                if found is not None:
                    return found
                if not self._write():
                    return None
        except sqlite3.DatabaseError as error:
            if is_passing(error) or not self.place.remove():
                return None
            return self._made_anew()
        except OSError:
            return None
        return None

    def _made_anew(self) -> sqlite3.Connection | None:
        try:
            return self._snapshot() if self._write() else None
        except sqlite3.DatabaseError:
            return None

    def _snapshot(self) -> sqlite3.Connection | None:
        """A reader that stays at this commit; None where the file is not there, or not at this commit."""
        if not self.place.path.exists():
            return None
        reader = self.place.reader()
        try:
            reader.execute("BEGIN")
            if is_ours(reader) and is_current(reader, self.tree, self.scopes):
                return reader
        except BaseException:
            reader.close()
            raise
        reader.close()
        return None

    def _write(self) -> bool:
        """Bring the file to this commit. False: it is another version's, and in use."""
        writer = self.place.writer()
        try:
            writer.execute("BEGIN IMMEDIATE")
            ((tables,),) = writer.execute("SELECT count(*) FROM sqlite_master").fetchall()
            if tables and not is_ours(writer):
                writer.close()
                return self.place.remove() and self._write()
            if not tables:
                create(writer)
            fill(writer, self.git, self.tree, self.scopes)
            writer.execute("COMMIT")
        finally:
            writer.close()  # without a COMMIT nothing was written
        return True

    def _at_hand(self) -> sqlite3.Connection:
        made = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        create(made)
        fill(made, self.git, self.tree, self.scopes)
        self._in_memory = True
        return made

    def _end_reading(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._in_memory = False

    # --- vectors ------------------------------------------------------------------------------------------------------

    def _learnt_vectors(self, embedder: Embedder) -> dict[str, bytes]:
        """Path → vector of each failure. What is missing is made now, and kept for the next time if that can be."""
        if self._vectors:
            return self._vectors
        known = dict(self.rows("SELECT path, vector FROM embeddings WHERE model = ?", (embedder.name,)))
        # What it was about and how it was tried: so a new task is worded too.
        texts = self.rows("SELECT path, blob, feature, approach FROM failures ORDER BY path")
        missing = [
            (path, blob, embedder.name, embedder.vector(". ".join(said)).tobytes())
            for path, blob, *said in texts
            if path not in known
        ]
        self._keep(missing)
        self._vectors = {**known, **{path: vector for path, _, _, vector in missing}}
        return self._vectors

    def _keep(self, made: list[tuple[str, str, str, bytes]]) -> None:
        if not made or self._in_memory:
            return
        with suppress(sqlite3.DatabaseError, OSError):  # it saves time the next time, and that is all
            writer = self.place.writer()
            try:
                writer.execute("BEGIN IMMEDIATE")
                if is_ours(writer) and tree_seen(writer, "state") == self.tree:
                    writer.executemany(
                        "INSERT INTO embeddings (path, blob, model, vector) SELECT ?1, ?2, ?3, ?4"
                        " WHERE NOT EXISTS (SELECT 1 FROM embeddings WHERE path = ?1 AND model = ?3)",
                        made,
                    )
                writer.execute("COMMIT")
            finally:
                writer.close()
