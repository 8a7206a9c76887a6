"""Claims: one replica takes all waiting deliveries of a repository together. Leases on claims are in `leases.py`.

Everything done for a claim carries its id, so that a later holder finds what was already done.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from prd2pr.server.database import Database, read_database_time
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.leases import Lease

MAX_CANDIDATES = 50
MINUTE = 60.0


@dataclass(frozen=True)
class ClaimedDelivery:
    """A delivery of a claim, as its effect gets it."""

    guid: str
    event: str
    comment: str  # where a command was written, for a reply


@dataclass(frozen=True)
class EffectRequest:
    """A request made on behalf of a claim, recorded before it is sent. Turn 0: nothing yet."""

    turn: int = 0
    seconds_ago: float = 0.0
    mark: str = ""  # identifies the started work


@dataclass(frozen=True)
class WorkClaim:
    id: str
    lane: str
    deliveries: tuple[ClaimedDelivery, ...]
    request: EffectRequest = EffectRequest()


# --- opening ----------------------------------------------------------------------------------------------------------

SELECT_WAITING_LANES = text(
    """SELECT lane, min(id) AS oldest FROM deliveries
       WHERE state = 'waiting' AND not_before <= :now
         AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.lane = deliveries.lane AND claims.state = 'open')
       GROUP BY lane ORDER BY oldest LIMIT :most"""
)
COUNT_RECENT_CLAIMS = text("SELECT count(*) FROM claims WHERE lane = :lane AND opened_at > :since")
INSERT_CLAIM = text(
    """INSERT INTO claims (id, lane, replica, opened_at, lease_until, state)
       VALUES (:id, :lane, :replica, :now, :until, 'open') ON CONFLICT DO NOTHING"""
)
TAKE_DELIVERIES = text(
    """UPDATE deliveries SET state = 'taken', claim = :id, attempts = attempts + 1
       WHERE lane = :lane AND state = 'waiting' AND not_before <= :now"""
)


def open_claims(database: Database, replica: str, settings: ServerSettings, most: int) -> list[Lease]:
    """Claim up to `most` repositories with waiting deliveries; those over their rate limit keep waiting."""
    with database.reading() as connection:
        if (
            most <= 0
            or not connection.execute(SELECT_WAITING_LANES, {"now": read_database_time(connection), "most": 1}).first()
        ):
            return []
    with database.writing() as connection:
        now = read_database_time(connection)
        lanes = connection.execute(SELECT_WAITING_LANES, {"now": now, "most": MAX_CANDIDATES}).all()
        opened: list[str] = []
        for lane, oldest in lanes:
            if len(opened) < most and _is_within_rate(connection, lane, now, settings):
                opened += _open_claim(connection, lane, oldest, replica, now=now, until=now + settings.lease_seconds)
    return [Lease(each, replica, epoch=0) for each in opened]


def _is_within_rate(connection: Connection, lane: str, now: float, settings: ServerSettings) -> bool:
    recent = connection.execute(COUNT_RECENT_CLAIMS, {"lane": lane, "since": now - MINUTE}).scalar_one()
    return int(recent) < settings.rate_per_minute


def _open_claim(connection: Connection, lane: str, oldest: int, replica: str, *, now: float, until: float) -> list[str]:
    first = connection.execute(text("SELECT guid, attempts FROM deliveries WHERE id = :id"), {"id": oldest}).one()
    # Each attempt has its own id, so that leftovers of an earlier one are not mistaken for this one's.
    claim = f"{first.guid}.{first.attempts + 1}"
    given = {"id": claim, "lane": lane, "replica": replica, "now": now, "until": until}
    if connection.execute(INSERT_CLAIM, given).rowcount != 1:
        return []
    if connection.execute(TAKE_DELIVERIES, {"id": claim, "lane": lane, "now": now}).rowcount == 0:
        # Another replica processed them between our query and our claim.
        connection.execute(text("DELETE FROM claims WHERE id = :id"), {"id": claim})
        return []
    return [claim]


# --- reading ----------------------------------------------------------------------------------------------------------


def read_claim(database: Database, claim: str) -> WorkClaim:
    with database.reading() as connection:
        query = text("SELECT lane, asked_turn, asked_at, mark FROM claims WHERE id = :id")
        row = connection.execute(query, {"id": claim}).one()
        deliveries = connection.execute(
            text("SELECT guid, event, said FROM deliveries WHERE claim = :id AND state = 'taken' ORDER BY id"),
            {"id": claim},
        )
        ago = read_database_time(connection) - row.asked_at
        return WorkClaim(
            claim,
            row.lane,
            tuple(ClaimedDelivery(*each) for each in deliveries),
            EffectRequest(row.asked_turn, ago, row.mark),
        )


def read_payloads(database: Database, claim: str) -> list[tuple[str, bytes]]:
    """Return event and body of a claim's deliveries, oldest first."""
    query = text(
        "SELECT event, body FROM deliveries WHERE claim = :id AND state = 'taken' AND body IS NOT NULL ORDER BY id"
    )
    with database.reading() as connection:
        return [(str(event), bytes(body or b"")) for event, body in connection.execute(query, {"id": claim})]
