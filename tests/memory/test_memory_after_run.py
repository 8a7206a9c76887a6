"""A real PRD run to its end; the queries from the first design are run on what it learned."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memories import Library, failure, note, read_memory
from prd2pr.domain.memory_records import DecisionRecord, EstimateRecord, FailureRecord
from prd2pr.errors import InputInvalid
from prd2pr.memory.commit import add_memory, find_relevant_memory
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.queries import compute_correction_factor, find_similar_failures, rank_slow_agents
from prd2pr.reports.query_scope import find_query_scope, find_trace_lines, load_prd_facts
from prd2pr.state.git import Git
from prd2pr.state.layout import PrdLayout
from prd2pr.state.store import StateChange, StateStore
from world import GREEN_ADD, World, designed, submit, write

SEED_QUERIES = {
    "similar": """SELECT f.* FROM failures_text t JOIN failures f ON f.row = t.rowid WHERE failures_text MATCH 'add*'
        ORDER BY bm25(failures_text), logged_at DESC LIMIT 5""",
    "correction factor": """SELECT AVG(CAST(actual_sessions AS FLOAT) / estimated_sessions) as correction_factor
        FROM estimates WHERE actual_sessions IS NOT NULL AND completed_at > unixepoch() - 7776000""",
    "scope creep": """SELECT p.id, p.feature_request,
          json_array_length(p.state_json, '$.completed_steps') as actual_steps,
          json_extract(p.state_json, '$.decomposition.total_steps') as planned_steps
        FROM pipeline_states p WHERE actual_steps > planned_steps * 1.5""",
    "stale docs": """SELECT library, version, fetched_at FROM docs_cache WHERE expires_at < unixepoch()
        ORDER BY fetched_at ASC""",
    "docs at hand": """SELECT * FROM docs_cache WHERE library = 'fastapi' AND version = '0.115.0'
        AND expires_at > unixepoch()""",
    "slow agents": """SELECT agent_name, AVG(duration_ms) as avg_time FROM agent_logs GROUP BY agent_name
        ORDER BY avg_time DESC""",
    "complexity": """SELECT * FROM complexity_snapshots WHERE file_path = 'src/calc/sums.py'
        ORDER BY snapshot_at DESC LIMIT 5""",
}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    """One GREEN attempt is wrong, so there is a failure to record."""
    world = World(tmp_path_factory.mktemp("learnt")).start().configure("refactoring: always\n")
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", "def add(a, b):\n    return a - b\n")
    world.answers["calc-1/green/builder/2/1"] = write("src/calc/sums.py", GREEN_ADD)
    world.answers["calc-1/design/architect/1/1"] = [
        submit(
            summary="A function that adds.",
            symbols=[{"name": "calc.sums.add", "signature": "(a, b)"}],
            source_paths=["src/calc/sums.py"],
            test_paths=[],
            decisions=["Sums are functions, not methods. A class would hold nothing."],
        )
    ]
    world.answers["calc-2/design/architect/1/1"] = designed("calc.sums.double")
    done = world.run()
    assert done.status == 0, done.out + done.err
    with Git.open(world.repo) as git:
        look_up(git, world.branch)
    return world


def look_up(git: Git, branch: str) -> None:
    """Notes about libraries, which only `full` requests: one expired, one still valid."""
    store, head = StateStore(git, "calc"), git.rev(branch)
    notes = [
        note("fastapi", "0.115.0", "2026-01-01T00:00:00Z", "2026-01-08T00:00:00Z"),
        note("pydantic", "2.10", now(), "2999-01-01T00:00:00Z"),
    ]
    change = add_memory(StateChange(), notes)
    git.update_branch(branch, store.commit_step(head, git.code_tree(head), change, "Remember"), head)


@pytest.fixture
def index(world: World) -> Iterator[MemoryIndex]:
    with Git.open(world.repo) as git, MemoryIndex.open(git, world.branch) as opened:
        opened.embedder = None
        yield opened


def test_the_queries_of_the_first_design_are_answered(index):
    answers = {name: index.select(sql, most=100, seconds=5) for name, sql in SEED_QUERIES.items()}
    rows = {name: [dict(zip(each.columns, row, strict=True)) for row in each.rows] for name, each in answers.items()}
    (tried,) = rows["similar"]
    assert tried["feature"] == "Add two numbers" and tried["codes"].startswith('["GRN')
    assert rows["correction factor"] == [{"correction_factor": 1.125}]
    assert rows["scope creep"] == []
    half = index.select(SEED_QUERIES["scope creep"].replace("* 1.5", "* 0.5"), most=100, seconds=5)
    assert [*half.rows] == [("calc", "A small calculator", 8, 10)], "what is counted is there"
    assert [row["library"] for row in rows["stale docs"]] == ["fastapi"]
    assert rows["docs at hand"] == []
    believed = SEED_QUERIES["docs at hand"].replace("fastapi", "pydantic").replace("0.115.0", "2.10")
    assert len(index.select(believed, most=100, seconds=5).rows) == 1
    assert {"planner", "architect", "tester", "builder", "refactorer"} <= {
        row["agent_name"] for row in rows["slow agents"]
    }
    assert {(row["story"], row["functions"]) for row in rows["complexity"]} == {("calc-1", 1), ("calc-2", 2)}


def test_the_pipeline_is_derived_from_backlog_and_cycles(index):
    ((state, done, planned, steps, created, updated),) = index.rows(
        "SELECT status, json_extract(state_json, '$.stories_done'), planned_steps, actual_steps, created_at, updated_at"
        " FROM pipeline_states"
    )
    assert (state, done, planned, steps) == ("SPRINT_REVIEW", 2, 10, 8)
    assert created <= updated


def test_functions_and_sql_agree(index):
    found = compute_correction_factor(index, now())
    assert (found.sessions, found.estimates) == (1.125, 2)
    (tried,) = find_similar_failures(index, "adding of numbers")
    assert tried.story == "calc-1"
    builder = next(each for each in rank_slow_agents(index, now()) if each.agent == "builder")
    assert (builder.calls, builder.failed) == (3, 0)


def test_the_code_of_the_branch_is_in_the_index(index):
    assert ("calc.sums.double",) in index.rows("SELECT name FROM symbols WHERE path = 'src/calc/sums.py'")
    covered = index.rows("SELECT test FROM test_index WHERE covers LIKE '%calc.sums.add%'")
    assert covered and all(test.startswith("tests/unit/calc-1/") for (test,) in covered)
    assert index.rows("SELECT DISTINCT depends_on FROM file_dependencies WHERE path LIKE 'tests/unit/calc-1/%'") == [
        ("src/calc/sums.py",)
    ]


def test_the_trace_leads_from_requirement_to_verdict(world):
    with Git.open(world.repo) as git:
        facts = load_prd_facts(git, "calc", git.rev(world.branch))
        assert facts is not None
        lines = tuple(find_trace_lines([facts]))
        integrated = world.git("log", "-1", "--format=%H", "--grep=^integrated(calc-1)", world.branch)
    first = lines[0]
    assert (first.requirements, first.story, first.criterion, first.verdict) == (
        ("FR-1",),
        "calc-1",
        "calc-1.c1",
        "proven",
    )
    assert first.commit == integrated
    assert first.tests and all("::test_" in test for test in first.tests)
    assert {line.story for line in find_trace_lines([facts], about="FR-2")} == {"calc-2"}
    assert not any(find_trace_lines([facts], about="nobody"))


def test_memory_is_read_completely_and_by_kind(world):
    with Git.open(world.repo) as git:
        found = read_memory(git, world.branch)
        assert not found.problems
        assert [each.story for each in found.of_kind(FailureRecord)] == ["calc-1"]
        assert len(found.of_kind(EstimateRecord)) == 2
        assert [each.title for each in found.of_kind(DecisionRecord)] == ["Sums are functions, not methods"]
        assert read_memory(git, "main").records == ()


def test_relevant_memory_respects_the_cap(world):
    with Git.open(world.repo) as git:
        told = find_relevant_memory(git, world.branch, "Add numbers by a function", 400)
        assert [each.story for each in told.failures] == ["calc-1"]
        assert told.tokens <= 400
        assert not find_relevant_memory(git, "main", "Add numbers by a function", 400)


def test_a_record_is_not_written_twice_in_one_step():
    change = add_memory(StateChange(), [failure("f-1")])
    assert list(change.updates) == [".orch-state/memory/failures/f-1.json"]
    with pytest.raises(InputInvalid, match="twice"):
        add_memory(change, [failure("f-1", lesson="another")])


# --- several branches -------------------------------------------------------------------------------------------------


def test_branches_with_new_memory_merge_without_conflict(library: Library, tmp_path: Path) -> None:
    start = library.head
    for prd, lesson in (("shop", "Use Redis"), ("bank", "Ask the auditor first")):
        library.head = start
        files = {PrdLayout(prd).progress: f"# {prd}\n".encode()}
        record = failure(f"{prd}-1-4", prd=prd, story=f"{prd}-1", lesson=lesson)
        change = add_memory(StateChange(), [record]).updates
        library.put({**files, **change, f"src/{prd}.py": b"x = 1\n"}, branch=f"prd2pr/{prd}")
    clone = tmp_path / "clone"
    library.shell("clone", "-q", str(library.place), str(clone))
    library.shell("merge", "-q", "--no-edit", "origin/prd2pr/shop", cwd=clone)
    library.shell("merge", "-q", "--no-edit", "origin/prd2pr/bank", cwd=clone)
    assert library.shell("status", "--porcelain", cwd=clone) == ""
    with Git.open(clone) as git:
        for commit in ("origin/prd2pr/shop", "HEAD"):
            with MemoryIndex.open(git, commit) as index:
                updated = index.dump()
        assert [row[0] for row in index_rows(git, "SELECT lesson FROM failures ORDER BY lesson")] == [
            "Ask the auditor first",
            "Use Redis",
        ]
        with MemoryIndex.open(git, "HEAD") as index:
            index.rebuild()
            assert index.dump() == updated


def index_rows(git: Git, sql: str) -> list[tuple]:
    with MemoryIndex.open(git, "HEAD") as index:
        return index.rows(sql)


def test_queries_read_all_branches_that_head_does_not_contain(library: Library) -> None:
    start = library.head
    for prd in ("shop", "bank"):
        library.head = start
        library.put(dict(add_memory(StateChange(), [failure(f"{prd}-1", prd=prd)]).updates), branch=f"prd2pr/{prd}")
    library.git.set_branch("other", library.head)
    where = find_query_scope(library.git, "prd2pr/")
    with MemoryIndex.open(library.git, where.tree) as index:
        assert index.rows("SELECT id FROM failures ORDER BY id") == [("bank-1",), ("shop-1",)]
        assert index.rows("SELECT path FROM files") == [("README.md",)]
    library.head = start
    library.put(dict(add_memory(StateChange(), [failure("own")]).updates))
    with MemoryIndex.open(library.git, find_query_scope(library.git, "prd2pr/").tree) as index:
        assert index.rows("SELECT id FROM failures ORDER BY id") == [("bank-1",), ("own",), ("shop-1",)]


def test_the_index_is_never_committed(world):
    assert (world.repo / ".git/prd2pr/index.db").is_file()
    assert "index.db" not in world.git("ls-tree", "-r", "--name-only", world.branch)
    with sqlite3.connect(world.repo / ".git/prd2pr/index.db") as known:
        assert known.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
