"""`prd2pr query`: query memory and history, by name or with SQL."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import Any

from prd2pr.cli.context import SystemClock, open_repository, read_config
from prd2pr.domain.wording import clean_line, clip, neutralize_log_commands
from prd2pr.errors import StateProblem, UsageProblem
from prd2pr.memory import queries
from prd2pr.memory.commit import make_retention_policy
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.retention import RetentionPolicy
from prd2pr.memory.similarity import DEFAULT_LIMIT
from prd2pr.prd.validation_messages import find_close_match
from prd2pr.reports.query_scope import QueryScope, find_query_scope, find_trace_lines, load_prd_facts
from prd2pr.state.git import Git
from prd2pr.views.stories.facts import PrdFacts

MAX_ROWS = 1000
DEFAULT_ROWS = 100
SQL_SECONDS = 5.0
MAX_CELL = 60  # characters per cell


@dataclass(frozen=True)
class QueryInput:
    git: Git
    where: QueryScope
    text: str
    limit: int
    now: str
    keeping: RetentionPolicy
    open_index: Callable[[], MemoryIndex]

    @cached_property
    def index(self) -> MemoryIndex:
        """The memory index, opened by the first query that uses it."""
        return self.open_index()


@dataclass(frozen=True)
class NamedQuery:
    help: str
    rows: Callable[[QueryInput], Iterable[Any]]  # returns frozen dataclasses
    columns: tuple[str, ...]  # heading shown to people
    text_kind: str = ""  # a description of TEXT, if the query takes one
    needs_text: bool = False
    empty_text: str = "No records yet."
    unknown_text: str = ""  # shown if TEXT matches nothing
    code: bool = False  # whether the query needs the code index


QUERIES: dict[str, NamedQuery] = {
    "similar-failures": NamedQuery(
        "Earlier failures similar to a description, the most similar first",
        lambda query_input: queries.find_similar_failures(query_input.index, query_input.text, query_input.limit),
        ("feature", "why_failed", "lesson", "story"),
        text_kind="a description of the task",
        needs_text=True,
        empty_text="No similar failure is recorded.",
    ),
    "similar": NamedQuery(
        "Decisions and files with a similar meaning, the most similar first; files need semantic search",
        lambda query_input: queries.find_similar_texts(query_input.index, query_input.text, query_input.limit),
        ("kind", "id", "text", "score", "by"),
        text_kind="a word or description",
        needs_text=True,
        empty_text="No similar decision or file is recorded.",
        code=True,
    ),
    "correction-factor": NamedQuery(
        "Correction factor for estimates, measured over the last 90 days",
        lambda query_input: [queries.compute_correction_factor(query_input.index, query_input.now)],
        ("sessions", "minutes", "estimates", "days"),
    ),
    "scope-creep": NamedQuery(
        "PRDs that took more than 1.5 times the planned steps",
        lambda query_input: queries.find_scope_creep(query_input.index, query_input.now, query_input.keeping),
        ("id", "feature_request", "planned_steps", "actual_steps", "ratio", "added_stories"),
        empty_text="No PRD exceeds its plan.",
    ),
    "stale-docs": NamedQuery(
        "Expired library notes, the oldest first",
        lambda query_input: queries.find_stale_docs(query_input.index, query_input.now),
        ("library", "version", "fetched_at", "expires_at"),
        empty_text="No library note is stale.",
    ),
    "slow-agents": NamedQuery(
        "Duration of the calls of each role, the slowest first",
        lambda query_input: queries.rank_slow_agents(query_input.index, query_input.now, query_input.keeping),
        ("agent", "calls", "average_ms", "slowest_ms", "failed"),
    ),
    "complexity-trend": NamedQuery(
        "Growth of the complexity of files over the last stories; more than 1.5 times is flagged",
        lambda query_input: queries.compute_complexity_trends(query_input.index, query_input.text),
        ("path", "snapshots", "before", "now", "growth", "flagged"),
        text_kind="a file",
        empty_text="No file has two measurements yet.",
        unknown_text="{text} has fewer than two measurements: it is not a file that two stories changed.",
    ),
    "trace": NamedQuery(
        "Requirement → story → criterion → test → commit → verdict",
        lambda query_input: find_trace_lines(load_facts(query_input), query_input.text),
        ("requirements", "story", "criterion", "tests", "commit", "verdict"),
        text_kind="a PRD, requirement, story, criterion, test or commit",
        unknown_text="{text} is not a recorded PRD, requirement, story, criterion, test or commit.",
    ),
}


def main(options: argparse.Namespace) -> int:
    limit = check_limit(options.limit)
    query = None if options.sql is not None else select_query(options)
    with open_repository(options.repo) as git:
        config = read_config(git, git.rev("HEAD"))
        where = find_query_scope(git, config.branch_prefix)
        with ExitStack() as opened:
            used: list[MemoryIndex] = []

            def open_index() -> MemoryIndex:
                used.append(opened.enter_context(MemoryIndex.open(git, where.tree, code=query is None or query.code)))
                return used[0]

            if query is None:
                output = run_sql(open_index(), options, limit or DEFAULT_ROWS)
            else:
                query_input = QueryInput(
                    git,
                    where,
                    text=(options.text or "").strip(),
                    limit=limit or DEFAULT_LIMIT,
                    now=SystemClock().now(),
                    keeping=make_retention_policy(config.retention),
                    open_index=open_index,
                )
                output = run_named_query(query, query_input, options, limit or MAX_ROWS)
            for index in used:
                print_problems(index)
    sys.stdout.write(output)
    return 0


def check_limit(limit: int | None) -> int | None:
    if limit is not None and not 1 <= limit <= MAX_ROWS:
        raise UsageProblem(f"--limit must be between 1 and {MAX_ROWS}", where=f"--limit {limit}")
    return limit


def select_query(options: argparse.Namespace) -> NamedQuery:
    names = ", ".join(QUERIES)
    if options.name is None:
        raise UsageProblem("no query was given", remedy=f"name a query ({names}) or use --sql")
    query = QUERIES.get(options.name)
    if query is None:
        suggestion = find_close_match(options.name, QUERIES)
        suggested = f"did you mean `prd2pr query {suggestion}`? " if suggestion else ""
        raise UsageProblem(f"unknown query {options.name!r}", remedy=f"{suggested}known queries: {names}")
    if query.needs_text and not (options.text or "").strip():
        remedy = f'add {query.text_kind}: prd2pr query {options.name} "send a message when points expire"'
        raise UsageProblem(f"{options.name} requires an argument", remedy=remedy)
    if options.text and not query.text_kind:
        raise UsageProblem(
            f"{options.name} takes no argument", where=options.text, remedy=f"prd2pr query {options.name}"
        )
    return query


def load_facts(query_input: QueryInput) -> Iterator[PrdFacts]:
    for prd, head in sorted(query_input.where.heads.items()):
        try:
            facts = load_prd_facts(query_input.git, prd, head)
        except StateProblem as problem:
            print_note(f"{problem.what}; {problem.remedy}")
        else:
            yield from () if facts is None else (facts,)


def run_named_query(query: NamedQuery, query_input: QueryInput, options: argparse.Namespace, limit: int) -> str:
    rows = [asdict(row) for row in islice(query.rows(query_input), limit)]
    if options.json:
        return json.dumps({"query": options.name, "refs": query_input.where.refs, "rows": rows}, indent=2) + "\n"
    if not rows:
        text = clip(neutralize_log_commands(clean_line(query_input.text)), MAX_CELL)
        empty = query.unknown_text.replace("{text}", text) if text and query.unknown_text else query.empty_text
        return f"{empty} Read: {clean_line(', '.join(query_input.where.refs))}.\n"
    return format_table(query.columns, [[format_cell_text(name, row[name]) for name in query.columns] for row in rows])


def run_sql(index: MemoryIndex, options: argparse.Namespace, limit: int) -> str:
    if options.name is not None:
        raise UsageProblem("use a named query or --sql, not both", where=options.name)
    result = index.select(options.sql, most=limit, seconds=SQL_SECONDS)
    if options.json:
        rows = [[to_json_value(value) for value in row] for row in result.rows]
        facts = {"query": "sql", "columns": result.columns, "rows": rows, "cut": result.cut}
        return json.dumps(facts, indent=2) + "\n"
    more = f"More rows exist; use --limit to show up to {MAX_ROWS}.\n" if result.cut else ""
    return format_table(result.columns, [[format_cell_text("", value) for value in row] for row in result.rows]) + more


def to_json_value(value: Any) -> Any:
    """Convert bytes and non-finite numbers, which JSON does not support."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def print_note(what: str) -> None:
    sys.stderr.write(f"note: skipped: {neutralize_log_commands(clean_line(what))}\n")


def print_problems(index: MemoryIndex) -> None:
    problems = index.rows("SELECT what FROM problems ORDER BY path, what")
    for (what,) in problems[:3]:
        print_note(what)
    if len(problems) > 3:
        rest = 'prd2pr query --sql "SELECT path, what FROM problems"'
        sys.stderr.write(f"note: and {len(problems) - 3} more: {rest}\n")


def format_cell_text(name: str, value: Any) -> str:
    if name.endswith("_at") and isinstance(value, int):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M")
    if name == "commit":
        return str(value)[:10]
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    words = {None: "–", True: "yes", False: ""}
    text = words[value] if value is None or isinstance(value, bool) else str(value)
    return clip(
        neutralize_log_commands(clean_line(f"{len(value)} bytes" if isinstance(value, bytes) else text)), MAX_CELL
    )


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table. The last column is not padded, so that no line ends in spaces."""
    header = [name.replace("_", " ") for name in columns]
    widths = [max(len(row[index]) for row in [header, *rows]) for index in range(len(header))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [header, *rows])
    return "".join(f"{line.rstrip()}\n" for line in lines)
