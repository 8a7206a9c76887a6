"""Deliveries in the database. A delivery is known by GitHub's id for it, and is there once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from prd2pr.core.intake import Intake
from prd2pr.server.database import Database


@dataclass(frozen=True)
class Delivery:
    guid: str
    event: str
    body: bytes
    received_at: float
    intake: Intake


# One that was given up and comes again, by hand or by a sweep, is tried again. Any other is there already: what was
# processed is not processed again, and what was not is waiting.
STORE = """
INSERT INTO deliveries (guid, event, lane, said, received_at, body, state, reason, settled_at)
VALUES ({marks})
ON CONFLICT (guid) DO UPDATE
SET state = 'waiting', body = excluded.body, forgiven = deliveries.attempts, not_before = 0, claim = '', reason = '',
    settled_at = NULL
WHERE deliveries.state = 'dead'
"""


def store(database: Database, deliveries: Sequence[Delivery]) -> None:
    """All of them in one transaction; on the disk when this returns."""
    with database.writing() as connection:
        store_in(connection, deliveries)


def store_in(connection: Connection, deliveries: Sequence[Delivery]) -> None:
    # In the order of their ids: two replicas that store the same ones never wait for each other in a circle.
    rows = [_row(each) for each in sorted(deliveries, key=lambda each: each.guid)]
    # By the driver itself: this is the way that every delivery waits for.
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    connection.exec_driver_sql(STORE.format(marks=", ".join([mark] * len(rows[0]))), rows)


def _row(delivery: Delivery) -> tuple[object, ...]:
    intake = delivery.intake
    settled = bool(intake.ignored)
    return (
        delivery.guid,
        delivery.event,
        intake.lane,
        intake.said,
        delivery.received_at,
        None if settled else delivery.body,
        "ignored" if settled else "waiting",
        intake.ignored,
        delivery.received_at if settled else None,
    )


def counts(connection: Connection) -> dict[str, int]:
    """How many deliveries are in which state."""
    rows = connection.execute(text("SELECT state, count(*) FROM deliveries GROUP BY state"))
    return {str(state): int(number) for state, number in rows}


def known(connection: Connection, guids: Sequence[str]) -> set[str]:
    """Those of the ids that are stored, in whatever state but dead."""
    found: set[str] = set()
    for start in range(0, len(guids), 500):
        part = guids[start : start + 500]
        marks = {f"g{at}": guid for at, guid in enumerate(part)}
        listed = ", ".join(f":{name}" for name in marks)
        asked = text(f"SELECT guid FROM deliveries WHERE state <> 'dead' AND guid IN ({listed})")  # noqa: S608 - names only
        found.update(connection.execute(asked, marks).scalars())
    return found


def forget(connection: Connection, before: float) -> int:
    """Rows of what was settled long ago: GitHub does not deliver them again any more."""
    return connection.execute(text("DELETE FROM deliveries WHERE settled_at < :before"), {"before": before}).rowcount
