"""An order by API, end to end: the real server over HTTP, the fake GitHub with a real repository, real runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fakes.github.events import dispatch_event
from fakes.github.faults import Calls
from github_runner import Acted
from github_world import GitHubWorld
from prd2pr.client import Client, Conflict, ServerTrouble
from prd2pr.client.models import Asked
from prd2pr.server.api.authentication import get_utc_now
from prd2pr.server.api.tokens import create_token
from prd2pr.server.database import open_database
from prd2pr.server.token_scopes import Scope
from prd2pr.server.work.order_tracking import MAX_RUNS
from server.app_world import WORKFLOW, WORKFLOW_PATH, keys, wait_until
from server.server_process import ServerProcess, running_server, start_server

pytestmark = pytest.mark.slow

TASK = "octo/calc:calc-1"
DISPATCHES = "POST /repos/octo/calc/actions/workflows/prd2pr.yml/dispatches"
WITHOUT_ORDERS = WORKFLOW.replace("      orders: {type: string}\n", "")


class Installed:
    """The repository of a world with the App installed, and the settings of its server."""

    def __init__(self, world: GitHubWorld, workflow: str = WORKFLOW, **settings: object) -> None:
        self.world, (private, public) = world, keys()
        app = world.fake.add_app("builder", "octo", public)
        world.fake.install(app, [world.name])
        world.push({WORKFLOW_PATH: workflow}, "ada")
        world.pending.clear()
        self.database = f"sqlite:///{world.root}/s.db"
        self.settings = {
            "app_id": app.id, "app_private_key": private, "github_api_url": world.url, "github_url": world.url,
            "refresh_seconds": 1, **settings,
        }  # fmt: skip
        self.acted = 0

    def token(self, scope: Scope = Scope.OPERATE, name: str = "ops") -> str:
        opened = open_database(self.database)
        try:
            return create_token(opened, name, scope, (self.world.name,), days=None, now=get_utc_now()).token
        finally:
            opened.close()

    @contextmanager
    def client(self, server: ServerProcess, token: str) -> Iterator[Client]:
        with Client(server.url, token) as client:
            try:
                wait_until(lambda: TASK in {each.key for each in client.tasks()}, 120)
            except ServerTrouble:
                raise AssertionError(server.log.read_text()) from None
            yield client

    def start(self) -> ServerProcess:
        return start_server(self.database, **self.settings)

    def running_server(self):
        return running_server(self.database, **self.settings)

    def waits_for_a_run(self) -> None:
        wait_until(lambda: len(self.world.repo.dispatches) > self.acted, 120)

    def run(self) -> Acted:
        """Run the next requested run to its end."""
        self.waits_for_a_run()
        row = self.world.repo.dispatches[self.acted]
        acted = self.world.act(dispatch_event(self.world.fake, self.world.repo, row))
        self.end()
        return acted

    def end(self) -> None:
        """End the next requested run, whatever it has done."""
        self.world.repo.ended.add(self.world.repo.dispatches[self.acted].run)
        self.acted += 1

    def notes(self) -> list[str]:
        log = self.world.bare.git("log", "--format=%s", f"main..{self.world.branch}")
        return [line for line in log.splitlines() if "/tdd retry" in line]


def finished(client: Client, order: Asked) -> Asked:
    wait_until(lambda: bool(client.order(order.id).settled_at), 120)
    return client.order(order.id)


def test_an_order_is_handed_to_a_run_executed_once_and_reported(started: GitHubWorld, verify) -> None:
    it = Installed(started)
    with it.running_server() as server, it.client(server, it.token()) as client:
        order = client.retry(TASK, why="the network was down", idempotency_key="one")
        assert (order.state, order.command, order.by) == ("waiting", "/tdd retry calc-1", "ops")
        it.waits_for_a_run()
        wait_until(lambda: client.order(order.id).state == "given", 120)
        assert client.retry(TASK, why="the network was down", idempotency_key="one").repeated
        assert it.run().status == 0
        assert finished(client, order).state == "done"
        assert [each.state for each in client.orders(subject=TASK)] == ["done"]
        # A run that is killed before it did anything: the next one gets the same order.
        second = client.retry(TASK, idempotency_key="two")
        it.waits_for_a_run()
        it.end()
        assert it.run().status == 0
        assert finished(client, second).state == "done"
        # An order that is no longer possible gets the answer that a comment would get.
        started.close(started.pull().number)
        third = client.retry(TASK, idempotency_key="three")
        it.run()
        refused = finished(client, third)
        told = started.repo.comments[max(started.repo.comments)].body
        assert refused.state == "refused" and "was closed" in refused.answer
        assert refused.answer == told.partition("\n")[2].strip() and refused.url
        with pytest.raises(Conflict):
            client.retry("octo/calc:calc-2", idempotency_key="three")
        assert reported_states(client, third.id) == ["waiting", "given", "refused"]
    assert len(it.notes()) == 2
    assert all("by the token ops through builder[bot]" in note for note in it.notes())
    assert verify(started)["all_proved"]


def reported_states(client: Client, order: str) -> list[str]:
    found: list[str] = []
    for event in client.events(after="0"):
        if event.kind == "order_state_changed" and event.data["order"] == order:
            found.append(event.data["state"])
            if found[-1] in ("done", "refused", "failed"):
                break
    return found


def test_an_order_is_dispatched_after_the_server_was_killed(started: GitHubWorld) -> None:
    it = Installed(started)
    token, killed = it.token(), []
    server = it.start()

    def kill() -> None:
        server.kill()
        killed.append(True)

    started.fake.faults.add(Calls(before=kill), DISPATCHES)
    with it.client(server, token) as client:
        order = client.retry(TASK)
        wait_until(lambda: bool(killed), 120)
    assert it.notes() == []
    with it.running_server() as again, it.client(again, token) as client:
        while len(started.repo.dispatches) > it.acted or not it.acted:
            it.run()  # the call in progress at the kill may have arrived or not
        assert finished(client, order).state == "done"
    assert len(it.notes()) == 1


def test_an_order_is_not_dropped_while_a_run_that_may_execute_it_is_active(started: GitHubWorld) -> None:
    """Three runs were dropped from their queue by others; the one that took their place is still active."""
    it = Installed(started)
    with it.running_server() as server, it.client(server, it.token()) as client:
        order = client.retry(TASK)
        it.waits_for_a_run()
        started.repo.at_work.add(999)
        before = len(started.fake.calls)
        for _ in range(MAX_RUNS):
            it.waits_for_a_run()
            it.end()
        wait_until(lambda: any(call.query.get("status") == "in_progress" for call in started.fake.calls[before:]), 120)
        assert client.order(order.id).state == "given"
        started.repo.at_work.clear()
        given_up = finished(client, order)
        assert given_up.state == "failed" and f"{MAX_RUNS} runs got this order" in given_up.answer


def test_an_outdated_workflow_file_gets_no_orders_and_the_caller_is_informed(started: GitHubWorld) -> None:
    it = Installed(started, WITHOUT_ORDERS)
    with it.running_server() as server, it.client(server, it.token()) as client:
        failed = finished(client, client.retry(TASK))
        assert failed.state == "failed" and "does not support orders" in failed.answer
        it.waits_for_a_run()
        assert [set(row.inputs) for row in started.repo.dispatches] == [{"delivery", "reason", "said"}]
        assert client.retry(TASK, idempotency_key="again").id != failed.id
