"""What a file of the repository becomes in the index: table and row. Pure, one file at a time, so that an update that
looks at changed files alone leaves what a rebuild would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from prd2pr.core.codec import decode
from prd2pr.core.evidence import Proof
from prd2pr.core.layout import LOGS, MEMORY, PLAN_STORY, PRDS, STATE
from prd2pr.core.log_lines import LogEntry, readable, subject_of
from prd2pr.core.memory.makers import planned_steps
from prd2pr.core.memory.records import KINDS
from prd2pr.core.memory.retention import last_moment, moment_or_none
from prd2pr.core.records import Backlog, Cycle, Phase, Prd, RunRecord, Status
from prd2pr.errors import StateProblem
from prd2pr.repo.memory_index.memory_rows import memory_rows

Row = tuple[str, dict[str, Any]]
Reader = Callable[[str, bytes, "re.Match[str]"], Iterator[Row]]

GATE, PROGRAM = "gate", "prd2pr"  # who does what no role does
NAME = r"([^/]+)"


def prd_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    prd = decode(Prd, data, path)
    yield "prds", {"prd": place[1], "title": prd.title, "file": prd.path, "requirements": len(prd.requirements)}


def status_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    status = decode(Status, data, path)
    moved = last_moment(each.at for each in status.transitions)
    yield (
        "statuses",
        {
            "prd": place[1],
            "state": status.state.value,
            "blocked_reason": status.blocked_reason,
            "moved_at": moment_or_none(moved),
        },
    )


def backlog_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    for position, story in enumerate(decode(Backlog, data, path).stories, 1):
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
                "requirements": listed(story.requirements),
                "planned_steps": planned_steps(story),
            },
        )


def addition_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    """Stories that a person had added after the plan: the evidence of such a decision names them."""
    decision = decode(Proof, data, path).evidence.decision
    for story in decision.added if decision else ():
        assert decision is not None, "it has just added a story"
        yield (
            "additions",
            {
                "prd": place[1],
                "story": story.id,
                "command": decision.command,
                "added_by": decision.by,
                "added_at": moment_or_none(decision.at),
            },
        )


def cycle_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    cycle = decode(Cycle, data, path)
    of = {"prd": place[1], "story": place[2]}
    yield (
        "cycles",
        {
            **of,
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
                **of,
                "n": step.n,
                "phase": step.phase.value,
                "attempts": step.attempts,
                "seconds": step.seconds,
                "tokens": step.spend.tokens,
                "usd": step.spend.usd,
                "note": step.note,
                "works": int(step.draft or step.phase is not Phase.NOTE),
                "done_at": moment_or_none(step.at),
            },
        )


def session_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    run = decode(RunRecord, data, path)
    yield (
        "sessions",
        {
            "id": place[2],
            "prd": place[1],
            "model": run.model,
            "steps": listed(run.steps),
            "outcome": run.outcome,
            "calls": run.spend.calls,
            "tokens": run.spend.tokens,
            "usd": run.spend.usd,
            "started_at": moment_or_none(run.started_at),
            "ended_at": moment_or_none(run.ended_at),
        },
    )


def log_rows(path: str, data: bytes, place: re.Match[str]) -> Iterator[Row]:
    for number, line in enumerate(readable(data, path), 1):
        if line["kind"] == "damaged":
            yield "problems", {"code": "ERR401", "what": str(line["text"])}
        else:
            yield "log_lines", {"run": place[1], "line": number, **told(line)}


def told(line: LogEntry) -> dict[str, Any]:
    """Who did what, and how it went. Anybody's hand may have been in the file, so nothing is taken for granted."""
    _, phase, role, *_ = (*str(line.get("purpose", "")).split("/"), "", "", "")
    kind, codes = str(line["kind"]), line.get("codes")
    is_call = kind == "call"
    refused = kind == "refused"
    success = line.get("success", not refused) if is_call else not refused
    milliseconds = line.get("duration_ms")
    return {
        "subject": subject_of(line),
        "agent_name": role if is_call else GATE if kind in ("refused", "crossed") else PROGRAM,
        "phase": phase if is_call else str(line.get("phase", "")),
        "action": kind,
        "input_summary": str(line.get("purpose", "")) if is_call else str(line.get("text", "")),
        "output_summary": answered(line) if is_call else "",
        "duration_ms": milliseconds if isinstance(milliseconds, int) else None,
        "success": int(bool(success)),
        "error_message": " ".join(map(str, codes)) if isinstance(codes, list) else str(line.get("error", "")),
        "timestamp": moment_or_none(str(line["at"])),
    }


def answered(line: LogEntry) -> str:
    counts = (line.get(name) for name in ("input_tokens", "cached_tokens", "output_tokens"))
    tokens = sum(count for count in counts if isinstance(count, int))
    return f"{line.get('stop', '')}, {tokens} tokens, {line.get('model', '')}"


def remembered_rows(path: str, data: bytes, _: re.Match[str]) -> Iterator[Row]:
    yield from memory_rows(path, data)


def listed(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


@dataclass(frozen=True)
class Source:
    """Files of one kind, the tables that they fill, and how they are read."""

    place: re.Pattern[str]
    tables: tuple[str, ...]
    read: Reader


def source(pattern: str, tables: str, read: Reader) -> Source:
    return Source(re.compile(pattern), tuple(tables.split()), read)


MEMORY_TABLES = " ".join((*KINDS, "embeddings"))  # a kind is called like its table
PLAN_EVIDENCE = f"{PRDS}/{NAME}/tdd/evidence/{PLAN_STORY}/[^/]+[.]json"

SOURCES: tuple[Source, ...] = (
    source(f"{MEMORY}/.+", MEMORY_TABLES, remembered_rows),
    source(f"{PRDS}/{NAME}/prd[.]json", "prds", prd_rows),
    source(f"{PRDS}/{NAME}/status[.]json", "statuses", status_rows),
    source(f"{PRDS}/{NAME}/backlog[.]json", "stories", backlog_rows),
    source(PLAN_EVIDENCE, "additions", addition_rows),
    source(f"{PRDS}/{NAME}/tdd/cycles/{NAME}[.]json", "cycles steps", cycle_rows),
    source(f"{PRDS}/{NAME}/runs/{NAME}[.]json", "sessions", session_rows),
    source(f"{LOGS}/{NAME}[.]jsonl", "log_lines", log_rows),
)


def is_state(path: str) -> bool:
    return path.startswith(f"{STATE}/")


def source_of(path: str) -> tuple[Source, re.Match[str]] | None:
    """None: nothing is read from this file."""
    found = ((each, each.place.fullmatch(path)) for each in SOURCES)
    return next(((each, place) for each, place in found if place), None)


def state_rows(path: str, data: bytes) -> Iterator[Row]:
    """All of the file, or a line that says why it cannot be read."""
    found = source_of(path)
    if found is None:
        return
    each, place = found
    try:
        rows = list(each.read(path, data, place))
    except StateProblem as problem:
        rows = [("problems", {"code": problem.code, "what": problem.what})]
    yield from rows
