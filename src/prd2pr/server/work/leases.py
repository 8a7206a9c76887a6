"""Leases on claims, with an epoch as fencing token.

A lease says when another replica may take a claim over. It does not stop the former holder, which may only have been
slow, so correctness never depends on time: each takeover increments the claim's epoch, and every change by a holder is
one transaction conditional on replica and epoch. Of two replicas that believe they hold a claim, one changes nothing.
External requests are recorded in the same way before they are sent, so that a later holder looks for their result.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, TextClause, text

from prd2pr.server.database import Database, read_database_time
from prd2pr.server.settings import ServerSettings

MAX_BACKOFF_SECONDS = 600.0
REPLICA_EXPIRY_SECONDS = 600.0
HOLDER_CONDITION = "id = :id AND replica = :replica AND resumed = :epoch AND state = 'open'"


def update_if_holder(change: str) -> TextClause:
    return text(f"UPDATE claims SET {change} WHERE {HOLDER_CONDITION}")  # noqa: S608 - no text but this file's own


@dataclass(frozen=True)
class Lease:
    claim: str
    replica: str
    epoch: int  # the number of takeovers

    def make_parameters(self, **more: object) -> dict[str, Any]:
        return {"id": self.claim, "replica": self.replica, "epoch": self.epoch, **more}


# --- holding ----------------------------------------------------------------------------------------------------------

RENEW_LEASE = update_if_holder("lease_until = :until")
RECORD_REQUEST = update_if_holder("asked_turn = :turn, asked_at = :now, mark = '', lease_until = :until")
RECORD_MARK = update_if_holder("mark = :mark")


def renew_lease(database: Database, lease: Lease, seconds: float) -> bool:
    """Extend the lease; return False if the claim was taken over."""
    with database.writing() as connection:
        return (
            connection.execute(
                RENEW_LEASE, lease.make_parameters(until=read_database_time(connection) + seconds)
            ).rowcount
            == 1
        )


def record_effect_request(database: Database, lease: Lease, turn: int, seconds: float) -> bool:
    """Record a request right before it is sent; return False if it must not be sent any more."""
    with database.writing() as connection:
        now = read_database_time(connection)
        return (
            connection.execute(RECORD_REQUEST, lease.make_parameters(turn=turn, now=now, until=now + seconds)).rowcount
            == 1
        )


def record_effect_mark(database: Database, lease: Lease, mark: str) -> bool:
    """Record the mark of the started work."""
    with database.writing() as connection:
        return connection.execute(RECORD_MARK, lease.make_parameters(mark=mark)).rowcount == 1


EXTEND_LEASE = text("UPDATE claims SET lease_until = :until WHERE id = :id AND replica = :me AND state = 'open'")
RECORD_REPLICA = text(
    """INSERT INTO replicas (id, started_at, seen_at) VALUES (:me, :now, :now)
       ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"""
)


def record_heartbeat(database: Database, replica: str, seconds: float, active_claims: Collection[str]) -> None:
    """Extend the leases of the claims being worked on, and record that the replica is alive.

    Claims that this replica lost track of expire and are taken over."""
    with database.writing() as connection:
        now = read_database_time(connection)
        for claim in sorted(active_claims):
            connection.execute(EXTEND_LEASE, {"until": now + seconds, "id": claim, "me": replica})
        connection.execute(RECORD_REPLICA, {"me": replica, "now": now})
        old = now - 10 * max(seconds, REPLICA_EXPIRY_SECONDS / 10)
        connection.execute(text("DELETE FROM replicas WHERE seen_at < :old"), {"old": old})


# --- changing hands ---------------------------------------------------------------------------------------------------

SELECT_EXPIRED = text(
    "SELECT id, resumed FROM claims WHERE state = 'open' AND lease_until < :now ORDER BY lease_until LIMIT :most"
)
TAKE_OVER_CLAIM = text(
    """UPDATE claims SET replica = :replica, resumed = resumed + 1, lease_until = :until
       WHERE id = :id AND resumed = :seen AND state = 'open' AND lease_until < :now"""
)


def take_over_claims(
    database: Database, replica: str, lease: float, most: int, active_claims: Collection[str] = ()
) -> list[Lease]:
    """Take over up to `most` claims whose lease has expired, except this replica's own `active_claims`."""
    if most <= 0:
        return []
    with database.reading() as connection:
        given = {"now": read_database_time(connection), "most": most + len(active_claims)}
        left = [each for each in connection.execute(SELECT_EXPIRED, given).all() if each.id not in active_claims][:most]
    if not left:
        return []
    with database.writing() as connection:
        return [
            Lease(each.id, replica, each.resumed + 1)
            for each in sorted(left)
            if _take_over_claim(connection, each.id, each.resumed, replica, lease)
        ]


def _take_over_claim(connection: Connection, claim: str, seen: int, replica: str, lease: float) -> bool:
    now = read_database_time(connection)
    given = {"id": claim, "seen": seen, "replica": replica, "now": now, "until": now + lease}
    return connection.execute(TAKE_OVER_CLAIM, given).rowcount == 1


def release_claims(database: Database, replica: str) -> None:
    """Release the replica's claims at shutdown, so that others need not wait for the leases to expire."""
    with database.writing() as connection:
        connection.execute(
            text("UPDATE claims SET replica = '', lease_until = 0 WHERE replica = :me AND state = 'open'"),
            {"me": replica},
        )
        connection.execute(text("DELETE FROM replicas WHERE id = :me"), {"me": replica})


def release_orphaned_claims(database: Database, active_claims: Collection[str]) -> int:
    """Release claims of dead holders and return how many. Only for a database with a single replica."""
    with database.writing() as connection:
        held = connection.execute(text("SELECT id FROM claims WHERE state = 'open' AND replica <> ''")).scalars()
        left = [each for each in held if each not in active_claims]
        for each in left:
            freed = text("UPDATE claims SET replica = '', lease_until = 0 WHERE id = :id AND state = 'open'")
            connection.execute(freed, {"id": each})
        return len(left)


# --- closing ----------------------------------------------------------------------------------------------------------

CLOSE_CLAIM = update_if_holder("state = :state, effect = :effect, error = :error, closed_at = :now")
MARK_DONE = text(
    """UPDATE deliveries SET state = 'done', body = NULL, reason = :effect, settled_at = :now
       WHERE claim = :id AND state = 'taken'"""
)
MARK_DEAD = text(
    """UPDATE deliveries SET state = 'dead', reason = :error, settled_at = :now
       WHERE claim = :id AND state = 'taken' AND attempts - forgiven >= :most"""
)
REQUEUE = text(
    """UPDATE deliveries SET state = 'waiting', claim = '', reason = :error, not_before = :later
       WHERE claim = :id AND state = 'taken'"""
)
MARK_ALL_DEAD = text(
    "UPDATE deliveries SET state = 'dead', reason = :error, settled_at = :now WHERE claim = :id AND state = 'taken'"
)
POSTPONE_CLAIM = update_if_holder("replica = '', lease_until = :later, error = :error")
COUNT_ATTEMPT = text("UPDATE deliveries SET attempts = attempts + 1 WHERE claim = :id AND state = 'taken'")
SELECT_ATTEMPTS = text(
    "SELECT coalesce(max(attempts - forgiven), 1) FROM deliveries WHERE claim = :id AND state = 'taken'"
)


def settle_claim(database: Database, lease: Lease, effect: str) -> bool:
    """Mark the claim and its deliveries as done; return False if another replica holds it by now."""
    with database.writing() as connection:
        now = read_database_time(connection)
        if (
            connection.execute(
                CLOSE_CLAIM, lease.make_parameters(state="done", effect=effect, error="", now=now)
            ).rowcount
            != 1
        ):
            return False
        connection.execute(MARK_DONE, {"id": lease.claim, "effect": effect, "now": now})
        return True


def fail_claim(database: Database, lease: Lease, error: str, settings: ServerSettings) -> bool:
    """Close the claim as failed. Its deliveries wait for a retry; those without attempts left become dead letters."""
    error = error[:2000]
    with database.writing() as connection:
        now = read_database_time(connection)
        if (
            connection.execute(
                CLOSE_CLAIM, lease.make_parameters(state="failed", effect="", error=error, now=now)
            ).rowcount
            != 1
        ):
            return False
        later = now + _backoff(connection, lease.claim, settings)
        connection.execute(MARK_DEAD, {"id": lease.claim, "error": error, "now": now, "most": settings.attempts})
        connection.execute(REQUEUE, {"id": lease.claim, "error": error, "later": later})
        return True


def postpone_claim(database: Database, lease: Lease, error: str, settings: ServerSettings) -> bool:
    """Release the claim for a later retry with its marks, since the outcome of its request is unknown.

    Without attempts left its deliveries become dead letters, for a person to decide."""
    error = error[:2000]
    with database.writing() as connection:
        now = read_database_time(connection)
        if int(connection.execute(SELECT_ATTEMPTS, {"id": lease.claim}).scalar_one()) >= settings.attempts:
            if (
                connection.execute(
                    CLOSE_CLAIM, lease.make_parameters(state="failed", effect="", error=error, now=now)
                ).rowcount
                != 1
            ):
                return False
            connection.execute(MARK_ALL_DEAD, {"id": lease.claim, "error": error, "now": now})
            return True
        later = now + _backoff(connection, lease.claim, settings)
        if connection.execute(POSTPONE_CLAIM, lease.make_parameters(later=later, error=error)).rowcount != 1:
            return False
        connection.execute(COUNT_ATTEMPT, {"id": lease.claim})
        return True


def _backoff(connection: Connection, claim: str, settings: ServerSettings) -> float:
    tried = int(connection.execute(SELECT_ATTEMPTS, {"id": claim}).scalar_one())
    return float(min(MAX_BACKOFF_SECONDS, settings.backoff_seconds * 2.0 ** (tried - 1)))
