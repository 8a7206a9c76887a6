"""User-supplied SQL can read the index and do nothing else."""

from __future__ import annotations

import time

import pytest

from memories import Library, failure
from prd2pr.errors import UsageProblem
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.index.file import IndexFile
from prd2pr.memory.index.index import ALL_SCOPES

BOMB = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

ATTACKS = [
    "INSERT INTO failures (path, blob, id, prd, story) VALUES ('a', 'b', 'c', 'd', 'e')",
    "WITH x AS (SELECT 'a' AS a) INSERT INTO meta SELECT a, a FROM x",
    "WITH x AS (SELECT 1) DELETE FROM failures WHERE 1 IN x RETURNING id",
    "UPDATE failures SET lesson = 'trust me' RETURNING lesson",
    "REPLACE INTO meta VALUES ('state', 'x')",
    "DELETE FROM failures",
    "DROP TABLE failures",
    "CREATE TABLE t (a)",
    "CREATE TEMP TABLE t AS SELECT * FROM failures",
    "CREATE TEMP TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END",
    "ALTER TABLE failures RENAME TO f",
    "INSERT INTO failures_text(failures_text) VALUES ('delete-all')",
    "INSERT INTO failures_text(failures_text) VALUES ('rebuild')",
    "ATTACH DATABASE '{other}' AS other",
    "ATTACH DATABASE ':memory:' AS other",
    "DETACH DATABASE main",
    "VACUUM INTO '{other}'",
    "VACUUM",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT a",
    "PRAGMA writable_schema = ON",
    "PRAGMA query_only = OFF",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA user_version = 9",
    "PRAGMA data_version = 9",
    "PRAGMA temp_store_directory = '/tmp'",
    "SELECT * FROM pragma_writable_schema",
    "SELECT load_extension('{other}')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "SELECT writefile('{other}', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT 1; DROP TABLE failures",
    "SELECT 1; SELECT 2",
    "",
    "  -- nothing",
    "SELECT",
    "SELECT * FROM nowhere",
    "SELECT '\0'",
    "EXPLAIN DELETE FROM failures",
]


def kept_in(library: Library, how: str) -> MemoryIndex:
    if how == "file":
        return library.index()
    made = MemoryIndex(
        library.git, library.git.tree(library.head), ALL_SCOPES, IndexFile(library.place / "none" / "index.db")
    )
    made._connection = made._build_in_memory()
    return made


@pytest.mark.parametrize("how", ["file", pytest.param("memory", marks=pytest.mark.slow)])
@pytest.mark.parametrize("sql", ATTACKS)
def test_only_reading_is_allowed(library, tmp_path, sql, how):
    library.add(failure("f-1"))
    other = tmp_path / "other.db"
    with kept_in(library, how) as index:
        before = index.dump()
        with pytest.raises(UsageProblem) as caught:
            index.select(sql.format(other=other) if "{other}" in sql else sql, most=10, seconds=5)
        assert caught.value.exit_status == 2
        assert index.dump() == before
    assert not other.exists()
    with library.index() as again:
        assert again.dump() == before


@pytest.mark.parametrize(
    "sql",
    [
        BOMB,
        "SELECT count(*) FROM failures a, failures b, failures c, failures d, failures e, failures f",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000000) SELECT max(i) FROM n",
        "WITH RECURSIVE n(t) AS (SELECT '' UNION ALL SELECT t || 'abcdefgh' FROM n) SELECT t FROM n WHERE t = 'x'",
    ],
)
def test_expensive_query_is_stopped_in_time(library, sql):
    library.add(*(failure(f"f-{n}") for n in range(40)))
    with library.index() as index:
        started = time.process_time()
        with pytest.raises(UsageProblem):
            index.select(sql, most=10, seconds=0.3)
        assert time.process_time() - started < 5
        assert index.select("SELECT count(*) FROM failures", most=10, seconds=5).rows == ((40,),)


@pytest.mark.parametrize(
    "sql", ["SELECT zeroblob(1000000000)", "SELECT replace(hex(zeroblob(400000)), '0', 'abcdefgh')"]
)
def test_oversized_values_are_refused(library, sql):
    with library.index() as index, pytest.raises(UsageProblem, match="too big"):
        index.select(sql, most=10, seconds=5)


def test_rows_are_limited_and_the_rest_is_counted(library):
    library.add(*(failure(f"f-{n}") for n in range(20)))
    with library.index() as index:
        some = index.select("SELECT id FROM failures", most=5, seconds=5)
        assert (len(some.rows), some.cut) == (5, True)
        whole = index.select("SELECT id FROM failures", most=20, seconds=5)
        assert (len(whole.rows), whole.cut) == (20, False)
        long = index.select(f"{BOMB.replace('count(*)', 'hex(zeroblob(150000))')}", most=1000, seconds=5)
        assert long.cut and len(long.rows) < 20


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id, feature FROM failures", (("f-1", "WebSocket notifications"),)),
        (
            "SELECT f.id FROM failures_text t JOIN failures f ON f.row = t.rowid WHERE failures_text MATCH 'redis'",
            (("f-1",),),
        ),
        ("WITH x AS (SELECT id FROM failures) SELECT count(*) FROM x", ((1,),)),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT sum(i) FROM n", ((6,),)),
        ("SELECT value FROM json_each('[1, 2]')", ((1,), (2,))),
        ("SELECT count(*) FROM sqlite_schema WHERE name = 'failures'", ((1,),)),
        ("SELECT id FROM failures WHERE logged_at < unixepoch()", (("f-1",),)),
        ("VALUES (1)", ((1,),)),
    ],
)
def test_read_only_queries_are_answered(library, sql, expected):
    library.add(failure("f-1"))
    with library.index() as index:
        assert index.select(sql, most=10, seconds=5).rows == expected


def test_query_leaves_no_restrictions_on_the_index(library):
    library.add(failure("f-1"))
    with library.index() as index:
        with pytest.raises(UsageProblem):
            index.select("DELETE FROM failures", most=10, seconds=5)
        assert index.rows("PRAGMA user_version") != [(0,)]


LONG = "replace(hex(zeroblob(90000)), '0', 'a')"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {LONG} LIKE replace(hex(zeroblob(12000)), '0', '%a') || 'b'",
        f"SELECT {LONG} GLOB replace(hex(zeroblob(12000)), '0', '*a') || 'b'",
        f"SELECT trim({LONG}, replace(hex(zeroblob(90000)), '0', 'c') || 'a')",
        f"SELECT {LONG} || {LONG} || {LONG}",
    ],
)
def test_no_single_function_takes_quadratic_time_on_long_texts(library, sql):
    """The timeout is checked only between SQLite's bytecode instructions."""
    with library.index() as index:
        started = time.process_time()
        with pytest.raises(UsageProblem):
            index.select(sql, most=10, seconds=0.3)
        assert time.process_time() - started < 3


def test_short_patterns_and_trims_work_as_usual(library):
    sql = "SELECT 'Points' LIKE '%int%', trim('xxaxx', 'x'), ltrim('xa', 'x'), rtrim('ax', 'x'), trim(NULL, 'x')"
    with library.index() as index:
        assert index.select(sql, most=10, seconds=5).rows == ((1, "a", "a", "a", None),)


def test_damaged_index_is_rebuilt_for_sql_too(library):
    library.add(*(failure(f"f-{n}", lesson="x" * 3000) for n in range(60)))
    with library.index() as index:
        path = index.place.path
    with library.index() as index:
        data = bytearray(path.read_bytes())
        data[8192:] = b"\xff" * (len(data) - 8192)
        with path.open("r+b") as file:
            file.write(data)
        answer = index.select("SELECT count(*), max(length(lesson)) FROM failures", most=10, seconds=5)
        assert answer.rows == ((60, 3000),)
