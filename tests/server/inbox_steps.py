"""Deliveries and claims made directly, and time that passes on request."""

from __future__ import annotations

from sqlalchemy import text

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.database import Database
from prd2pr.server.inbox.store import InboxDelivery, store_deliveries
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work import claims
from prd2pr.server.work.leases import Lease

SETTINGS = ServerSettings(lease_seconds=60, backoff_seconds=0.01, attempts=3, rate_per_minute=100)


def add_deliveries(database: Database, *guids: str, lane: str = "octo/calc", said: str = "") -> None:
    store_deliveries(
        database, [InboxDelivery(guid, "push", b"{}", 1.0, DeliverySummary(lane, comment_refs=said)) for guid in guids]
    )


def open_claims(
    database: Database, replica: str = "one", most: int = 5, settings: ServerSettings = SETTINGS
) -> list[Lease]:
    return claims.open_claims(database, replica, settings, most)


def claim_delivery(database: Database, guid: str, replica: str = "one") -> Lease:
    """Store a delivery and claim it at once."""
    add_deliveries(database, guid)
    (hold,) = open_claims(database, replica)
    return hold


def expire_leases(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE claims SET lease_until = 1"))


def age_requests(database: Database) -> None:
    """Let every recorded request be old."""
    with database.writing() as connection:
        connection.execute(text("UPDATE claims SET asked_at = 1"))


def end_backoff(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE deliveries SET not_before = 0"))
