"""`prd2pr query` as a person and as a program calls it."""

from __future__ import annotations

import pytest

from memories import estimate, failure, note
from prd2pr.cli.verbs.query import QUERIES
from prd2pr.memory.files import encode_memory_file
from world import World


@pytest.fixture(scope="module")
def with_records(tmp_path_factory) -> World:
    """Records on the branch of a PRD, with main checked out."""
    world = World(tmp_path_factory.mktemp("learnt")).start()
    hostile = failure("f-2", feature="Card payments", approach="An own form", lesson="::error::no\x1b[31m")
    remember(world, failure("f-1"), hostile)
    world.git("switch", "-q", "main")
    return world


def remember(world: World, *records) -> None:
    world.git("switch", "-q", "-C", "prd2pr/shop")
    world.write({path: data.decode() for path, data in map(encode_memory_file, records)})
    world.commit("remember")


def test_similar_failures_for_people_and_for_programs(with_records):
    done = with_records.program("query", "similar-failures", "tell browsers by websockets")
    assert done.status == 0, done.err
    assert done.out.splitlines()[0].split() == ["feature", "why", "failed", "lesson", "story"]
    assert "WebSocket notifications" in done.out and "Card payments" not in done.out
    found = with_records.program("query", "similar-failures", "tell browsers by websockets", "--json").json
    assert found["query"] == "similar-failures"
    assert [row["id"] for row in found["rows"]] == ["f-1"]
    assert found["rows"][0]["lesson"] == failure().lesson
    nothing = with_records.program("query", "similar-failures", "zebras")
    assert (nothing.status, nothing.out.count("\n")) == (0, 1), nothing.out
    assert with_records.program("query", "similar-failures", "zebras", "--json").json["rows"] == []


def test_foreign_text_triggers_nothing_in_a_job_log(with_records):
    done = with_records.program("query", "similar-failures", "card payments")
    assert "no" in done.out
    assert "\x1b" not in done.out
    assert not [line for line in done.out.splitlines() if line.lstrip().startswith("::")]


@pytest.mark.parametrize("name", [name for name in QUERIES if not QUERIES[name].needs_text])
def test_every_query_is_answered(with_records, name):
    done = with_records.program("query", name)
    assert (done.status, done.err) == (0, "")
    assert done.out.strip()
    assert with_records.program("query", name, "--json").json["query"] == name


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), [("trace", "nonsense"), ("complexity-trend", "no/such/file.py")])
def test_an_unknown_subject_is_named(with_records, name, text):
    done = with_records.program("query", name, text)
    assert done.status == 0 and done.out.startswith(f"{text} ") and "yet" not in done.out
    assert with_records.program("query", name, text, "--json").json["rows"] == []


def test_a_fetched_branch_is_found_and_an_empty_answer_names_what_was_read(with_records, tmp_path):
    clone = World(tmp_path)
    clone.repo.parent.mkdir(parents=True, exist_ok=True)
    with_records.git("clone", "-q", "-b", "main", str(with_records.repo), str(clone.repo))
    assert "WebSocket" in clone.program("query", "similar-failures", "tell browsers by websockets").out
    assert clone.program("query", "stale-docs").out == "No library note is stale. Read: origin/prd2pr/shop.\n"
    assert clone.program("query", "stale-docs", "--json").json["refs"] == ["origin/prd2pr/shop"]
    clone.git("branch", "-q", "-r", "-d", "origin/prd2pr/shop")
    assert clone.program("query", "stale-docs").out.endswith("Read: main.\n")


def test_infinite_numbers_stay_json(with_records):
    assert with_records.program("query", "--sql", "SELECT 9e999, 1", "--json").json["rows"] == [["inf", 1]]


def test_queries_over_records(world):
    remember(
        world,
        estimate("e-1", 3, 5, at="2026-11-01T00:00:00Z"),
        note("fastapi", "0.115.0", "2025-01-01T00:00:00Z", "2025-01-08T00:00:00Z"),
    )
    assert world.program("query", "stale-docs", "--json").json["rows"][0]["library"] == "fastapi"
    assert "fastapi  0.115.0  2025-01-01 00:00  2025-01-08 00:00" in world.program("query", "stale-docs").out


@pytest.mark.slow
def test_custom_sql(with_records):
    done = with_records.program("query", "--sql", "SELECT id, lesson FROM failures ORDER BY id", "--json")
    assert done.json["columns"] == ["id", "lesson"]
    assert [row[0] for row in done.json["rows"]] == ["f-1", "f-2"]
    assert done.json["cut"] is False
    some = with_records.program("query", "--sql", "SELECT path FROM files", "--limit", "1")
    assert some.out.endswith("More rows exist; use --limit to show up to 1000.\n")
    blob = with_records.program("query", "--sql", "SELECT x'0102', NULL, 1.5", "--json")
    assert blob.json["rows"] == [["0102", None, 1.5]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("query",), "name a query"),
        (("query", "similar-failure", "x"), "did you mean `prd2pr query similar-failures`?"),
        (("query", "nonsense"), "known queries: similar-failures"),
        (("query", "similar-failures"), "requires an argument"),
        (("query", "similar-failures", "  "), "requires an argument"),
        (("query", "slow-agents", "all of them"), "takes no argument"),
        (("query", "slow-agents", "--sql", "SELECT 1"), "not both"),
        (("query", "slow-agents", "--limit", "0"), "--limit must be between 1 and 1000"),
        (("query", "--sql", "DELETE FROM failures"), "only reading is allowed"),
        (("query", "--sql", "SELECT * FROM nowhere"), "no such table: nowhere"),
        (("query", "--sql", ""), "SQLite rejected the query"),
    ],
)
def test_an_invalid_query_exits_with_2_and_suggests_a_valid_one(with_records, arguments, words):
    done = with_records.program(*arguments)
    assert done.status == 2
    assert words in done.err
    assert "Traceback" not in done.err and not done.out


def test_an_unreadable_file_is_reported_and_the_rest_is_answered(world):
    world.git("switch", "-q", "-c", "prd2pr/shop")
    world.write({f".orch-state/memory/failures/bad-{n}.json": "{" for n in range(5)})
    remember(world, failure("f-1"))
    done = world.program("query", "similar-failures", "websockets", "--json")
    assert [row["id"] for row in done.json["rows"]] == ["f-1"]
    assert done.err.count("skipped: .orch-state/memory/failures/bad-") == 3
    assert "and 2 more" in done.err


def test_a_path_that_is_not_text_is_no_crash(with_records):
    assert with_records.program("query", "complexity-trend", "caf\udce9.py").status == 0


def test_no_checkout_or_branch_is_touched(with_records):
    before = with_records.git("for-each-ref"), with_records.git("status", "--porcelain")
    with_records.program("query", "trace")
    assert (with_records.git("for-each-ref"), with_records.git("status", "--porcelain")) == before
