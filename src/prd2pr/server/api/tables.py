"""What the API keeps: tokens, who asked for what, and events for whoever listens."""

from __future__ import annotations

from prd2pr.server.database import Migration

MIGRATIONS = (
    Migration(
        20,
        "tokens",
        (
            # Of a token only a digest is kept: who reads the database cannot use what is in it.
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
)
