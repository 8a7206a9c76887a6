"""Lost work is found: a fifth of all deliveries never arrives, and some branches are stuck."""

from __future__ import annotations

import json
import random
import time

import httpx
import pytest
from sqlalchemy import text

from fakes.github import serve
from fakes.github.state import Delivery
from prd2pr.domain.records import ProjectState, Status
from prd2pr.github.client.app_deliveries import DeliveryAttempt, list_failed_deliveries
from prd2pr.server.app import ServerContext
from prd2pr.server.database import open_database
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.hubs import HubPool
from prd2pr.server.work.sweep import Sweeper, is_branch_stuck
from prd2pr.state.codec import encode_document
from server.app_world import AppWorld, is_settled, states, wait_until
from server.server_process import comment_payload, headers_of, running_server

NAMES = ("octo/one", "octo/two", "octo/three")
ORDERED = Status(state=ProjectState.SPRINT_ACTIVE, order="run")


class WebhookSender:
    """GitHub's side of the webhook: it attempts once, records the result, and tries again only on request."""

    def __init__(self, world: AppWorld, url: str, client: httpx.Client) -> None:
        self.world, self.url, self.client = world, url, client

    def attempt(self, guid: str, event: str, body: bytes, *, dropped: bool = False, redelivery: bool = False) -> None:
        state, status = self.world.fake.state, 0
        if not dropped:
            headers = headers_of(body, guid, event)
            status = self.client.post(f"{self.url}/webhook", content=body, headers=headers).status_code
        made = Delivery(self.world.fake.new_id(), guid, event, body, time.time() - 60, status or 502, redelivery)
        with self.world.fake.lock:
            state.deliveries.append(made)

    def follow(self) -> None:
        """Attempt again what was requested again."""
        with self.world.fake.lock:
            asked, self.world.fake.state.redeliver = self.world.fake.state.redeliver, []
            rows = [row for row in self.world.fake.state.deliveries if row.id in asked]
        for row in rows:
            self.attempt(row.guid, row.event, row.payload, redelivery=True)


@pytest.mark.slow
def test_the_sweep_recovers_a_fifth_of_all_deliveries(tmp_path):
    world, url, draw = AppWorld(tmp_path, NAMES), f"sqlite:///{tmp_path}/s.db", random.Random(7)
    settings = {"sweep_minutes": 0.01, "rate_per_minute": 1000}
    with (
        serve(world.fake) as github,
        running_server(url, **settings, **world.settings(github)) as server,
        httpx.Client(timeout=120) as client,
    ):
        hook, dropped, database = WebhookSender(world, server.url, client), 0, open_database(url)
        for at in range(100):
            is_dropped = draw.random() < 0.2
            dropped += is_dropped
            wanted = at % 4 == 0
            payload = comment_payload(draw.choice(NAMES), 1 + at, "/tdd next" if wanted else "thanks")
            hook.attempt(f"d-{at}", "issue_comment", json.dumps(payload).encode(), dropped=is_dropped)

        def all_there() -> bool:
            hook.follow()
            return sum(states(database).values()) >= 100 and is_settled(database)

        wait_until(all_there, seconds=240)
        assert 10 < dropped < 30
        assert states(database) == {"done": 25, "ignored": 75}
        said = {part.partition("@")[0] for name in NAMES for row in world.dispatches(name)
                for part in row.inputs["said"].split(",")}  # fmt: skip
        assert said == {str(1 + at) for at in range(0, 100, 4)}
        database.close()
    assert world.fake.violations == []


def test_redelivery_is_requested_only_if_no_attempt_arrived_and_not_forever():
    log = [
        DeliveryAttempt(5, "twice-lost", 50, arrived=False),
        DeliveryAttempt(4, "mended", 40, arrived=True),
        DeliveryAttempt(3, "twice-lost", 30, arrived=False),
        DeliveryAttempt(2, "mended", 20, arrived=False),
        DeliveryAttempt(1, "lost", 10, arrived=False),
    ]
    assert [each.id for each in list_failed_deliveries(log, most=3)] == [1, 5]
    assert [each.id for each in list_failed_deliveries(log, most=2)] == [1]


@pytest.fixture
def sweeping(tmp_path):
    world, database = AppWorld(tmp_path), open_database(f"sqlite:///{tmp_path}/s.db")
    with serve(world.fake) as github:
        hubs = HubPool(ServerSettings(**world.settings(github) | {"app_id": str(world.app.id)}))
        yield world, Sweeper(ServerContext(hubs.settings, database), hubs), database
        hubs.close()
    database.close()
    assert world.fake.violations == []


def found(database) -> list[tuple[str, str, str]]:
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(text("SELECT guid, lane, state FROM deliveries"))]


@pytest.mark.slow
def test_a_stuck_branch_with_an_order_is_put_into_the_inbox_once(sweeping):
    world, sweep, database = sweeping
    state = {".orch-state/prds/calc/status.json": encode_document(ORDERED).decode()}
    sha = world.write("octo/calc", state, "prd2pr/calc")
    world.write("octo/calc", {".orch-state/prds/idle/status.json": encode_document(Status()).decode()}, "prd2pr/idle")
    world.write("octo/calc", {"README.md": "no state"}, "prd2pr/bare")
    assert sweep.sweep(time.time(), 0.0)
    assert found(database) == [(f"stuck-octo.calc-{sha}", "octo/calc", "waiting")]
    with database.writing() as connection:
        connection.execute(text("UPDATE deliveries SET state = 'done', settled_at = received_at"))
    assert sweep.sweep(time.time(), 0.0)
    assert [state for _, _, state in found(database)] == ["done"]


@pytest.mark.slow
def test_a_branch_with_an_active_run_is_left_alone(sweeping):
    world, sweep, database = sweeping
    world.write("octo/calc", {".orch-state/prds/calc/status.json": encode_document(ORDERED).decode()}, "prd2pr/calc")
    world.fake.repo("octo/calc").at_work.add(77)
    assert sweep.sweep(time.time(), 0.0) and found(database) == []


def test_only_a_branch_with_an_order_and_no_progress_is_stuck():
    def stuck(status: Status, *, moved: float = 0.0, at_work: bool = False) -> bool:
        return is_branch_stuck(status, moved, 100.0, after=60.0, at_work=at_work)

    assert stuck(ORDERED)
    assert not stuck(ORDERED, moved=50.0)
    assert not stuck(ORDERED, at_work=True)
    assert not stuck(ORDERED.model_copy(update={"halted": True}))
    assert not stuck(ORDERED.model_copy(update={"state": ProjectState.BLOCKED}))
    assert not stuck(Status(state=ProjectState.SPRINT_ACTIVE))
