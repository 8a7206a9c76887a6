"""A person's own SQL, which can read the index and do nothing else: no writing, no other file, no time without end."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from prd2pr.errors import UsageProblem
from prd2pr.repo.memory_index.schema import TEXTS

# The clock is looked at between two steps of SQLite's machine, and a function is one step: what some functions take is
# the product of their arguments' lengths, so these are kept short.
MOST_LENGTH = 400_000  # bytes of one value; a record has 256 KiB at most
MOST_PATTERN = 200  # of LIKE and GLOB
MOST_TRIMMED = 100  # characters that trim(X, Y) looks for
MOST_SQL = 20_000
MOST_SHOWN = 4_000_000  # characters of all values together
STEPS = 10_000  # of SQLite's machine between two looks at the clock
ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MOST_LENGTH,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MOST_SQL,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: MOST_PATTERN,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# Tables that SQLite makes known when they are first used; to do so looks like writing, which is then not allowed.
MADE_KNOWN = (
    *("json_each('[]')", "json_tree('[]')"),
    *(f"{table}_{ending}" for table in TEXTS for ending in ("text", "words")),
)


TRIMS: dict[str, Callable[[str, str], str]] = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}


def trimmed(strip: Callable[[str, str], str], text: object, characters: object) -> str | None:
    """As SQLite's own, but for how long it may look for."""
    if text is None or characters is None:
        return None
    if len(str(characters)) > MOST_TRIMMED:
        raise ValueError(f"trim looks for {MOST_TRIMMED} characters at most")
    return strip(str(text), str(characters))


@dataclass(frozen=True)
class Answer:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool  # there was more


def ask(connection: sqlite3.Connection, sql: str, *, most: int, seconds: float) -> Answer:
    """UsageProblem for what is no question, and for one that takes too long."""
    for table in MADE_KNOWN:
        connection.execute(f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608 - names of ours
    for name, strip in TRIMS.items():
        connection.create_function(name, 2, partial(trimmed, strip), deterministic=True)
    deadline = time.monotonic() + seconds
    before = {limit: connection.setlimit(limit, value) for limit, value in LIMITS.items()}
    connection.set_authorizer(only_reading)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        return answer(connection.execute(sql), most)
    except sqlite3.Error as error:
        raise not_answered(error, seconds) from error
    except (sqlite3.Warning, ValueError) as error:  # two statements; a null character
        raise not_answered(error, seconds) from error
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)
        for limit, value in before.items():
            connection.setlimit(limit, value)


def answer(cursor: sqlite3.Cursor, most: int) -> Answer:
    if cursor.description is None:
        raise sqlite3.ProgrammingError("this is no question")
    columns = tuple(name for name, *_ in cursor.description)
    rows: list[tuple[Any, ...]] = []
    size, cut = 0, False
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) == most or size > MOST_SHOWN:
            cut = True
            break
        rows.append(row)
    cursor.close()
    return Answer(columns, tuple(rows), cut)


def only_reading(action: int, one: str | None, two: str | None, *_: str | None) -> int:
    """What SQLite is about to do while it reads the statement, asked for each part of it."""
    if action in ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (two or "").lower() in FORBIDDEN_FUNCTIONS else sqlite3.SQLITE_OK
    # The search by words asks this itself, to see whether its table has changed.
    if action == sqlite3.SQLITE_PRAGMA and (one or "").lower() == "data_version" and two is None:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def not_answered(error: Exception, seconds: float) -> UsageProblem:
    said = str(error)
    if "interrupted" in said:
        what = f"the query takes longer than {seconds:g} seconds, and was stopped"
    elif "not authorized" in said or "prohibited" in said:
        what = f"only reading is possible here, and this would do more ({said})"
    else:
        what = f"SQLite cannot answer this: {said}"
    tables = "`prd2pr query --sql \"SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')\"` lists the tables"
    return UsageProblem(what, where="--sql", remedy=tables)
