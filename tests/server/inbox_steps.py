"""Deliveries stored directly, and batches taken without an engine."""

from __future__ import annotations

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.database import Database
from prd2pr.server.inbox.store import InboxDelivery, store_deliveries
from prd2pr.server.work.batches import BatchKey, list_waiting, take_batch


def add_deliveries(database: Database, *guids: str, lane: str = "octo/calc", said: str = "") -> None:
    store_deliveries(
        database, [InboxDelivery(guid, "push", b"{}", 1.0, DeliverySummary(lane, comment_refs=said)) for guid in guids]
    )


def take_next(database: Database, lane: str = "octo/calc") -> BatchKey:
    """Take the next batch of a repository."""
    (key,) = (each for each in list_waiting(database) if each.lane == lane)
    assert take_batch(database, key)
    return key
