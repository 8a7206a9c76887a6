"""What happened, for whoever listens: one row for each event, in the transaction in which it happened.

Listeners go on from the last id that they saw, so ids must be seen in order. SQLite has one writer; on PostgreSQL a
lock is held from the first announcement of a transaction to its end, so announce last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from sqlalchemy import Connection, text

Kind = Literal[
    "task_status_changed", "worker_heartbeat", "circuit_state_changed", "run_completed", "order_state_changed"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
IN_ORDER = 7_215_020  # any number that nothing else locks
LONGEST_TEXT = 500  # of each value: an event says that something happened, and the API what


def announce(connection: Connection, kind: Kind, repo: str, data: Mapping[str, Any]) -> None:
    """`repo` is empty for what belongs to none; only tokens for all repositories are told of that."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": IN_ORDER})
    connection.execute(
        text("INSERT INTO events (at, repo, kind, data) VALUES (:at, :repo, :kind, :data)"),
        {
            "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "repo": repo,
            "kind": kind,
            "data": json.dumps({name: _short(value) for name, value in data.items()}),
        },
    )


def _short(value: Any) -> Any:
    return value[:LONGEST_TEXT] if isinstance(value, str) else value
