"""Holding a claim: by a replica, since a change of hands that has a number.

A lease says when another replica may take a claim over. It cannot say that the former holder has stopped: one that was
merely slow wakes up and goes on. So nothing here rests on time. Each change of hands raises the claim's number, and
whatever a holder does about the claim is one transaction that names itself and its number: of two that believe to hold
a claim, one changes nothing. Before anything is asked of the world it is put on record the same way, so that whoever
comes later knows that it may have been done, and looks for it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, TextClause, text

from prd2pr.server.database import Database, now_of
from prd2pr.server.settings import ServerSettings

LONGEST_BACKOFF = 600.0
FORGOTTEN_SECONDS = 600.0
HELD = "id = :id AND replica = :replica AND resumed = :epoch AND state = 'open'"


def by_its_holder(change: str) -> TextClause:
    return text(f"UPDATE claims SET {change} WHERE {HELD}")  # noqa: S608 - no text but this file's own


@dataclass(frozen=True)
class Hold:
    claim: str
    replica: str
    epoch: int  # how often the claim has changed hands

    def given(self, **more: object) -> dict[str, Any]:
        return {"id": self.claim, "replica": self.replica, "epoch": self.epoch, **more}


# --- keeping ----------------------------------------------------------------------------------------------------------

KEEP = by_its_holder("lease_until = :until")
ASK = by_its_holder("asked_turn = :turn, asked_at = :now, mark = '', lease_until = :until")
NOTE = by_its_holder("mark = :mark")


def keeps(database: Database, hold: Hold, lease: float) -> bool:
    """Who slept, and whose claim was taken over, may not go on."""
    with database.writing() as connection:
        return connection.execute(KEEP, hold.given(until=now_of(connection) + lease)).rowcount == 1


def ask(database: Database, hold: Hold, turn: int, lease: float) -> bool:
    """On record, right before something is asked for; False where it may not be asked for any more."""
    with database.writing() as connection:
        now = now_of(connection)
        return connection.execute(ASK, hold.given(turn=turn, now=now, until=now + lease)).rowcount == 1


def note(database: Database, hold: Hold, mark: str) -> bool:
    """What the asking was answered with."""
    with database.writing() as connection:
        return connection.execute(NOTE, hold.given(mark=mark)).rowcount == 1


SIGN = text("UPDATE claims SET lease_until = :until WHERE id = :id AND replica = :me AND state = 'open'")
SEEN = text(
    """INSERT INTO replicas (id, started_at, seen_at) VALUES (:me, :now, :now)
       ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"""
)


def give_signs(database: Database, replica: str, lease: float, in_hand: Collection[str]) -> None:
    """For the claims that are really being worked on: one that this replica has lost sight of becomes another's."""
    with database.writing() as connection:
        now = now_of(connection)
        for claim in sorted(in_hand):
            connection.execute(SIGN, {"until": now + lease, "id": claim, "me": replica})
        connection.execute(SEEN, {"me": replica, "now": now})
        old = now - 10 * max(lease, FORGOTTEN_SECONDS / 10)
        connection.execute(text("DELETE FROM replicas WHERE seen_at < :old"), {"old": old})


# --- changing hands ---------------------------------------------------------------------------------------------------

LEFT = text(
    "SELECT id, resumed FROM claims WHERE state = 'open' AND lease_until < :now ORDER BY lease_until LIMIT :most"
)
TAKE_OVER = text(
    """UPDATE claims SET replica = :replica, resumed = resumed + 1, lease_until = :until
       WHERE id = :id AND resumed = :seen AND state = 'open' AND lease_until < :now"""
)


def take_over(database: Database, replica: str, lease: float, most: int, in_hand: Collection[str] = ()) -> list[Hold]:
    """Up to `most` claims whose holder gives no signs any more.
    `in_hand`: those that this very replica works on, however slow it is."""
    if most <= 0:
        return []
    with database.reading() as connection:
        given = {"now": now_of(connection), "most": most + len(in_hand)}
        left = [each for each in connection.execute(LEFT, given).all() if each.id not in in_hand][:most]
    if not left:
        return []
    with database.writing() as connection:
        return [
            Hold(each.id, replica, each.resumed + 1)
            for each in sorted(left)
            if _taken_over(connection, each.id, each.resumed, replica, lease)
        ]


def _taken_over(connection: Connection, claim: str, seen: int, replica: str, lease: float) -> bool:
    now = now_of(connection)
    given = {"id": claim, "seen": seen, "replica": replica, "now": now, "until": now + lease}
    return connection.execute(TAKE_OVER, given).rowcount == 1


def let_go(database: Database, replica: str) -> None:
    """At a stop that was asked for: nobody has to wait until the signs stop."""
    with database.writing() as connection:
        connection.execute(
            text("UPDATE claims SET replica = '', lease_until = 0 WHERE replica = :me AND state = 'open'"),
            {"me": replica},
        )
        connection.execute(text("DELETE FROM replicas WHERE id = :me"), {"me": replica})


def all_are_gone(database: Database, in_hand: Collection[str]) -> int:
    """For a database that nobody else works on: whoever holds something is dead. How many claims that frees."""
    with database.writing() as connection:
        held = connection.execute(text("SELECT id FROM claims WHERE state = 'open' AND replica <> ''")).scalars()
        left = [each for each in held if each not in in_hand]
        for each in left:
            freed = text("UPDATE claims SET replica = '', lease_until = 0 WHERE id = :id AND state = 'open'")
            connection.execute(freed, {"id": each})
        return len(left)


# --- closing ----------------------------------------------------------------------------------------------------------

CLOSE = by_its_holder("state = :state, effect = :effect, error = :error, closed_at = :now")
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
ALL_DEAD = text(
    "UPDATE deliveries SET state = 'dead', reason = :error, settled_at = :now WHERE claim = :id AND state = 'taken'"
)
PUT_OFF = by_its_holder("replica = '', lease_until = :later, error = :error")
ONE_MORE = text("UPDATE deliveries SET attempts = attempts + 1 WHERE claim = :id AND state = 'taken'")
TRIED = text("SELECT coalesce(max(attempts - forgiven), 1) FROM deliveries WHERE claim = :id AND state = 'taken'")


def settle(database: Database, hold: Hold, effect: str) -> bool:
    """All of its deliveries are done. False where the claim is another's by now."""
    with database.writing() as connection:
        now = now_of(connection)
        if connection.execute(CLOSE, hold.given(state="done", effect=effect, error="", now=now)).rowcount != 1:
            return False
        connection.execute(DONE, {"id": hold.claim, "effect": effect, "now": now})
        return True


def fail(database: Database, hold: Hold, error: str, settings: ServerSettings) -> bool:
    """Its deliveries wait for their next try, or are dead letters where they had all of theirs."""
    error = error[:2000]
    with database.writing() as connection:
        now = now_of(connection)
        if connection.execute(CLOSE, hold.given(state="failed", effect="", error=error, now=now)).rowcount != 1:
            return False
        later = now + _backoff(connection, hold.claim, settings)
        connection.execute(DEAD, {"id": hold.claim, "error": error, "now": now, "most": settings.attempts})
        connection.execute(AGAIN, {"id": hold.claim, "error": error, "later": later})
        return True


def put_off(database: Database, hold: Hold, error: str, settings: ServerSettings) -> bool:
    """Nobody knows whether what was asked for was done. The claim stays as it is, with its marks, and is anybody's
    later; where it had all of its tries, a person decides."""
    error = error[:2000]
    with database.writing() as connection:
        now = now_of(connection)
        if int(connection.execute(TRIED, {"id": hold.claim}).scalar_one()) >= settings.attempts:
            if connection.execute(CLOSE, hold.given(state="failed", effect="", error=error, now=now)).rowcount != 1:
                return False
            connection.execute(ALL_DEAD, {"id": hold.claim, "error": error, "now": now})
            return True
        later = now + _backoff(connection, hold.claim, settings)
        if connection.execute(PUT_OFF, hold.given(later=later, error=error)).rowcount != 1:
            return False
        connection.execute(ONE_MORE, {"id": hold.claim})
        return True


def _backoff(connection: Connection, claim: str, settings: ServerSettings) -> float:
    tried = int(connection.execute(TRIED, {"id": claim}).scalar_one())
    return float(min(LONGEST_BACKOFF, settings.backoff_seconds * 2.0 ** (tried - 1)))
