"""Retention periods."""

from __future__ import annotations

import pytest

from memories import NOW, Library, failure, note
from prd2pr.config import Config, Retention
from prd2pr.memory.commit import drop_expired, make_retention_policy
from prd2pr.memory.files import encode_memory_file
from prd2pr.memory.retention import RetentionPolicy, find_expired_files
from prd2pr.state.store import StateChange

LOG = ".orch-state/logs/run-1.jsonl"
NOTE = ".orch-state/memory/docs_cache/rich-13.json"


@pytest.mark.parametrize(
    ("path", "at", "gone"),
    [
        (LOG, "2026-08-18T11:00:00Z", True),
        (LOG, "2026-08-18T13:00:00Z", False),
        (NOTE, "2026-11-09T11:00:00Z", True),
        (NOTE, "2026-11-09T13:00:00Z", False),
        (".orch-state/memory/failures/f-1.json", "2000-01-01T00:00:00Z", False),
        (".orch-state/memory/estimates/e-1.json", "2000-01-01T00:00:00Z", False),
        (".orch-state/memory/retrospectives/r-1.json", "2000-01-01T00:00:00Z", False),
        (".orch-state/prds/shop/prd.json", "2000-01-01T00:00:00Z", False),
        ("src/logs/run-1.jsonl", "2000-01-01T00:00:00Z", False),
    ],
)
def test_logs_expire_after_ninety_days_and_library_notes_after_seven(path, at, gone):
    assert find_expired_files({path: at}, NOW) == ((path,) if gone else ())


def test_retention_is_configurable():
    assert make_retention_policy(Config().retention) == RetentionPolicy()
    longer = make_retention_policy(Retention(agent_logs_days=1000))
    assert find_expired_files({LOG: "2026-01-01T00:00:00Z"}, NOW, longer) == ()


def test_change_drops_only_expired_records(library: Library) -> None:
    def log(at: str) -> bytes:
        return f'{{"at": "2026-01-01T00:00:00Z", "kind": "note"}}\n{{"at": "{at}", "kind": "note"}}\n'.encode()

    old_note = note("rich", "13", "2026-10-01T00:00:00Z", "2026-10-08T00:00:00Z")
    new_note = note("rich", "14", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z")
    library.put(
        {
            ".orch-state/logs/old.jsonl": log("2026-01-02T00:00:00Z"),
            ".orch-state/logs/going-on.jsonl": log("2026-11-15T00:00:00Z"),
            ".orch-state/logs/unreadable.jsonl": b"?\n",
            ".orch-state/logs/mine.jsonl": log("2026-01-02T00:00:00Z"),
            ".orch-state/memory/docs_cache/torn.json": b"{",
            **dict(
                [
                    encode_memory_file(old_note),
                    encode_memory_file(new_note),
                    encode_memory_file(failure(at="2020-01-01T00:00:00Z")),
                ]
            ),
        }
    )
    mine = StateChange().with_bytes(".orch-state/logs/mine.jsonl", b"news\n")
    change = drop_expired(mine, library.git, library.head, now=NOW, retention=Retention())
    assert dict(change.updates) == {
        ".orch-state/logs/mine.jsonl": b"news\n",
        ".orch-state/logs/old.jsonl": None,
        encode_memory_file(old_note)[0]: None,
    }
