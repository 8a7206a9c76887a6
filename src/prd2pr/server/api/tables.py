"""Tables of the API: tokens, orders and events."""

from __future__ import annotations

from prd2pr.server.database import Migration

MIGRATIONS = (
    Migration(
        20,
        "tokens",
        (
            # Only a digest of each token is stored, so a leaked database contains no usable tokens.
            """CREATE TABLE tokens (
                id TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                digest TEXT NOT NULL,
                scope TEXT NOT NULL,
                repos TEXT NOT NULL,
                created_at TEXT NOT NULL,
                expires_at TEXT,
                revoked_at TEXT,
                last_used_at TEXT
            )""",
        ),
    ),
    Migration(
        21,
        "asked",
        (
            """CREATE TABLE asked (
                id TEXT PRIMARY KEY,
                idempotency_key TEXT NOT NULL UNIQUE,
                token TEXT NOT NULL,
                name TEXT NOT NULL,
                command TEXT NOT NULL,
                repo TEXT NOT NULL,
                subject TEXT NOT NULL,
                why TEXT NOT NULL,
                at TEXT NOT NULL
            )""",
            "CREATE INDEX asked_at ON asked (at)",
        ),
    ),
    Migration(
        22,
        "events",
        (
            """CREATE TABLE events (
                id {serial},
                at TEXT NOT NULL,
                repo TEXT NOT NULL,
                kind TEXT NOT NULL,
                data TEXT NOT NULL
            )""",
        ),
    ),
    Migration(
        23,
        "orders",
        (
            # The order as a run receives it, its delivery, and its outcome; see server/orders/store.py
            "ALTER TABLE asked ADD COLUMN ordered TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE asked ADD COLUMN delivery TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE asked ADD COLUMN tries INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE asked ADD COLUMN told TEXT NOT NULL DEFAULT 'waiting'",
            "ALTER TABLE asked ADD COLUMN looks INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE asked ADD COLUMN look_at {real} NOT NULL DEFAULT 0",
            "ALTER TABLE asked ADD COLUMN outcome TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE asked ADD COLUMN answer TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE asked ADD COLUMN url TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE asked ADD COLUMN settled_at TEXT NOT NULL DEFAULT ''",
            "CREATE INDEX asked_open ON asked (look_at) WHERE outcome = ''",
            "CREATE INDEX asked_subject ON asked (subject)",
        ),
    ),
    Migration(
        24,
        "checks of orders",
        (
            # The checks are now queued by dbos.
            "DROP INDEX asked_open",
            "CREATE INDEX asked_open ON asked (repo) WHERE outcome = ''",
            "ALTER TABLE asked DROP COLUMN looks",
            "ALTER TABLE asked DROP COLUMN look_at",
        ),
    ),
)
