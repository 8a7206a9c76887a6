"""Deliveries in the database, unique by GitHub's delivery id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.database import Database


@dataclass(frozen=True)
class InboxDelivery:
    guid: str
    event: str
    body: bytes
    received_at: float
    summary: DeliverySummary


# A dead delivery is retried if it is redelivered by a person or a sweep. Any other duplicate is ignored.
UPSERT_DELIVERY = """
INSERT INTO deliveries (guid, event, lane, said, received_at, body, state, reason, settled_at)
VALUES ({marks})
ON CONFLICT (guid) DO UPDATE
SET state = 'waiting', body = excluded.body, forgiven = deliveries.attempts, batch = '', reason = '', settled_at = NULL
WHERE deliveries.state = 'dead'
"""


def store_deliveries(database: Database, deliveries: Sequence[InboxDelivery]) -> None:
    """Store all deliveries in one transaction. They are durable when this returns."""
    with database.writing() as connection:
        insert_deliveries(connection, deliveries)


def insert_deliveries(connection: Connection, deliveries: Sequence[InboxDelivery]) -> None:
    # Sorted by id so that two replicas storing the same deliveries cannot deadlock.
    rows = [_make_row(each) for each in sorted(deliveries, key=lambda each: each.guid)]
    # Uses the driver's own SQL for speed, because every delivery waits for this.
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    connection.exec_driver_sql(UPSERT_DELIVERY.format(marks=", ".join([mark] * len(rows[0]))), rows)


def _make_row(delivery: InboxDelivery) -> tuple[object, ...]:
    summary = delivery.summary
    settled = bool(summary.ignored)
    return (
        delivery.guid,
        delivery.event,
        summary.lane,
        summary.comment_refs,
        delivery.received_at,
        None if settled else delivery.body,
        "ignored" if settled else "waiting",
        summary.ignored,
        delivery.received_at if settled else None,
    )


def find_known_guids(connection: Connection, guids: Sequence[str]) -> set[str]:
    """Return those of the given ids that are stored and not dead."""
    found: set[str] = set()
    for start in range(0, len(guids), 500):
        part = guids[start : start + 500]
        marks = {f"g{at}": guid for at, guid in enumerate(part)}
        listed = ", ".join(f":{name}" for name in marks)
        query = text(f"SELECT guid FROM deliveries WHERE state <> 'dead' AND guid IN ({listed})")  # noqa: S608 - placeholders only
        found.update(connection.execute(query, marks).scalars())
    return found


def delete_settled_deliveries(connection: Connection, before: float) -> int:
    """Delete deliveries that were completed before the given time and that GitHub no longer redelivers."""
    return connection.execute(text("DELETE FROM deliveries WHERE settled_at < :before"), {"before": before}).rowcount
