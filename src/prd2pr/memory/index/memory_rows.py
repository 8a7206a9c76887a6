"""Rows of the index for memory records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from prd2pr.domain.memory_records import (
    ComplexitySnapshot,
    DecisionRecord,
    EstimateRecord,
    FailureRecord,
    Lesson,
    LibraryNote,
    Memory,
    Pattern,
    PatternUsage,
    SpikeRecord,
)
from prd2pr.memory.files import read_memory_record
from prd2pr.memory.timestamps import parse_epoch

Columns = dict[str, Any]


def make_memory_rows(path: str, data: bytes) -> Iterator[tuple[str, Columns]]:
    """Yield the table and columns of each row; raise StateProblem if the file contains no record."""
    record = read_memory_record(path, data)
    common = {"id": record.id, "prd": record.prd, "story": record.story}
    for columns in make_record_columns(record, parse_epoch(record.at)):
        yield record.kind, {**common, **columns}


def make_record_columns(record: Memory, at: int) -> Iterable[Columns]:  # noqa: PLR0911 - one line per kind
    match record:
        case FailureRecord():
            return [
                {
                    **pick_fields(record, "feature approach why_failed lesson phase"),
                    "codes": to_json_list(record.codes),
                    "logged_at": at,
                }
            ]
        case EstimateRecord():
            effort = "estimated_sessions actual_sessions estimated_minutes actual_minutes"
            return [
                {
                    **pick_fields(record, f"feature {effort} files_created files_modified tokens usd notes"),
                    "complexity_score": record.complexity,
                    "completed_at": at,
                }
            ]
        case Lesson():
            lists = {
                name: to_json_list(getattr(record, name)) for name in ("surprises", "would_change", "new_patterns")
            }
            return [{**pick_fields(record, "feature variance spike_accuracy"), **lists, "logged_at": at}]
        case SpikeRecord():
            columns = pick_fields(record, "feature question approach result lessons branch")
            return [{**columns, "viable": int(record.viable), "time_spent": record.minutes, "logged_at": at}]
        case LibraryNote():
            times = {"fetched_at": at, "expires_at": parse_epoch(record.expires_at)}
            return [{**pick_fields(record, "library version content"), "source_url": record.source, **times}]
        case ComplexitySnapshot():
            return [
                {
                    **pick_fields(file, "lines functions dependencies"),
                    "file_path": file.path,
                    "complexity_score": file.complexity,
                    "snapshot_at": at,
                }
                for file in record.files
            ]
        case DecisionRecord():
            return [{**pick_fields(record, "title text why"), "decided_at": at}]
        case Pattern():
            return [{**pick_fields(record, "name description example"), "found_at": at}]
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


def pick_fields(record: object, names: str) -> Columns:
    return {name: getattr(record, name) for name in names.split()}


def to_json_list(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
