"""Claims: all deliveries of a repository that wait are taken together, by one replica. Who holds one is `holding.py`.

Whatever is done for a claim is done by its id, so that whoever goes on with it finds what was done already.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from prd2pr.server.database import Database, now_of
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.holding import Hold

LOOKED_AT = 50
MINUTE = 60.0


@dataclass(frozen=True)
class Told:
    """A delivery of a claim, as whoever carries the claim out is told of it."""

    guid: str
    event: str
    said: str


@dataclass(frozen=True)
class Asked:
    """What was asked for on behalf of a claim, on record before it was asked for. Turn 0: nothing yet."""

    turn: int = 0
    seconds_ago: float = 0.0
    mark: str = ""  # what it was answered with


@dataclass(frozen=True)
class Claim:
    id: str
    lane: str
    deliveries: tuple[Told, ...]
    asked: Asked = Asked()


# --- opening ----------------------------------------------------------------------------------------------------------

NEXT = text(
    """SELECT lane, min(id) AS oldest FROM deliveries
       WHERE state = 'waiting' AND not_before <= :now
         AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.lane = deliveries.lane AND claims.state = 'open')
       GROUP BY lane ORDER BY oldest LIMIT :most"""
)
RECENT = text("SELECT count(*) FROM claims WHERE lane = :lane AND opened_at > :since")
OPEN = text(
    """INSERT INTO claims (id, lane, replica, opened_at, lease_until, state)
       VALUES (:id, :lane, :replica, :now, :until, 'open') ON CONFLICT DO NOTHING"""
)
TAKE = text(
    """UPDATE deliveries SET state = 'taken', claim = :id, attempts = attempts + 1
       WHERE lane = :lane AND state = 'waiting' AND not_before <= :now"""
)


def open_claims(database: Database, replica: str, settings: ServerSettings, most: int) -> list[Hold]:
    """Takes up to `most` repositories that have something waiting; those that had enough this minute wait on."""
    with database.reading() as connection:
        if most <= 0 or not connection.execute(NEXT, {"now": now_of(connection), "most": 1}).first():
            return []
    with database.writing() as connection:
        now = now_of(connection)
        lanes = connection.execute(NEXT, {"now": now, "most": LOOKED_AT}).all()
        opened: list[str] = []
        for lane, oldest in lanes:
            if len(opened) < most and _allowed(connection, lane, now, settings):
                opened += _open(connection, lane, oldest, replica, now=now, until=now + settings.lease_seconds)
    return [Hold(each, replica, epoch=0) for each in opened]


def _allowed(connection: Connection, lane: str, now: float, settings: ServerSettings) -> bool:
    recent = connection.execute(RECENT, {"lane": lane, "since": now - MINUTE}).scalar_one()
    return int(recent) < settings.rate_per_minute


def _open(connection: Connection, lane: str, oldest: int, replica: str, *, now: float, until: float) -> list[str]:
    first = connection.execute(text("SELECT guid, attempts FROM deliveries WHERE id = :id"), {"id": oldest}).one()
    # Each try of a delivery has its own name: what an earlier one left behind is not taken for this one's.
    claim = f"{first.guid}.{first.attempts + 1}"
    given = {"id": claim, "lane": lane, "replica": replica, "now": now, "until": until}
    if connection.execute(OPEN, given).rowcount != 1:
        return []
    if connection.execute(TAKE, {"id": claim, "lane": lane, "now": now}).rowcount == 0:
        # Another replica did all of it between our look and our claim.
        connection.execute(text("DELETE FROM claims WHERE id = :id"), {"id": claim})
        return []
    return [claim]


# --- reading ----------------------------------------------------------------------------------------------------------


def read(database: Database, claim: str) -> Claim:
    with database.reading() as connection:
        asked = text("SELECT lane, asked_turn, asked_at, mark FROM claims WHERE id = :id")
        row = connection.execute(asked, {"id": claim}).one()
        told = connection.execute(
            text("SELECT guid, event, said FROM deliveries WHERE claim = :id AND state = 'taken' ORDER BY id"),
            {"id": claim},
        )
        ago = now_of(connection) - row.asked_at
        return Claim(claim, row.lane, tuple(Told(*each) for each in told), Asked(row.asked_turn, ago, row.mark))


def payloads(database: Database, claim: str) -> list[tuple[str, bytes]]:
    """Event and body of its deliveries, in the order in which they came."""
    asked = text(
        "SELECT event, body FROM deliveries WHERE claim = :id AND state = 'taken' AND body IS NOT NULL ORDER BY id"
    )
    with database.reading() as connection:
        return [(str(event), bytes(body or b"")) for event, body in connection.execute(asked, {"id": claim})]
