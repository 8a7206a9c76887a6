"""Records of memory as rows of the index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from prd2pr.core.memory.files import read_record
from prd2pr.core.memory.records import (
    ComplexitySnapshot,
    Decision,
    EstimateRecord,
    Failure,
    Lesson,
    LibraryNote,
    Memory,
    Pattern,
    PatternUsage,
    SpikeRecord,
)
from prd2pr.core.memory.times import epoch

Columns = dict[str, Any]


def memory_rows(path: str, data: bytes) -> Iterator[tuple[str, Columns]]:
    """Raises StateProblem for a file that holds no record."""
    record = read_record(path, data)
    of = {"id": record.id, "prd": record.prd, "story": record.story}
    for columns in columns_of(record, epoch(record.at)):
        yield record.kind, {**of, **columns}


def columns_of(record: Memory, at: int) -> Iterable[Columns]:  # noqa: PLR0911 - one line for each kind
    match record:
        case Failure():
            return [
                {
                    **some(record, "feature approach why_failed lesson phase"),
                    "codes": listed(record.codes),
                    "logged_at": at,
                }
            ]
        case EstimateRecord():
            effort = "estimated_sessions actual_sessions estimated_minutes actual_minutes"
            return [
                {
                    **some(record, f"feature {effort} files_created files_modified tokens usd notes"),
                    "complexity_score": record.complexity,
                    "completed_at": at,
                }
            ]
        case Lesson():
            lists = {name: listed(getattr(record, name)) for name in ("surprises", "would_change", "new_patterns")}
            return [{**some(record, "feature variance spike_accuracy"), **lists, "logged_at": at}]
        case SpikeRecord():
            told = some(record, "feature question approach result lessons branch")
            return [{**told, "viable": int(record.viable), "time_spent": record.minutes, "logged_at": at}]
        case LibraryNote():
            times = {"fetched_at": at, "expires_at": epoch(record.expires_at)}
            return [{**some(record, "library version content"), "source_url": record.source, **times}]
        case ComplexitySnapshot():
            return [
                {
                    **some(file, "lines functions dependencies"),
                    "file_path": file.path,
                    "complexity_score": file.complexity,
                    "snapshot_at": at,
                }
                for file in record.files
            ]
        case Decision():
            return [{**some(record, "title text why"), "decided_at": at}]
        case Pattern():
            return [{**some(record, "name description example"), "found_at": at}]
        case PatternUsage():
            return [
                {
                    "pattern_id": record.pattern,
                    "pipeline_id": record.prd,
                    "file_path": record.path,
                    "compliance_score": record.compliance,
                    "used_at": at,
                }
            ]
        case _:
            raise TypeError(f"{type(record).__name__} has no table")


def some(record: object, names: str) -> Columns:
    return {name: getattr(record, name) for name in names.split()}


def listed(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
