"""Rows of the index for files of the repository.

Each file is read independently, so that an update of changed files gives the same rows as a rebuild.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from prd2pr.domain.evidence import Proof
from prd2pr.domain.memory_records import MEMORY_KINDS
from prd2pr.domain.records import Backlog, Cycle, Phase, Prd, RunRecord, Status
from prd2pr.errors import StateProblem
from prd2pr.memory.index.memory_rows import make_memory_rows, to_json_list
from prd2pr.memory.lessons import count_story_steps
from prd2pr.memory.retention import find_latest_timestamp, parse_timestamp
from prd2pr.state.codec import decode_document, decompress
from prd2pr.state.finished_records import build_missing_error
from prd2pr.state.layout import LOGS, MEMORY, PLAN_STORY, PRDS, STATE, PrdLayout
from prd2pr.state.log_lines import LogEntry, get_log_subject, parse_log

Row = tuple[str, dict[str, Any]]
RecordReader = Callable[[str, bytes, "re.Match[str]"], Iterator[Row]]

GATE_AGENT, PROGRAM_AGENT = "gate", "prd2pr"  # agent names for actions that no role takes
PATH_PART = r"([^/]+)"


def read_prd_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    prd = decode_document(Prd, data, path)
    yield "prds", {"prd": place[1], "title": prd.title, "file": prd.path, "requirements": len(prd.requirements)}


def read_summary_rows(_path: str, _data: bytes, place: re.Match[str]) -> Iterator[Row]:
    """Report that the records of a complete PRD are missing; otherwise they are in the place of the summary."""
    missing = build_missing_error(PrdLayout(place[1]))
    yield "problems", {"code": missing.code, "what": f"{missing.what}; {missing.remedy}"}


def read_status_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    status = decode_document(Status, data, path)
    moved = find_latest_timestamp(each.at for each in status.transitions)
    yield (
        "statuses",
        {
            "prd": place[1],
            "state": status.state.value,
            "blocked_reason": status.blocked_reason,
            "moved_at": parse_timestamp(moved),
        },
    )


def read_backlog_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    for position, story in enumerate(decode_document(Backlog, data, path).stories, 1):
        yield (
            "stories",
            {
                "prd": place[1],
                "story": story.id,
                "position": position,
                "title": story.title,
                "kind": story.kind,
                "status": story.status,
                "complexity": story.complexity,
                "estimate_minutes": story.estimate_minutes,
                "requirements": to_json_list(story.requirements),
                "planned_steps": count_story_steps(story),
            },
        )


def read_addition_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    """Yield a row for each story that was added after planning, as stored in the decision's evidence."""
    data = decompress(data, path)
    if b'"evidence"' not in data[:20]:
        return  # a summary; the data is next to it
    decision = decode_document(Proof, data, path).evidence.decision
    for story in decision.added if decision else ():
        assert decision is not None, "it has just added a story"
        yield (
            "additions",
            {
                "prd": place[1],
                "story": story.id,
                "command": decision.command,
                "added_by": decision.by,
                "added_at": parse_timestamp(decision.at),
            },
        )


def read_cycle_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    cycle = decode_document(Cycle, data, path)
    common = {"prd": place[1], "story": place[2]}
    yield (
        "cycles",
        {
            **common,
            "state": cycle.state.value,
            "refused": len(cycle.refused),
            "blocked": cycle.blocked,
            "tests": len(cycle.tests),
        },
    )
    for step in cycle.steps:
        yield (
            "steps",
            {
                **common,
                "n": step.n,
                "phase": step.phase.value,
                "attempts": step.attempts,
                "seconds": step.seconds,
                "tokens": step.spend.tokens,
                "usd": step.spend.usd,
                "note": step.note,
                "works": int(step.draft or step.phase is not Phase.NOTE),
                "done_at": parse_timestamp(step.at),
            },
        )


def read_session_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    run = decode_document(RunRecord, data, path)
    yield (
        "sessions",
        {
            "id": place[2],
            "prd": place[1],
            "model": run.model,
            "steps": to_json_list(run.steps),
            "outcome": run.outcome,
            "calls": run.spend.calls,
            "tokens": run.spend.tokens,
            "usd": run.spend.usd,
            "started_at": parse_timestamp(run.started_at),
            "ended_at": parse_timestamp(run.ended_at),
        },
    )


def read_log_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    for number, line in enumerate(parse_log(data, path), 1):
        if line["kind"] == "damaged":
            yield "problems", {"code": "ERR401", "what": str(line["text"])}
        else:
            yield "log_lines", {"run": place[1], "line": number, **make_log_columns(line)}


def make_log_columns(line: LogEntry) -> dict[str, Any]:
    """Return the columns of a log entry.

    Every value is checked, since people may have edited the log.
    """
    _, phase, role, *_ = (*str(line.get("purpose", "")).split("/"), "", "", "")
    kind, codes = str(line["kind"]), line.get("codes")
    is_call = kind == "call"
    refused = kind == "refused"
    success = line.get("success", not refused) if is_call else not refused
    milliseconds = line.get("duration_ms")
    return {
        "subject": get_log_subject(line),
        "agent_name": role if is_call else GATE_AGENT if kind in ("refused", "crossed") else PROGRAM_AGENT,
        "phase": phase if is_call else str(line.get("phase", "")),
        "action": kind,
        "input_summary": str(line.get("purpose", "")) if is_call else str(line.get("text", "")),
        "output_summary": summarize_answer(line) if is_call else "",
        "duration_ms": milliseconds if isinstance(milliseconds, int) else None,
        "success": int(bool(success)),
        "error_message": " ".join(map(str, codes)) if isinstance(codes, list) else str(line.get("error", "")),
        "timestamp": parse_timestamp(str(line["at"])),
    }


def summarize_answer(line: LogEntry) -> str:
    counts = (line.get(name) for name in ("input_tokens", "cached_tokens", "output_tokens"))
    tokens = sum(count for count in counts if isinstance(count, int))
    return f"{line.get('stop', '')}, {tokens} tokens, {line.get('model', '')}"


def read_memory_rows(path: str, data: bytes, _: re.Match[str]) -> Iterator[Row]:
    yield from make_memory_rows(path, data)


@dataclass(frozen=True)
class RowSource:
    """A kind of file, the tables that it fills, and its reader."""

    place: re.Pattern[str]
    tables: tuple[str, ...]
    read: RecordReader


def make_row_source(pattern: str, tables: str, read: RecordReader) -> RowSource:
    return RowSource(re.compile(pattern), tuple(tables.split()), read)


MEMORY_TABLES = " ".join((*MEMORY_KINDS, "embeddings"))  # a kind has the name of its table
PLAN_EVIDENCE = f"{PRDS}/{PATH_PART}/tdd/evidence/{PLAN_STORY}/[^/]+[.]json(?:[.]gz)?"

ROW_SOURCES: tuple[RowSource, ...] = (
    make_row_source(f"{MEMORY}/.+", MEMORY_TABLES, read_memory_rows),
    make_row_source(f"{PRDS}/{PATH_PART}/prd[.]json", "prds", read_prd_rows),
    make_row_source(f"{PRDS}/{PATH_PART}/summary[.]json", "prds", read_summary_rows),
    make_row_source(f"{PRDS}/{PATH_PART}/status[.]json", "statuses", read_status_rows),
    make_row_source(f"{PRDS}/{PATH_PART}/backlog[.]json", "stories", read_backlog_rows),
    make_row_source(PLAN_EVIDENCE, "additions", read_addition_rows),
    make_row_source(f"{PRDS}/{PATH_PART}/tdd/cycles/{PATH_PART}[.]json", "cycles steps", read_cycle_rows),
    make_row_source(f"{PRDS}/{PATH_PART}/runs/{PATH_PART}[.]json", "sessions", read_session_rows),
    make_row_source(f"{LOGS}/{PATH_PART}[.]jsonl(?:[.]gz)?", "log_lines", read_log_rows),
)


def is_state_path(path: str) -> bool:
    return path.startswith(f"{STATE}/")


def find_row_source(path: str) -> tuple[RowSource, re.Match[str]] | None:
    """Return the row source and match for a path, or None if the file has no rows."""
    found = ((each, each.place.fullmatch(path)) for each in ROW_SOURCES)
    return next(((each, place) for each, place in found if place), None)


def make_state_rows(path: str, data: bytes) -> Iterator[Row]:
    """Yield the rows of a file, or one row with the reason why it cannot be read."""
    found = find_row_source(path)
    if found is None:
        return
    each, place = found
    try:
        rows = list(each.read(path, data, place))
    except StateProblem as problem:
        rows = [("problems", {"code": problem.code, "what": problem.what})]
    yield from rows
