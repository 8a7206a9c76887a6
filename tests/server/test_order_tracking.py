"""Recorded orders are tracked independently: none blocks another or loses its place to one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from prd2pr.server.api.change_requests import insert_request
from prd2pr.server.api.tokens import format_utc
from prd2pr.server.app import ServerContext
from prd2pr.server.database import Database, open_database
from prd2pr.server.orders.store import (
    OrderRecord,
    find_order,
    list_open_orders,
    list_unsettled_tries,
    settle_order,
)
from prd2pr.server.orders.submission import InboxOrderQueue
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.order_tracking import MAX_RUNS, OrderTracker
from prd2pr.state.orders import MAX_ORDERS_PER_EVENT, Order

REPO = "octo/calc"


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ServerContext]:
    opened = open_database(f"sqlite:///{tmp_path}/s.db")
    yield ServerContext(ServerSettings(), opened)
    opened.close()


def add_order(context: ServerContext, number: int) -> str:
    at = format_utc(datetime.now(UTC))
    order = Order(id=f"{number:016x}", prd="calc", verb="tdd retry", story=f"calc-{number}", by="ops", at=at)
    row = {"key": str(number), "token": "t", "name": "ops", "subject": f"{REPO}:calc-{number}", "repo": REPO}
    with context.database.writing() as connection:
        assert insert_request(connection, row, order)
        InboxOrderQueue(context).place(connection, REPO, order)
    return order.id


def finish_runs(database: Database) -> None:
    """Let the runs of all waiting deliveries have ended by the next check."""
    with database.writing() as connection:
        connection.execute(text("UPDATE deliveries SET state = 'done'"))


def check_all(context: ServerContext) -> list[bool]:
    """Check all orders that are due; for each, whether nothing more is to be checked."""
    tracker = OrderTracker(context)
    return [tracker.check(each.order, each.tries) for each in list_unsettled_tries(context.database)]


def read_order(context: ServerContext, order: str) -> OrderRecord:
    with context.database.reading() as connection:
        found = find_order(connection, order)
    assert found is not None
    return found


def test_an_unreadable_order_fails_and_the_next_one_is_tracked(context: ServerContext) -> None:
    unread, good = add_order(context, 1), add_order(context, 2)
    with context.database.writing() as connection:
        asked = text('UPDATE asked SET ordered = \'{"of": "another version"}\' WHERE id = :id')
        connection.execute(asked, {"id": unread})
    assert check_all(context) == [], "no run has them"
    finish_runs(context.database)
    assert check_all(context) == [True, True]
    assert read_order(context, unread).state == "failed" and "cannot be read" in read_order(context, unread).answer
    assert read_order(context, good).tries == 2, "its run ended without it"


@pytest.mark.slow
def test_an_order_behind_a_full_run_is_not_given_up(context: ServerContext) -> None:
    orders = [add_order(context, number) for number in range(1, MAX_ORDERS_PER_EVENT * (MAX_RUNS + 2))]
    while still := list_open_orders(context.database, REPO):
        finish_runs(context.database)
        for each in still:
            settle_order(context.database, each.id, "done")
        while any(check_all(context)):
            pass
    assert {read_order(context, each).state for each in orders} == {"done"}
