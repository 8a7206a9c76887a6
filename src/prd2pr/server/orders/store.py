"""Orders in the database, with their requester and state.

The order's delivery in the inbox shows whether a run has received it. The outcome is written once, by the first process
that determines it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import ValidationError
from sqlalchemy import Connection, RowMapping, String, bindparam, text

from prd2pr.server.database import Database
from prd2pr.server.event_log import announce
from prd2pr.state.orders import MAX_ORDERS_PER_EVENT, Order
from prd2pr.views.board.prds import count_seconds_between

# waiting: not passed to a run yet; given: a run has it; failed: no run could execute it
OrderState = Literal["waiting", "given", "done", "refused", "failed"]
OrderOutcome = Literal["done", "refused", "failed"]
MAX_ANSWER_LENGTH = 8_000

SELECT_ORDERS = """SELECT asked.id, asked.repo, asked.command, asked.subject, asked.name AS "by", asked.why, asked.at,
            asked.ordered, asked.tries, asked.outcome, asked.answer, asked.url, asked.settled_at,
            coalesce(deliveries.state, '') AS delivered, coalesce(deliveries.reason, '') AS effect
          FROM asked LEFT JOIN deliveries ON deliveries.guid = asked.delivery"""


@dataclass(frozen=True)
class OrderRecord:
    """An order with its current state."""

    id: str
    repo: str
    command: str
    subject: str
    by: str
    why: str
    at: str
    order: Order | None  # None if it is unreadable or was recorded by a version that could not submit orders
    tries: int
    outcome: str
    answer: str
    url: str
    settled_at: str
    delivered: str  # the state of its delivery; empty if there is none
    effect: str  # the mark of the run that has it, or the reason why there is no run

    @property
    def state(self) -> OrderState:
        if self.outcome in ("done", "refused", "failed"):
            return self.outcome  # type: ignore[return-value]  # it is one of these
        return "given" if self.delivered == "done" else "waiting"


@dataclass(frozen=True)
class OrderTry:
    """A delivery of an order to a run, which may be repeated."""

    order: str
    tries: int

    @property
    def name(self) -> str:
        return f"check-{self.order}.{self.tries}"


def parse_order_row(row: RowMapping) -> OrderRecord:
    fields = dict(row)
    ordered = fields.pop("ordered")
    try:
        order = Order.model_validate_json(ordered) if ordered else None
    except ValidationError:
        order = None
    return OrderRecord(**fields, order=order)


# --- reading ----------------------------------------------------------------------------------------------------------


def find_order(connection: Connection, order: str) -> OrderRecord | None:
    row = connection.execute(text(f"{SELECT_ORDERS} WHERE asked.id = :id"), {"id": order}).mappings().first()
    return parse_order_row(row) if row is not None else None


def list_orders(
    database: Database, limit: int, *, repo: str = "", subjects: Sequence[str] = ()
) -> tuple[OrderRecord, ...]:
    """Return orders, newest first, optionally limited to one repository or the given subjects."""
    query = text(
        f"""{SELECT_ORDERS} WHERE (:repo = '' OR lower(asked.repo) = lower(:repo))
              AND (:any = 1 OR asked.subject IN :subjects)
            ORDER BY asked.at DESC, asked.id LIMIT :most"""
    ).bindparams(bindparam("subjects", expanding=True, type_=String))
    given = {"repo": repo, "any": int(not subjects), "subjects": list(subjects), "most": limit}
    with database.reading() as connection:
        return tuple(parse_order_row(row) for row in connection.execute(query, given).mappings())


def list_open_orders(database: Database, repo: str) -> tuple[Order, ...]:
    """Return a repository's open orders, oldest first.

    A run receives all of them and skips those it has already handled.
    """
    query = f"""{SELECT_ORDERS} WHERE asked.repo = :repo AND asked.outcome = '' AND asked.ordered <> ''
                ORDER BY asked.at, asked.id LIMIT :most"""
    with database.reading() as connection:
        rows = connection.execute(text(query), {"repo": repo, "most": MAX_ORDERS_PER_EVENT}).mappings()
        return tuple(order for row in rows if (order := parse_order_row(row).order) is not None)


def list_unsettled_tries(database: Database) -> list[OrderTry]:
    """Return the orders without an outcome whose delivery was processed or dead-lettered."""
    query = text(
        """SELECT asked.id, asked.tries FROM asked LEFT JOIN deliveries ON deliveries.guid = asked.delivery
           WHERE asked.outcome = '' AND asked.ordered <> ''
             AND coalesce(deliveries.state, 'dead') NOT IN ('waiting', 'taken')"""
    )
    with database.reading() as connection:
        return [OrderTry(*row) for row in connection.execute(query)]


# --- writing ----------------------------------------------------------------------------------------------------------

SETTLE_ORDER = text(
    """UPDATE asked SET outcome = :outcome, answer = :answer, url = :url, settled_at = :now, told = :outcome
       WHERE id = :id AND outcome = ''"""
)


def settle_order(database: Database, order: str, outcome: OrderOutcome, answer: str = "", url: str = "") -> bool:
    """Record the outcome of an order; return False if it already has one."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    given = {"id": order, "outcome": outcome, "answer": answer[:MAX_ANSWER_LENGTH], "url": url, "now": now}
    with database.writing() as connection:
        if connection.execute(SETTLE_ORDER, given).rowcount != 1:
            return False
        announce_order_state(connection, order)
        return True


def mark_order_given(database: Database, order: str) -> None:
    """Record and announce that a run has received the order. Repeating it has no effect."""
    with database.writing() as connection:
        query = text("UPDATE asked SET told = 'given' WHERE id = :id AND told = 'waiting' AND outcome = ''")
        if connection.execute(query, {"id": order}).rowcount == 1:
            announce_order_state(connection, order)


def announce_order_state(connection: Connection, order: str) -> None:
    """Announce an order's state, in the transaction that changes it."""
    it = find_order(connection, order)
    if it is not None:
        data = {"order": it.id, "command": it.command, "subject": it.subject, "state": it.state, "answer": it.answer}
        seconds = count_seconds_between(it.at, it.settled_at)  # 0 before its outcome
        announce(connection, "order_state_changed", it.repo, {**data, "seconds": seconds})
