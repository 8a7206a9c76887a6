"""Deliveries and claims by hand, and time that passes when a test says so."""

from __future__ import annotations

from sqlalchemy import text

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.database import Database
from prd2pr.server.inbox.store import InboxDelivery, store_deliveries
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work import claims
from prd2pr.server.work.leases import Lease

SETTINGS = ServerSettings(lease_seconds=60, backoff_seconds=0.01, attempts=3, rate_per_minute=100)


def delivered(database: Database, *guids: str, lane: str = "octo/calc", said: str = "") -> None:
    store_deliveries(
        database, [InboxDelivery(guid, "push", b"{}", 1.0, DeliverySummary(lane, comment_refs=said)) for guid in guids]
    )


def opened(database: Database, replica: str = "one", most: int = 5, settings: ServerSettings = SETTINGS) -> list[Lease]:
    return claims.open_claims(database, replica, settings, most)


def held(database: Database, guid: str, replica: str = "one") -> Lease:
    """A delivery that waits, and is taken at once."""
    delivered(database, guid)
    (hold,) = opened(database, replica)
    return hold


def leases_run_out(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE claims SET lease_until = 1"))


def it_was_long_ago(database: Database) -> None:
    """That anything was asked for."""
    with database.writing() as connection:
        connection.execute(text("UPDATE claims SET asked_at = 1"))


def backoff_is_over(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE deliveries SET not_before = 0"))
