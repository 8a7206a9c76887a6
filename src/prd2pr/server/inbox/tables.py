"""The tables of the inbox."""

from __future__ import annotations

from prd2pr.server.database import Migration

MIGRATIONS = (
    Migration(
        1,
        "deliveries",
        (
            # state: waiting, taken (into a batch), done, ignored (needs no work), dead (given up)
            """CREATE TABLE deliveries (
                 id {serial},
                 guid TEXT NOT NULL UNIQUE,
                 event TEXT NOT NULL,
                 lane TEXT NOT NULL,
                 said TEXT NOT NULL DEFAULT '',
                 received_at {real} NOT NULL,
                 body {bytes},
                 state TEXT NOT NULL,
                 reason TEXT NOT NULL DEFAULT '',
                 attempts INTEGER NOT NULL DEFAULT 0,
                 forgiven INTEGER NOT NULL DEFAULT 0,
                 not_before {real} NOT NULL DEFAULT 0,
                 claim TEXT NOT NULL DEFAULT '',
                 settled_at {real}
               )""",
            "CREATE INDEX deliveries_waiting ON deliveries (lane, not_before) WHERE state = 'waiting'",
            "CREATE INDEX deliveries_taken ON deliveries (claim) WHERE state = 'taken'",
            "CREATE INDEX deliveries_dead ON deliveries (received_at) WHERE state = 'dead'",
            "CREATE INDEX deliveries_settled ON deliveries (settled_at) WHERE settled_at IS NOT NULL",
        ),
    ),
)
