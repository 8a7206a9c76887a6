"""Batches in the inbox: all waiting deliveries of a repository, handled together by one dbos workflow.

A batch does not change after it is taken, and every update here is idempotent: if a step is executed again, for example
in another replica, only the first execution has an effect.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import TextClause, text

from prd2pr.server.database import Database, WriteLock, lock_writes, read_database_time

MAX_LANES = 500


@dataclass(frozen=True)
class BatchDelivery:
    """A delivery of a batch, as passed to the effect that handles it."""

    guid: str
    event: str
    comment: str  # where a command was written, for a reply


@dataclass(frozen=True)
class Batch:
    id: str  # named after its oldest delivery and the number of times that delivery has been queued
    lane: str
    deliveries: tuple[BatchDelivery, ...]


@dataclass(frozen=True)
class BatchKey:
    """The identity of a batch, as passed to its workflow."""

    id: str
    lane: str
    attempt: int = 1


SELECT_WAITING = text(
    """SELECT guid, lane, attempts FROM deliveries
       WHERE id IN (SELECT min(id) FROM deliveries WHERE state = 'waiting' GROUP BY lane) ORDER BY id LIMIT :most"""
)
SELECT_TAKEN = text(
    "SELECT batch, lane, max(attempts - forgiven) FROM deliveries WHERE state = 'taken' GROUP BY batch, lane"
)
TAKE_WAITING = text(
    "UPDATE deliveries SET state = 'taken', batch = :id, reason = '' WHERE lane = :lane AND state = 'waiting'"
)
SELECT_DELIVERY = text("SELECT state, attempts FROM deliveries WHERE guid = :guid")
COUNT_ATTEMPT = text("UPDATE deliveries SET attempts = forgiven + :attempt WHERE batch = :id AND state = 'taken'")
MARK_DONE = text(
    """UPDATE deliveries SET state = 'done', body = NULL, reason = :effect, settled_at = :now
       WHERE batch = :id AND state = 'taken' RETURNING received_at"""
)
MARK_DEAD = text(
    """UPDATE deliveries SET state = 'dead', reason = :error, settled_at = :now
       WHERE batch = :id AND state = 'taken' RETURNING received_at"""
)
RECORD_ERROR = text("UPDATE deliveries SET reason = :error WHERE batch = :id AND state = 'taken' RETURNING received_at")


def list_waiting(database: Database) -> list[BatchKey]:
    """Return the next batch of each repository with waiting deliveries, the longest waiting first."""
    with database.reading() as connection:
        rows = connection.execute(SELECT_WAITING, {"most": MAX_LANES})
        return [BatchKey(f"{guid}.{attempts + 1}", lane) for guid, lane, attempts in rows]


def list_taken(database: Database) -> list[BatchKey]:
    """Return the batches that were taken and are not finished."""
    with database.reading() as connection:
        return [BatchKey(batch, lane, max(1, attempt)) for batch, lane, attempt in connection.execute(SELECT_TAKEN)]


def take_batch(database: Database, key: BatchKey) -> bool:
    """Take all waiting deliveries of the lane, unless this batch is done. Return whether any work is left.

    The batch is named after its oldest delivery. This locks the lane instead of its rows, because two replicas could
    lock the rows in different orders.
    """
    guid, _, number = key.id.rpartition(".")
    with database.writing() as connection:
        lock_writes(connection, WriteLock.TAKE_BATCH, key.lane)
        oldest = connection.execute(SELECT_DELIVERY, {"guid": guid}).first()
        if oldest is not None and oldest.state == "waiting" and str(oldest.attempts + 1) == number:
            connection.execute(TAKE_WAITING, {"id": key.id, "lane": key.lane})
        return connection.execute(COUNT_ATTEMPT, {"id": key.id, "attempt": key.attempt}).rowcount > 0


def read_batch(database: Database, key: BatchKey) -> Batch:
    query = text("SELECT guid, event, said FROM deliveries WHERE batch = :id AND state = 'taken' ORDER BY id")
    with database.reading() as connection:
        rows = connection.execute(query, {"id": key.id})
        return Batch(key.id, key.lane, tuple(BatchDelivery(*row) for row in rows))


def read_payloads(database: Database, batch: str) -> list[tuple[str, bytes]]:
    """Return the event name and body of each delivery of a batch, oldest first."""
    query = text(
        "SELECT event, body FROM deliveries WHERE batch = :id AND state = 'taken' AND body IS NOT NULL ORDER BY id"
    )
    with database.reading() as connection:
        return [(str(event), bytes(body or b"")) for event, body in connection.execute(query, {"id": batch})]


def settle_batch(database: Database, batch: str, effect: str) -> list[float]:
    """Record the effect that was started. Return for each delivery the seconds since it arrived."""
    return _update_batch(database, MARK_DONE, {"id": batch, "effect": effect})


def fail_batch(database: Database, batch: str, error: str, *, is_last: bool) -> list[float]:
    """Record why an attempt failed. After the last attempt, the deliveries become dead letters."""
    return _update_batch(database, MARK_DEAD if is_last else RECORD_ERROR, {"id": batch, "error": error[:2000]})


def _update_batch(database: Database, update: TextClause, given: dict[str, str]) -> list[float]:
    with database.writing() as connection:
        now = read_database_time(connection)
        rows = connection.execute(update, given | ({"now": now} if update is not RECORD_ERROR else {}))
        return [max(0.0, now - received_at) for received_at in rows.scalars()]
