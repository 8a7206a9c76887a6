"""Orders for a repository on the server's own machine: the same workflow in a separate process, without a code host."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from pydantic import ValidationError

from prd2pr.cli.local_orders import run_orders
from prd2pr.client import Client
from prd2pr.server.api.authentication import get_utc_now
from prd2pr.server.api.tokens import create_token
from prd2pr.server.database import open_database
from prd2pr.server.token_scopes import Scope
from prd2pr.state.orders import Order
from server.app_world import wait_until
from server.server_process import running_server
from world import World

REPO = "demo/calc"


def token_in(database: str) -> str:
    opened = open_database(database)
    try:
        return create_token(opened, "demo", Scope.OPERATE, (REPO,), days=None, now=get_utc_now()).token
    finally:
        opened.close()


@pytest.mark.slow
def test_a_retry_is_committed_and_an_impossible_order_is_answered_like_a_comment(tmp_path: Path) -> None:
    world, url = World(tmp_path).start(), f"sqlite:///{tmp_path}/s.db"
    assert [world.next().status for _ in range(2)] == [0, 0]
    token = token_in(url)
    with (
        running_server(url, repositories=f"{REPO}={world.repo}", orders_here=True) as server,
        Client(server.url, token) as client,
    ):
        wait_until(lambda: any(True for _ in client.tasks()), 120)
        order = client.retry(f"{REPO}:calc-1", why="once more")
        wait_until(lambda: bool(client.order(order.id).settled_at), 120)
        assert client.order(order.id).state == "done", server.log.read_text()
        assert world.subjects()[-1].startswith("note(calc-1): /tdd retry calc-1 by the token demo through this server")
        # As if the server had been killed before it recorded the result.
        with sqlite3.connect(tmp_path / "s.db", timeout=30) as database:
            database.execute("UPDATE asked SET outcome = '', settled_at = ''")
        wait_until(lambda: bool(client.order(order.id).settled_at), 150)  # lost work is looked for once a minute
        assert client.order(order.id).state == "done" and len(world.subjects()) == 3
        world.git("checkout", "-q", "prd2pr/calc")
        second = client.retry(f"{REPO}:calc-1", idempotency_key="checked-out")
        wait_until(lambda: bool(client.order(second.id).settled_at), 120)
        refused = client.order(second.id)
        assert refused.state == "refused" and "checked out" in refused.answer, refused
        world.git("checkout", "-q", "main")
    assert world.verify().status == 0


@pytest.mark.slow
@pytest.mark.parametrize("setup", [True, False])
def test_an_order_runs_no_program_of_the_repository(tmp_path: Path, setup: bool) -> None:
    """Neither its set-up nor its interpreter nor its toolchain, since they could read the App's key."""
    world, canary = World(tmp_path).start(), tmp_path / "canary"
    assert world.next().status == 0
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {canary}\nexit 1\n")
    program.chmod(0o755)
    python = world.repo / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(program)
    page = f"page:\n  command: [{program}]\nsandbox: off\n"
    world.write({".prd2pr.yml": page + (f"setup: [{program}]\n" if setup else f"test: {{python: {program}}}\n")})
    world.commit("hostile settings")
    at = get_utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
    order = Order(id="a" * 16, prd="calc", verb="tdd retry", story="calc-1", by="ops", at=at)
    (result,) = run_orders(str(world.repo), (order,))
    assert not canary.exists()
    assert result.id == order.id


@pytest.mark.slow
def test_an_order_for_a_prd_without_a_branch_blocks_no_other(tmp_path: Path) -> None:
    world, at = World(tmp_path).start(), get_utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert world.next().status == 0
    gone = Order(id="a" * 16, prd="gone", verb="tdd retry", story="gone-1", by="ops", at=at)
    there = Order(id="b" * 16, prd="calc", verb="tdd retry", story="calc-1", by="ops", at=at)
    told = {each.id: each for each in run_orders(str(world.repo), (gone, there))}
    assert told[gone.id].outcome == "refused" and "PRD 'gone'" in told[gone.id].answer
    assert there.id in told and "no branch" not in told[there.id].answer


def test_decisions_are_recorded_and_work_is_left_to_a_terminal(tmp_path: Path) -> None:
    world = World(tmp_path).start()
    assert world.next().status == 0

    def order(number: int, line: str) -> Order:
        at = get_utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
        return Order(id=f"{number:016x}", prd="calc", verb="command", line=line, by="demo", at=at)

    (paused,) = run_orders(str(world.repo), (order(1, "/sprint pause"),))
    assert paused.outcome == "done", paused
    assert world.subjects()[-1] == "note(plan): /sprint pause by the token demo through this server"
    head = world.git("rev-parse", world.branch)
    for number, line in enumerate(("/tdd run", "/state"), 2):
        (result,) = run_orders(str(world.repo), (order(number, line),))
        assert result.outcome == "refused" and f"prd2pr command {line}" in result.answer
    with pytest.raises(ValidationError):
        order(9, "hello")
    assert world.git("rev-parse", world.branch) == head
