"""An order becomes a delivery of our own: durable with its record, and from there on its way is that of all others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, text

from prd2pr.core.intake import Intake
from prd2pr.core.orders import Order, written_orders
from prd2pr.server.app import Parts
from prd2pr.server.database import now_of
from prd2pr.server.inbox.store import Delivery, store_in

EVENT = "workflow_dispatch"  # what a job is told of it; the local pool tells its processes the same


class Orders(Protocol):
    """Who takes orders. `app.state.orders` is one, where somebody does the work."""

    def place(self, connection: Connection, repo: str, order: Order) -> None:
        """In the transaction in which it is put on record: durable with it, carried out after it."""
        ...

    def wake(self) -> None:
        """After that transaction."""
        ...


@dataclass(frozen=True)
class Placing:
    parts: Parts

    def place(self, connection: Connection, repo: str, order: Order) -> None:
        place_again(connection, repo, order, 1)

    def wake(self) -> None:
        self.parts.news.set()


def place_again(connection: Connection, repo: str, order: Order, turn: int) -> None:
    """Each try has a delivery of its own; what an earlier one did is found by the order's id, on the branch."""
    name, now = f"order-{order.id}.{turn}", now_of(connection)
    store_in(connection, [own_delivery(name, repo, now, orders=written_orders([order]))])
    connection.execute(
        text("UPDATE asked SET delivery = :name, tries = :turn, looks = 0, look_at = :now WHERE id = :id"),
        {"name": name, "turn": turn, "now": now, "id": order.id},
    )


def own_delivery(name: str, repository: str, now: float, **inputs: str) -> Delivery:
    """As if GitHub had told of it: whoever does the work reads all deliveries alike."""
    payload = {"repository": {"full_name": repository}, "inputs": {"delivery": name, "said": "", **inputs}}
    return Delivery(name, EVENT, json.dumps(payload).encode(), now, Intake(repository))
