"""Append events to the `events` table, in the transaction that causes them.

Listeners resume after the last id that they read, so ids must become visible in order. This is always so on SQLite,
which has only one writer. On PostgreSQL a lock is held from a transaction's first `announce` to its end, so call it
last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, text

from prd2pr.server.database import WriteLock, lock_writes

EventKind = Literal[
    "task_status_changed", "worker_heartbeat", "circuit_state_changed", "run_completed", "order_state_changed"
]
MAX_TEXT_LENGTH = 500  # of each value; an event only says that something happened, and the API has the details


def announce(connection: Connection, kind: EventKind, repo: str, data: Mapping[str, Any]) -> None:
    """Append one event. If `repo` is empty, only tokens for all repositories receive it."""
    lock_writes(connection, WriteLock.APPEND_EVENT)  # so that events become visible in the order of their ids
    connection.execute(
        text("INSERT INTO events (at, repo, kind, data) VALUES (:at, :repo, :kind, :data)"),
        {
            "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "repo": repo,
            "kind": kind,
            "data": json.dumps({name: _truncate(value) for name, value in data.items()}),
        },
    )


def _truncate(value: Any) -> Any:
    return value[:MAX_TEXT_LENGTH] if isinstance(value, str) else value
