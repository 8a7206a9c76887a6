"""The index matches its commit however it was made: rebuilt, updated, damaged, or shared by processes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import Library, estimate, failure, note, pattern, usage
from prd2pr.memory.files import encode_memory_file
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.index.file import IndexFile
from prd2pr.memory.index.index import ALL_SCOPES
from prd2pr.memory.index.update import update_rows
from prd2pr.state.git import Git

CODE = b"import os\n\nfrom shop import rates\n\n\nclass Basket:\n    def total(self, fee=0):\n        return fee\n"
TEST = b"from shop.basket import Basket\n\n\ndef test_total():\n    assert Basket().total() == 0\n"


def fresh(library: Library, tree: str = "") -> dict[str, list[tuple]]:
    """The content of a newly built index, in another file; the existing one is not touched."""
    index = MemoryIndex(
        library.git, library.git.tree(tree or library.head), ALL_SCOPES, IndexFile(Path("/nowhere/index.db"))
    )
    index._connection = index._build_in_memory()
    with index:
        return index.dump()


def is_on_disk(index: MemoryIndex) -> bool:
    return bool(index.rows("PRAGMA database_list")[0][2])


def opened(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(path, isolation_level=None))


def test_updated_index_equals_a_rebuilt_one(library):
    library.add(failure("f-1"), failure("f-2", feature="Payments"), pattern(), usage("u-1", 80))
    library.index().close()
    library.put({"src/shop/basket.py": CODE, "tests/test_basket.py": TEST, "logo.png": b"\x89PNG"})
    library.index().close()
    library.put(
        {encode_memory_file(failure("f-1"))[0]: None, "src/shop/basket.py": CODE.replace(b"total", b"sum"), "a b": b""}
    )
    library.add(failure("f-3"), estimate("e-1", 4, 5))
    with library.index() as index:
        updated = index.dump()
        assert [row[0] for row in index.rows("SELECT id FROM failures ORDER BY id")] == ["f-2", "f-3"]
    assert updated == fresh(library)
    assert ("src/shop/basket.py", "shop.basket.Basket.sum") in {row[:1] + row[2:3] for row in updated["symbols"]}


def test_a_rebuild_drops_foreign_rows(library):
    library.add(failure("f-1"))
    library.index().close()
    with opened(library.git.private / "index.db") as known:
        known.execute("UPDATE failures SET lesson = 'trust me'")
    with library.index() as index:
        assert index.rows("SELECT lesson FROM failures") == [("trust me",)]
        index.rebuild()
        assert is_on_disk(index)
        assert index.dump() == fresh(library)


def test_an_update_reads_only_what_changed(library, monkeypatch):
    library.add(*(failure(f"f-{n}") for n in range(30)))
    library.index().close()
    library.add(failure("new"))
    asked: list[str] = []
    read = Git.read_blobs
    monkeypatch.setattr(Git, "read_blobs", lambda git, blobs: read(git, [asked.append(each) or each for each in blobs]))
    with library.index() as index:
        assert index.rows("SELECT count(*) FROM failures") == [(31,)]
    assert len(asked) == 1


def test_index_follows_any_commit_back_and_forth(library):
    first = library.add(failure("f-1"))
    second = library.add(failure("f-2"))
    for commit, expected in [(second, 2), (first, 1), (second, 2), (library.git.tree(first), 1)]:
        with MemoryIndex.open(library.git, commit) as index:
            assert index.rows("SELECT count(*) FROM failures") == [(expected,)]


def test_a_missing_tree_causes_a_rebuild(library):
    library.add(failure("f-1"))
    library.index().close()
    with opened(library.git.private / "index.db") as known:
        known.execute("UPDATE meta SET value = ?", ("1" * 40,))
    library.add(failure("f-2"))
    with library.index() as index:
        assert index.dump() == fresh(library)


def test_deleted_records_are_not_found_by_text_search(library):
    library.add(failure("f-1", lesson="Flamingo"))
    library.index().close()
    library.drop([failure("f-1")])
    with library.index() as index:
        assert index.texts_with("failures", "flamingo") == 0
        assert index.rows("SELECT * FROM failures_words") == []


def test_code_is_only_indexed_on_request(library):
    library.put({"src/shop/basket.py": CODE, "tests/test_basket.py": TEST})
    with library.index(code=False) as index:
        assert index.rows("SELECT * FROM files") == []
    with library.index() as index:
        whole = index.dump()
    assert whole["file_dependencies"] == [("tests/test_basket.py", "src/shop/basket.py")]
    assert [row[2:] for row in whole["test_index"]] == [
        ("tests/test_basket.py::test_total", 4, '["shop.basket.Basket"]')
    ]
    assert whole == fresh(library)


def test_unusual_files_are_listed_and_harmless(library):
    odd = {
        "src/bad.py": b"def (:\n",
        "src/null.py": b"a = '\0'\n",
        "src/deep.py": b"a = " + b"[" * 400 + b"]" * 400,
        "caf\udce9.py": b"x = 1\n",
        "new\nline.txt": b"",
    }
    library.put(odd)
    with library.index() as index:
        assert index.rows("SELECT count(*) FROM files") == [(len(odd) + 1,)]
        assert index.dump() == fresh(library)
    library.put(dict.fromkeys(odd))
    with library.index() as index:
        assert index.rows("SELECT path FROM files") == [("README.md",)]


def test_files_that_cannot_be_read_are_listed_as_problems(library):
    path, data = encode_memory_file(failure("f-1"))
    bad = {
        ".orch-state/memory/failures/torn.json": data[: len(data) // 2],
        ".orch-state/memory/failures/newer.json": data.replace(b'"schema_version":1', b'"schema_version":2'),
        ".orch-state/memory/wishes/w-1.json": data,
        ".orch-state/memory/failures/link.json": b"/etc/passwd",
        ".orch-state/prds/shop/backlog.json": b"[]",
        ".orch-state/logs/run-1.jsonl": b'{"at": "2026-11-01T12:00:00Z", "kind": "call"}\nnot json\n',
    }
    library.put({path: data, **bad})
    with library.index() as index:
        assert index.rows("SELECT id FROM failures") == [("f-1",)]
        problems = dict(index.rows("SELECT path, code FROM problems"))
        assert problems.keys() == bad.keys()
        assert problems[".orch-state/memory/failures/newer.json"] == "ERR402"
        assert index.dump() == fresh(library)
    library.put(dict.fromkeys(bad))
    with library.index() as index:
        assert index.rows("SELECT * FROM problems") == []


def test_a_manually_edited_log_is_read(library):
    lines = (
        b'{"at": 5, "kind": "call", "purpose": 7, "duration_ms": "long", "codes": "x"}\n{"at": "", "kind": "call", "'
    )
    lines += b'purpose": "a/b/c/1/1", "duration_ms": 1e9, "input_tokens": 1' + b"0" * 40 + b', "model": "\\ud800"}\n'
    library.put(
        {".orch-state/logs/run-1.jsonl": lines + b'{"at": "", "kind": "x", "duration_ms": 1' + b"0" * 30 + b"}"}
    )
    with library.index() as index:
        assert index.rows("SELECT count(*) FROM agent_logs") == [(3,)]


# --- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"this is no database, and never was one" * 100),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (len(path.read_bytes()) - 4096)),
        lambda path: sqlite3.connect(path).execute("PRAGMA user_version = 7").connection.close(),
        lambda path: sqlite3.connect(path).execute("DROP TABLE failures").connection.close(),
    ],
)
def test_a_damaged_or_foreign_file_is_rebuilt(library, damage):
    library.add(failure("f-1"))
    expected = fresh(library)
    library.index().close()
    path = library.git.private / "index.db"
    with opened(path) as known:
        known.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(path)
    library.add(failure("f-2"))
    library.drop([failure("f-2")])
    with library.index() as index:
        assert index.dump() == expected
    with library.index() as index:
        assert is_on_disk(index)
        assert index.dump() == expected


def test_damage_detected_on_reading_is_repaired(library):
    library.add(*(failure(f"f-{n}", lesson=f"word{n} " * 50) for n in range(60)))
    expected = fresh(library)
    library.index().close()
    path = library.git.private / "index.db"
    with opened(path) as known:
        known.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((page,),) = known.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'failures'")
        ((size,),) = known.execute("PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xee" * size)
    with library.index() as index:
        assert index.rows("SELECT count(*) FROM failures WHERE lesson LIKE '%word7%'") == [(1,)]
        assert index.dump() == expected


def test_without_write_access_the_index_is_in_memory(library, monkeypatch):
    library.add(failure("f-1"))
    expected = fresh(library)
    monkeypatch.setattr(IndexFile, "writer", lambda _: sqlite3.connect("file:/nowhere/at/all?mode=rw", uri=True))
    with library.index() as index:
        assert not is_on_disk(index)
        assert index.dump() == expected


def test_failed_update_leaves_the_index_unchanged(library, monkeypatch):
    first = library.add(failure("f-1"))
    library.index().close()
    library.add(failure("f-2"))

    def failing_write(connection, git, tree, scopes):
        update_rows(connection, git, tree, scopes)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("prd2pr.memory.index.index.update_rows", failing_write)
        with pytest.raises(KeyboardInterrupt):
            library.index()
    with opened(library.git.private / "index.db") as known:
        assert known.execute("SELECT id FROM failures").fetchall() == [("f-1",)]
        assert known.execute("SELECT value FROM meta").fetchall()[0] == (library.git.tree(first),)
    with library.index() as index:
        assert index.dump() == fresh(library)


# --- several at once --------------------------------------------------------------------------------------------------


def test_a_reader_stays_at_its_commit(library):
    first = library.add(failure("f-1"))
    with MemoryIndex.open(library.git, first) as early:
        library.add(failure("f-2"))
        with library.index() as late:
            assert is_on_disk(late)
            assert late.rows("SELECT count(*) FROM failures") == [(2,)]
            assert early.rows("SELECT count(*) FROM failures") == [(1,)]


def test_a_file_in_use_is_not_removed(library):
    library.add(failure("f-1"))
    with library.index() as first, library.index() as second:
        second.rebuild()
        assert not is_on_disk(second)
        assert first.dump() == second.dump()


PROCESS = """
import sys
from prd2pr.state.git import Git
from prd2pr.memory.index import MemoryIndex
commits = sys.argv[2:]
with Git.open(sys.argv[1]) as git:
    for commit, expected in [each.split(":") for each in commits] * 6:
        with MemoryIndex.open(git, commit) as index:
            found = index.rows("SELECT count(*) FROM failures")[0][0]
            assert found == int(expected), (commit, found, expected)
            words = index.rows("SELECT count(*) FROM failures_text WHERE failures_text MATCH 'redis'")[0][0]
            assert words == int(expected), (commit, words, expected)
"""


@pytest.mark.slow
def test_concurrent_processes_each_see_their_own_commit(library):
    commits = [f"{library.add(failure(f'f-{n}'))}:{n}" for n in range(1, 5)]
    command = [sys.executable, "-c", PROCESS, str(library.place)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    orders = [commits, commits[::-1], [commits[2], commits[0]]]
    running = [
        subprocess.Popen([*command, *order], env=environment, stderr=subprocess.PIPE, text=True) for order in orders
    ]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    with opened(library.git.private / "index.db") as known:
        assert known.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with library.index() as index:
        assert index.dump() == fresh(library)


# --- any history ------------------------------------------------------------------------------------------------------

FILES = {
    **{
        f".orch-state/memory/failures/f-{n}.json": encode_memory_file(failure(f"f-{n}", lesson=f"l{n}"))[1]
        for n in range(4)
    },
    **dict(
        [encode_memory_file(pattern()), encode_memory_file(usage("u-1", 50)), encode_memory_file(estimate("e-1", 4, 5))]
    ),
    **dict([encode_memory_file(note("fastapi", "1", "2026-11-01T00:00:00Z", "2026-11-08T00:00:00Z"))]),
    ".orch-state/memory/failures/torn.json": b"{",
    ".orch-state/logs/r-1.jsonl": b'{"at": "2026-11-01T00:00:00Z", "kind": "call", "purpose": "a/red/tester/1/1"}\n',
    "src/shop/basket.py": CODE,
    "tests/test_basket.py": TEST,
    "notes.txt": b"notes\n",
}
VARIANTS = {
    "src/shop/basket.py": CODE + b"\n\ndef more():\n    return 1\n",
    ".orch-state/logs/r-1.jsonl": b"damaged\n",
    ".orch-state/memory/failures/f-1.json": encode_memory_file(failure("f-1", feature="Another one", lesson="other"))[
        1
    ],
    ".orch-state/memory/failures/torn.json": encode_memory_file(failure("torn"))[1],
}
change = st.dictionaries(
    st.sampled_from(sorted(FILES)), st.sampled_from(["there", "other", "gone"]), min_size=1, max_size=5
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(change, st.booleans()), min_size=1, max_size=6))
def test_any_history_of_changes_and_merges_updates_like_a_rebuild(library: Library, steps) -> None:
    """A merge takes the tree of the branch before last; to the index it is a tree like any other."""
    git, trees = library.git, [library.git.tree(library.head)]
    for changed, merges in steps:
        base = trees[max(0, len(trees) - 3)] if merges else trees[-1]
        there = {entry.path for entry in git.entries(base)}
        updates: dict[str, bytes | None] = {}
        for path, how in changed.items():
            if how == "gone":
                updates |= {path: None} if path in there else {}
            else:
                updates[path] = VARIANTS.get(path, FILES[path]) if how == "other" else FILES[path]
        trees.append(git.edit_tree(base, updates))
        with MemoryIndex.open(git, trees[-1]) as index:
            updated = index.dump()
        assert updated == fresh(library, trees[-1])
