"""Two replicas on one PostgreSQL: each event is announced once, and in the order of the ids."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import binaries, postgres
from sqlalchemy import text
from state_repo import OPEN, StateRepo, refresh_all

from prd2pr.server.database import Database, open_database
from prd2pr.server.event_log import announce
from prd2pr.server.projection.reader import ProjectionReader
from prd2pr.server.projection.service import ProjectionUpdater, clear_projection


@pytest.fixture
def replicas() -> Iterator[tuple[Database, Database]]:
    if binaries() is None:
        pytest.skip("PostgreSQL is not on this machine")
    with postgres(durable=False) as url:
        both = (open_database(url), open_database(url))
        yield both
        for each in both:
            each.close()


def at_once(*tasks: object) -> None:
    threads = [threading.Thread(target=task) for task in tasks]  # type: ignore[arg-type]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


@pytest.mark.slow
def test_both_replicas_read_and_one_announces(replicas, tmp_path):
    repo = StateRepo(tmp_path / "r")
    repo.put("shop", {"shop-1": "in_progress"})
    looks = [ProjectionUpdater(each, {"octo/shop": repo.path}, Path("nowhere")) for each in replicas]
    refresh_all(looks[0])
    repo.put("shop", {"shop-1": "blocked"}, circuits=[OPEN])
    at_once(*(lambda look=look: refresh_all(look) for look in looks))
    with replicas[0].reading() as connection:
        kinds = connection.execute(text("SELECT kind FROM events ORDER BY id")).scalars().all()
    assert kinds == ["task_status_changed", "circuit_state_changed"]
    first, second = (ProjectionReader(each, lambda: "2026-11-17T12:00:00Z") for each in replicas)
    assert first.projects() == second.projects() and first.story("octo/shop", "shop-1") is not None
    clear_projection(replicas[1])
    assert first.projects() == ()


def test_events_become_visible_in_the_order_of_their_ids(replicas):
    seen: list[int] = []
    writing = [True]

    def write(database: Database) -> None:
        for _ in range(60):
            with database.writing() as connection:
                announce(connection, "worker_heartbeat", "", {})

    def look() -> None:
        while True:
            last_look = not writing[0]
            with replicas[0].reading() as connection:
                after = {"after": seen[-1] if seen else 0}
                seen.extend(
                    connection.execute(text("SELECT id FROM events WHERE id > :after ORDER BY id"), after).scalars()
                )
            if last_look:
                return

    looking = threading.Thread(target=look)
    looking.start()
    at_once(*(lambda each=each: write(each) for each in (*replicas, *replicas)))
    writing[0] = False
    looking.join()
    assert len(seen) == 240
