"""`prd2pr query`: what was learnt and done, asked by name or by SQL."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from prd2pr.core.memory import queries
from prd2pr.core.memory.retention import Keeping
from prd2pr.core.memory.similar import LIMIT
from prd2pr.core.plain_errors import close_match
from prd2pr.core.wording import clip, plain, quiet_commands
from prd2pr.entry.ground import SystemClock, open_repository, read_config
from prd2pr.errors import UsageProblem
from prd2pr.flows.memory import keeping
from prd2pr.flows.remembered import Remembered, branch_facts, remembered
from prd2pr.repo.git import Git
from prd2pr.repo.memory_index import MemoryIndex

MOST_ROWS = 1000
USUAL_ROWS = 100
SQL_SECONDS = 5.0
WIDEST = 60  # characters of a cell


@dataclass(frozen=True)
class Asked:
    git: Git
    index: MemoryIndex
    where: Remembered
    text: str
    limit: int
    now: str
    keeping: Keeping


@dataclass(frozen=True)
class Query:
    help: str
    rows: Callable[[Asked], Sequence[Any]]  # frozen dataclasses
    columns: tuple[str, ...]  # that are shown to people
    takes: str = ""  # what TEXT is, for those that take one
    needs: bool = False
    nothing: str = "Nothing is recorded yet."
    unknown: str = ""  # where a text was given, and nothing is about it
    code: bool = False  # it asks about the code itself


QUERIES: dict[str, Query] = {
    "similar-failures": Query(
        "earlier failures that are like a text, the nearest first",
        lambda asked: queries.similar_failures(asked.index, asked.text, asked.limit),
        ("feature", "why_failed", "lesson", "story"),
        takes="what is to be done",
        needs=True,
        nothing="Nothing like this has failed before.",
    ),
    "correction-factor": Query(
        "what estimates are to be multiplied by, learnt from the last 90 days",
        lambda asked: [queries.correction_factor(asked.index, asked.now)],
        ("sessions", "minutes", "estimates", "days"),
    ),
    "scope-creep": Query(
        "PRDs that took more than one and a half times the steps of their plan",
        lambda asked: queries.scope_creep(asked.index, asked.now, asked.keeping),
        ("id", "feature_request", "planned_steps", "actual_steps", "ratio", "added_stories"),
        nothing="No PRD goes beyond its plan.",
    ),
    "stale-docs": Query(
        "library notes that are no longer believed, the oldest first",
        lambda asked: queries.stale_docs(asked.index, asked.now),
        ("library", "version", "fetched_at", "expires_at"),
        nothing="No library note is stale.",
    ),
    "slow-agents": Query(
        "how long the calls of each role take, the slowest first",
        lambda asked: queries.slow_agents(asked.index, asked.now, asked.keeping),
        ("agent", "calls", "average_ms", "slowest_ms", "failed"),
    ),
    "complexity-trend": Query(
        "how the complexity of files grew over the last stories; more than 1.5 times is flagged",
        lambda asked: queries.complexity_trend(asked.index, asked.text),
        ("path", "snapshots", "before", "now", "growth", "flagged"),
        takes="a file",
        nothing="No file was measured twice yet.",
        unknown="{text} was not measured twice: it is no file that two stories have changed.",
    ),
    "trace": Query(
        "requirement → story → criterion → test → commit → verdict",
        lambda asked: queries.trace(facts_of(asked), asked.text),
        ("requirements", "story", "criterion", "tests", "commit", "verdict"),
        takes="a PRD, requirement, story, criterion, test or commit",
        unknown="{text} is no PRD, requirement, story, criterion, test or commit that is recorded.",
    ),
}


def main(options: argparse.Namespace) -> int:
    limit = checked_limit(options.limit)
    query = None if options.sql is not None else chosen(options)
    with open_repository(options.repo) as git:
        config = read_config(git, git.rev("HEAD"))
        where = remembered(git, config.branch_prefix)
        with MemoryIndex.open(git, where.tree, code=query is None or query.code) as index:
            if query is None:
                told = by_sql(index, options, limit or USUAL_ROWS)
            else:
                asked = Asked(
                    git,
                    index,
                    where,
                    text=(options.text or "").strip(),
                    limit=limit or LIMIT,
                    now=SystemClock().now(),
                    keeping=keeping(config.retention),
                )
                told = by_name(query, asked, options, limit or MOST_ROWS)
            tell_problems(index)
    sys.stdout.write(told)
    return 0


def checked_limit(limit: int | None) -> int | None:
    if limit is not None and not 1 <= limit <= MOST_ROWS:
        raise UsageProblem(f"--limit is a number from 1 to {MOST_ROWS}", where=f"--limit {limit}")
    return limit


def chosen(options: argparse.Namespace) -> Query:
    names = ", ".join(QUERIES)
    if options.name is None:
        raise UsageProblem("name a query, or ask by --sql", remedy=f"the queries are {names}")
    query = QUERIES.get(options.name)
    if query is None:
        meant = close_match(options.name, QUERIES)
        hint = f"did you mean `prd2pr query {meant}`? " if meant else ""
        raise UsageProblem(f"there is no query {options.name!r}", remedy=f"{hint}the queries are {names}")
    if query.needs and not (options.text or "").strip():
        remedy = f'say {query.takes}: prd2pr query {options.name} "send a message when points expire"'
        raise UsageProblem(f"{options.name} needs a text", remedy=remedy)
    if options.text and not query.takes:
        raise UsageProblem(f"{options.name} takes no text", where=options.text, remedy=f"prd2pr query {options.name}")
    return query


def facts_of(asked: Asked) -> list[Any]:
    found = (branch_facts(asked.git, prd, head) for prd, head in sorted(asked.where.heads.items()))
    return [facts for facts in found if facts is not None]


def by_name(query: Query, asked: Asked, options: argparse.Namespace, limit: int) -> str:
    rows = [asdict(row) for row in query.rows(asked)][:limit]
    if options.json:
        return json.dumps({"query": options.name, "rows": rows}, indent=2) + "\n"
    if not rows:
        given = clip(quiet_commands(plain(asked.text)), WIDEST)
        return (query.unknown.replace("{text}", given) if given and query.unknown else query.nothing) + "\n"
    return table(query.columns, [[shown(name, row[name]) for name in query.columns] for row in rows])


def by_sql(index: MemoryIndex, options: argparse.Namespace, limit: int) -> str:
    if options.name is not None:
        raise UsageProblem("a query by name, or one by --sql: not both", where=options.name)
    answer = index.select(options.sql, most=limit, seconds=SQL_SECONDS)
    if options.json:
        rows = [[as_json(value) for value in row] for row in answer.rows]
        facts = {"query": "sql", "columns": answer.columns, "rows": rows, "cut": answer.cut}
        return json.dumps(facts, indent=2) + "\n"
    more = f"There is more; --limit shows up to {MOST_ROWS} rows.\n" if answer.cut else ""
    return table(answer.columns, [[shown("", value) for value in row] for row in answer.rows]) + more


def as_json(value: Any) -> Any:
    """JSON has neither bytes nor numbers without end."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def tell_problems(index: MemoryIndex) -> None:
    problems = index.rows("SELECT what FROM problems ORDER BY path, what")
    for (what,) in problems[:3]:
        sys.stderr.write(f"note: passed over: {quiet_commands(plain(what))}\n")
    if len(problems) > 3:
        rest = 'prd2pr query --sql "SELECT path, what FROM problems"'
        sys.stderr.write(f"note: and {len(problems) - 3} more: {rest}\n")


def shown(name: str, value: Any) -> str:
    if name.endswith("_at") and isinstance(value, int):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M")
    if name == "commit":
        return str(value)[:10]
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    words = {None: "–", True: "yes", False: ""}
    told = words[value] if value is None or isinstance(value, bool) else str(value)
    return clip(quiet_commands(plain(f"{len(value)} bytes" if isinstance(value, bytes) else told)), WIDEST)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The last column is not filled up, so that no line ends in spaces."""
    heads = [name.replace("_", " ") for name in columns]
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [heads, *rows])
    return "".join(f"{line.rstrip()}\n" for line in lines)
