"""Orders on record are followed each on its own: none keeps another from being looked at, or loses its place to one."""

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
from prd2pr.server.orders.store import OrderRecord, find_order, list_open_orders, settle_order
from prd2pr.server.orders.submission import InboxOrderQueue
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.order_tracking import MAX_RUNS, OrderTracker
from prd2pr.state.server_commands import MAX_COMMANDS_PER_EVENT, ServerCommand

REPO = "octo/calc"


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[ServerContext]:
    opened = open_database(f"sqlite:///{tmp_path}/s.db")
    yield ServerContext(ServerSettings(), opened)
    opened.close()


def ordered(parts: ServerContext, number: int) -> str:
    at = format_utc(datetime.now(UTC))
    order = ServerCommand(id=f"{number:016x}", prd="calc", verb="tdd retry", story=f"calc-{number}", by="ops", at=at)
    row = {"key": str(number), "token": "t", "name": "ops", "subject": f"{REPO}:calc-{number}", "repo": REPO}
    with parts.database.writing() as connection:
        assert insert_request(connection, row, order)
        InboxOrderQueue(parts).place(connection, REPO, order)
    return order.id


def runs_began(database: Database) -> None:
    """For all that waits, and they have ended by the next look."""
    with database.writing() as connection:
        connection.execute(text("UPDATE deliveries SET state = 'done'"))
        connection.execute(text("UPDATE asked SET look_at = 0"))


def stands(parts: ServerContext, order: str) -> OrderRecord:
    with parts.database.reading() as connection:
        found = find_order(connection, order)
    assert found is not None
    return found


def test_an_order_that_cannot_be_read_is_given_up_and_the_next_one_is_looked_at(parts: ServerContext) -> None:
    unread, good = ordered(parts, 1), ordered(parts, 2)
    with parts.database.writing() as connection:
        asked = text('UPDATE asked SET ordered = \'{"of": "another version"}\' WHERE id = :id')
        connection.execute(asked, {"id": unread})
    runs_began(parts.database)
    assert OrderTracker(parts).poll() == 2
    assert stands(parts, unread).state == "failed" and "cannot be read" in stands(parts, unread).answer
    assert stands(parts, good).tries == 2, "its run ended without it"


def test_whoever_waits_behind_all_that_one_run_takes_is_not_given_up_for_it(parts: ServerContext) -> None:
    orders = [ordered(parts, number) for number in range(1, MAX_COMMANDS_PER_EVENT * (MAX_RUNS + 2))]
    while still := list_open_orders(parts.database, REPO):
        runs_began(parts.database)
        for each in still:
            settle_order(parts.database, each.id, "done")
        while OrderTracker(parts).poll():
            pass
    assert {stands(parts, each).state for each in orders} == {"done"}
