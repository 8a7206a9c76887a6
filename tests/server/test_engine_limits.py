"""The rate limit of the queue, which belongs to a whole engine."""

from __future__ import annotations

from prd2pr.server.database import open_database
from prd2pr.server.work.batches import list_waiting
from prd2pr.server.work.engine import EngineContext, WorkEngine
from server.app_world import states, wait_until
from server.inbox_steps import add_deliveries
from server.test_engine import Duties, World, Worlds, make_settings


def test_a_repository_over_its_rate_waits_and_another_one_does_not(tmp_path):
    url = f"sqlite:///{tmp_path}/s.db"
    database, worlds = open_database(url), Worlds({"octo/calc": World(), "octo/other": World()})
    settings = make_settings(url, rate_per_minute=2)
    with WorkEngine(EngineContext(database, settings, "one", worlds, Duties())) as engine:

        def deliver(guid: str, lane: str, done: int) -> None:
            add_deliveries(database, guid, lane=lane)
            (key,) = (each for each in list_waiting(database) if each.lane == lane)
            engine.enqueue(key)
            wait_until(lambda: states(database).get("done") == done, 120)

        deliver("a", "octo/calc", 1)
        deliver("b", "octo/calc", 2)
        deliver("c", "octo/calc", 2)
        deliver("d", "octo/other", 3)
        assert states(database) == {"done": 3, "waiting": 1}
    database.close()
