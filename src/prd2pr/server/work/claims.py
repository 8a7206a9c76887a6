"""Claims: all deliveries of a repository that wait are taken together, by one replica, for as long as it gives signs.

A claim that nobody gives signs for is anybody's again. Whatever is done for it is done by its id, so that whoever goes
on with it finds what was done already; and it is closed once, whoever believes to hold it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from prd2pr.server.database import Database
from prd2pr.server.settings import ServerSettings

LOOKED_AT = 50
LONGEST_BACKOFF = 600.0
# Until a claim that was taken over is adopted. Resuming it again meanwhile would interrupt who is about to adopt it.
RESUMED_SECONDS = 30.0
MINUTE = 60.0


@dataclass(frozen=True)
class Told:
    """A delivery of a claim, as whoever carries the claim out is told of it."""

    guid: str
    event: str
    said: str


@dataclass(frozen=True)
class Claim:
    id: str
    lane: str
    deliveries: tuple[Told, ...]
    resumed: bool = False  # somebody else had it before, and may have done something for it a moment ago


def now_of(connection: Connection) -> float:
    """The database's clock: that of replicas may differ. SQLite is on this machine."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


# --- opening ----------------------------------------------------------------------------------------------------------

NEXT = text(
    """SELECT lane, min(id) AS oldest FROM deliveries
       WHERE state = 'waiting' AND not_before <= :now
         AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.lane = deliveries.lane AND claims.state = 'open')
       GROUP BY lane ORDER BY oldest LIMIT :most"""
)
UNADOPTED = text("SELECT count(*) FROM claims WHERE state = 'open' AND replica = ''")
RECENT = text("SELECT count(*) FROM claims WHERE lane = :lane AND opened_at > :since")
OPEN = text(
    """INSERT INTO claims (id, lane, replica, opened_at, lease_until, state)
       VALUES (:id, :lane, :replica, :now, :until, 'open') ON CONFLICT DO NOTHING"""
)
TAKE = text(
    """UPDATE deliveries SET state = 'taken', claim = :id, attempts = attempts + 1
       WHERE lane = :lane AND state = 'waiting' AND not_before <= :now"""
)


def open_claims(database: Database, replica: str, settings: ServerSettings, most: int) -> list[str]:
    """Takes up to `most` repositories that have something waiting; those that had enough this minute wait on."""
    with database.reading() as connection:
        if most <= 0 or not connection.execute(NEXT, {"now": now_of(connection), "most": 1}).first():
            return []
    with database.writing() as connection:
        now = now_of(connection)
        most -= int(connection.execute(UNADOPTED).scalar_one())
        lanes = connection.execute(NEXT, {"now": now, "most": LOOKED_AT}).all()
        opened: list[str] = []
        for lane, oldest in lanes:
            if len(opened) < most and _allowed(connection, lane, now, settings):
                opened += _open(connection, lane, oldest, replica, now=now, until=now + settings.lease_seconds)
        return opened


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


# --- holding ----------------------------------------------------------------------------------------------------------


GIVE = text("UPDATE claims SET lease_until = :until WHERE id = :id AND replica = :me AND state = 'open'")


def adopt(database: Database, claim: str, replica: str, lease: float) -> Claim | None:
    """From now on this replica holds the claim; None where it is closed already."""
    with database.writing() as connection:
        held = connection.execute(
            text("UPDATE claims SET replica = :me, lease_until = :until WHERE id = :id AND state = 'open'"),
            {"me": replica, "until": now_of(connection) + lease, "id": claim},
        )
        if held.rowcount != 1:
            return None
        return _read(connection, claim)


def read(database: Database, claim: str) -> Claim:
    with database.reading() as connection:
        return _read(connection, claim)


def _read(connection: Connection, claim: str) -> Claim:
    row = connection.execute(text("SELECT lane, resumed FROM claims WHERE id = :id"), {"id": claim}).one()
    told = connection.execute(
        text("SELECT guid, event, said FROM deliveries WHERE claim = :id AND state = 'taken' ORDER BY id"),
        {"id": claim},
    )
    return Claim(claim, row.lane, tuple(Told(*each) for each in told), resumed=row.resumed > 0)


def payloads(database: Database, claim: str) -> list[tuple[str, bytes]]:
    """Event and body of its deliveries, in the order in which they came."""
    asked = text(
        "SELECT event, body FROM deliveries WHERE claim = :id AND state = 'taken' AND body IS NOT NULL ORDER BY id"
    )
    with database.reading() as connection:
        return [(str(event), bytes(body or b"")) for event, body in connection.execute(asked, {"id": claim})]


def holds(database: Database, claim: str, replica: str, lease: float) -> bool:
    """Asked right before anything is done: who slept, and whose claim was taken over, may not go on."""
    with database.writing() as connection:
        given = {"until": now_of(connection) + lease, "id": claim, "me": replica}
        return connection.execute(GIVE, given).rowcount == 1


SEEN = text(
    """INSERT INTO replicas (id, started_at, seen_at) VALUES (:me, :now, :now)
       ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"""
)


def give_signs(database: Database, replica: str, lease: float, held: Collection[str]) -> None:
    """For the claims that are really being worked on: one that this replica has lost sight of becomes another's."""
    with database.writing() as connection:
        now = now_of(connection)
        for claim in held:
            connection.execute(GIVE, {"until": now + lease, "id": claim, "me": replica})
        connection.execute(SEEN, {"me": replica, "now": now})
        connection.execute(text("DELETE FROM replicas WHERE seen_at < :old"), {"old": now - 10 * max(lease, MINUTE)})


def let_go(database: Database, replica: str) -> None:
    """At a stop that was asked for: nobody has to wait until the signs stop."""
    with database.writing() as connection:
        connection.execute(
            text("UPDATE claims SET replica = '', lease_until = 0 WHERE replica = :me AND state = 'open'"),
            {"me": replica},
        )
        connection.execute(text("DELETE FROM replicas WHERE id = :me"), {"me": replica})


LEFT = text("SELECT id FROM claims WHERE state = 'open' AND (lease_until < :now OR :all = 1) ORDER BY opened_at")
TAKE_OVER = text(
    """UPDATE claims SET replica = '', lease_until = :until, resumed = resumed + 1
       WHERE id = :id AND state = 'open' AND (lease_until < :now OR :all = 1)"""
)


def take_over(database: Database, lease: float, held: Collection[str] = (), *, all_of_them: bool = False) -> list[str]:
    """Claims whose holder gives no signs any more. They are nobody's for a while: who resumes one adopts it.
    `held`: those that this very replica works on, however slow it is."""
    with database.reading() as connection:
        given = {"now": now_of(connection), "all": int(all_of_them)}
        left = [str(each) for each in connection.execute(LEFT, given).scalars() if each not in held]
    if not left:
        return []
    with database.writing() as connection:
        given = {"now": now_of(connection), "all": int(all_of_them)}
        until = float(given["now"]) + max(lease, RESUMED_SECONDS)
        return [each for each in left if connection.execute(TAKE_OVER, {**given, "id": each, "until": until}).rowcount]


# --- closing ----------------------------------------------------------------------------------------------------------

CLOSE = text(
    """UPDATE claims SET state = :state, effect = :effect, error = :error, closed_at = :now
       WHERE id = :id AND state = 'open'"""
)
DONE = text(
    """UPDATE deliveries SET state = 'done', body = NULL, reason = :effect, settled_at = :now
       WHERE claim = :id AND state = 'taken'"""
)
DEAD = text(
    """UPDATE deliveries SET state = 'dead', reason = :error, settled_at = :now
       WHERE claim = :id AND state = 'taken' AND attempts - forgiven >= :most"""
)
AGAIN = text(
    """UPDATE deliveries SET state = 'waiting', claim = '', reason = :error, not_before = :later
       WHERE claim = :id AND state = 'taken'"""
)
TRIED = text("SELECT coalesce(max(attempts - forgiven), 1) FROM deliveries WHERE claim = :id AND state = 'taken'")


def settle(database: Database, claim: str, effect: str) -> bool:
    """All of its deliveries are done. False where somebody else has closed it."""
    with database.writing() as connection:
        given = {"id": claim, "state": "done", "effect": effect, "error": "", "now": now_of(connection)}
        if connection.execute(CLOSE, given).rowcount != 1:
            return False
        connection.execute(DONE, {"id": claim, "effect": effect, "now": given["now"]})
        return True


def fail(database: Database, claim: str, error: str, settings: ServerSettings) -> None:
    """Its deliveries wait for their next try, or are dead letters where they had all of theirs."""
    with database.writing() as connection:
        now = now_of(connection)
        given = {"id": claim, "state": "failed", "effect": "", "error": error[:2000], "now": now}
        if connection.execute(CLOSE, given).rowcount != 1:
            return
        tried = int(connection.execute(TRIED, {"id": claim}).scalar_one())
        later = now + min(LONGEST_BACKOFF, settings.backoff_seconds * 2.0 ** (tried - 1))
        dead = {"id": claim, "error": given["error"], "now": now, "most": settings.attempts}
        connection.execute(DEAD, dead)
        connection.execute(AGAIN, {"id": claim, "error": given["error"], "later": later})


# --- dead letters -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeadLetter:
    guid: str
    event: str
    lane: str
    attempts: int
    reason: str
    received_at: float


def dead_letters(database: Database) -> list[DeadLetter]:
    with database.reading() as connection:
        asked = (
            "SELECT guid, event, lane, attempts, reason, received_at FROM deliveries WHERE state = 'dead' ORDER BY id"
        )
        return [DeadLetter(*row) for row in connection.execute(text(asked))]


def replay(database: Database, guids: Sequence[str] = ()) -> list[str]:
    """Dead letters wait again, with all of their tries; all of them where none is named."""
    wanted = [each.guid for each in dead_letters(database) if not guids or each.guid in guids]
    with database.writing() as connection:
        for guid in wanted:
            connection.execute(
                text(
                    """UPDATE deliveries SET state = 'waiting', forgiven = attempts, not_before = 0, claim = '',
                       settled_at = NULL WHERE guid = :guid AND state = 'dead'"""
                ),
                {"guid": guid},
            )
    return wanted
