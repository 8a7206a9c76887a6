"""The table of replicas, and migrations of tables that dbos has replaced."""

from __future__ import annotations

from prd2pr.server.database import Migration

MIGRATIONS = (
    Migration(
        7,
        "batches",
        (
            # dbos queues, delays and retries batches. Deliveries taken by a claim become a batch with the claim's name.
            "ALTER TABLE deliveries RENAME COLUMN claim TO batch",
            "DROP INDEX deliveries_waiting",
            "CREATE INDEX deliveries_waiting ON deliveries (lane, id) WHERE state = 'waiting'",
            "ALTER TABLE deliveries DROP COLUMN not_before",
            "DROP TABLE claims",
            "DROP TABLE sweeps",
        ),
    ),
    Migration(
        6,
        "what was asked for",
        (
            # `resumed` is the epoch. Each request is recorded with its turn and time before it is sent.
            "ALTER TABLE claims ADD COLUMN asked_turn INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE claims ADD COLUMN asked_at {real} NOT NULL DEFAULT 0",
            "ALTER TABLE claims ADD COLUMN mark TEXT NOT NULL DEFAULT ''",
            # It is unknown how far these claims had progressed.
            "UPDATE claims SET asked_turn = 1, asked_at = lease_until WHERE state = 'open'",
            "CREATE INDEX claims_left ON claims (lease_until) WHERE state = 'open'",
        ),
    ),
    Migration(5, "claims resumed", ("ALTER TABLE claims ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0",)),
    Migration(
        4,
        "sweeps",
        ("CREATE TABLE sweeps (name TEXT PRIMARY KEY, next_at {real} NOT NULL, swept_at {real} NOT NULL)",),
    ),
    Migration(
        2,
        "claims",
        (
            # All waiting deliveries of a lane, taken together by one replica; state: open, done, failed
            """CREATE TABLE claims (
                 id TEXT PRIMARY KEY,
                 lane TEXT NOT NULL,
                 replica TEXT NOT NULL,
                 opened_at {real} NOT NULL,
                 lease_until {real} NOT NULL,
                 state TEXT NOT NULL,
                 effect TEXT NOT NULL DEFAULT '',
                 error TEXT NOT NULL DEFAULT '',
                 closed_at {real}
               )""",
            # Prevents two replicas from working on one repository at the same time.
            "CREATE UNIQUE INDEX claims_open ON claims (lane) WHERE state = 'open'",
            "CREATE INDEX claims_recent ON claims (lane, opened_at)",
            "CREATE INDEX claims_closed ON claims (closed_at) WHERE closed_at IS NOT NULL",
        ),
    ),
    Migration(
        3,
        "replicas",
        ("CREATE TABLE replicas (id TEXT PRIMARY KEY, started_at {real} NOT NULL, seen_at {real} NOT NULL)",),
    ),
)
