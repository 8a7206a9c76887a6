"""Run a user's own SQL on the index: read-only, without access to other files, limited in time and size."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from prd2pr.errors import UsageProblem
from prd2pr.memory.index.schema import TEXTS

# The time limit is checked between steps of SQLite's virtual machine, and a function call is one step. Some
# functions take time proportional to the product of their arguments' lengths, so these are limited.
MAX_VALUE_LENGTH = 400_000  # bytes per value; a record has at most 256 KiB
MAX_PATTERN_LENGTH = 200  # length of a LIKE or GLOB pattern
MAX_TRIM_CHARACTERS = 100  # characters that trim(X, Y) removes
MAX_SQL_LENGTH = 20_000
MAX_RESULT_LENGTH = 4_000_000  # characters of all values together
PROGRESS_STEPS = 10_000  # steps of SQLite's virtual machine between two checks of the time limit
ALLOWED_ACTIONS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE_LENGTH,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_SQL_LENGTH,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: MAX_PATTERN_LENGTH,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# Virtual tables that SQLite creates on first use, which the authorizer would reject as writes.
PRELOADED_TABLES = (
    *("json_each('[]')", "json_tree('[]')"),
    *(f"{table}_{ending}" for table in TEXTS for ending in ("text", "words")),
)


TRIM_FUNCTIONS: dict[str, Callable[[str, str], str]] = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}


def trim_with_limit(strip: Callable[[str, str], str], text: object, characters: object) -> str | None:
    """Remove the characters from both ends of a text like SQLite's `trim`, but limit how many may be given."""
    if text is None or characters is None:
        return None
    if len(str(characters)) > MAX_TRIM_CHARACTERS:
        raise ValueError(f"trim removes at most {MAX_TRIM_CHARACTERS} different characters")
    return strip(str(text), str(characters))


@dataclass(frozen=True)
class QueryResult:
    """The rows of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool  # whether there were more rows


def run_query(connection: sqlite3.Connection, sql: str, *, most: int, seconds: float) -> QueryResult:
    """Run a query; raise UsageProblem if it is invalid or takes too long."""
    for table in PRELOADED_TABLES:
        connection.execute(f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608 - constant names
    for name, strip in TRIM_FUNCTIONS.items():
        connection.create_function(name, 2, partial(trim_with_limit, strip), deterministic=True)
    deadline = time.monotonic() + seconds
    before = {limit: connection.setlimit(limit, value) for limit, value in SQLITE_LIMITS.items()}
    connection.set_authorizer(authorize_reading)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, PROGRESS_STEPS)
    try:
        return fetch_result(connection.execute(sql), most)
    except sqlite3.Error as error:
        raise make_query_error(error, seconds) from error
    except (sqlite3.Warning, ValueError) as error:  # two statements, or a null character
        raise make_query_error(error, seconds) from error
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)
        for limit, value in before.items():
            connection.setlimit(limit, value)


def fetch_result(cursor: sqlite3.Cursor, most: int) -> QueryResult:
    if cursor.description is None:
        raise sqlite3.ProgrammingError("this statement returns no rows")
    columns = tuple(name for name, *_ in cursor.description)
    rows: list[tuple[Any, ...]] = []
    size, cut = 0, False
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) == most or size > MAX_RESULT_LENGTH:
            cut = True
            break
        rows.append(row)
    cursor.close()
    return QueryResult(columns, tuple(rows), cut)


def authorize_reading(action: int, one: str | None, two: str | None, *_: str | None) -> int:
    """Authorize only reading and harmless functions. SQLite calls this for each operation."""
    if action in ALLOWED_ACTIONS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (two or "").lower() in FORBIDDEN_FUNCTIONS else sqlite3.SQLITE_OK
    # Full-text search reads it to check whether its table has changed.
    if action == sqlite3.SQLITE_PRAGMA and (one or "").lower() == "data_version" and two is None:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def make_query_error(error: Exception, seconds: float) -> UsageProblem:
    message = str(error)
    if "interrupted" in message:
        what = f"the query was stopped after {seconds:g} seconds"
    elif "not authorized" in message or "prohibited" in message:
        what = f"only reading is allowed ({message})"
    else:
        what = f"SQLite rejected the query: {message}"
    remedy = "`prd2pr query --sql \"SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')\"` lists the tables"
    return UsageProblem(what, where="--sql", remedy=remedy)
