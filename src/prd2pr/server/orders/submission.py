"""Submit an order as an inbox delivery, in the transaction that records it.

The worker processes it like any delivery.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import Connection, text

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.app import ServerContext
from prd2pr.server.database import read_database_time
from prd2pr.server.inbox.store import InboxDelivery, insert_deliveries
from prd2pr.state.orders import Order, format_orders

ORDER_EVENT = "workflow_dispatch"  # the event name that jobs and local processes receive


@dataclass(frozen=True)
class InboxOrderQueue:
    """Accepts orders; stored in `app.state.orders` if the server has a worker."""

    context: ServerContext

    def place(self, connection: Connection, repo: str, order: Order) -> None:
        """Queue the order in the transaction that records it."""
        submit_order(connection, repo, order, 1)

    def wake(self) -> None:
        """Wake the worker. Call this after that transaction has been committed."""
        self.context.work_available.set()


def submit_order(connection: Connection, repo: str, order: Order, turn: int) -> None:
    """Queue an order.

    Each turn has a separate delivery. The branch records the order's id, so a later turn detects that an earlier one
    executed it.
    """
    name, now = f"order-{order.id}.{turn}", read_database_time(connection)
    insert_deliveries(connection, [make_own_delivery(name, repo, now, orders=format_orders([order]))])
    connection.execute(
        text("UPDATE asked SET delivery = :name, tries = :turn WHERE id = :id"),
        {"name": name, "turn": turn, "id": order.id},
    )


def make_own_delivery(name: str, repository: str, now: float, **inputs: str) -> InboxDelivery:
    """Make a delivery in GitHub's format, so that workers read all deliveries in the same way."""
    payload = {"repository": {"full_name": repository}, "inputs": {"delivery": name, "said": "", **inputs}}
    return InboxDelivery(name, ORDER_EVENT, json.dumps(payload).encode(), now, DeliverySummary(repository))
