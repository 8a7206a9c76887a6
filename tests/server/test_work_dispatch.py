"""From a delivery to a run of the repository's workflow, over real HTTP on both sides, with killed servers."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import httpx
import pytest
from sqlalchemy import text

from fakes.github import serve
from fakes.github.faults import Calls, DropAfter
from prd2pr.cli.main import main
from prd2pr.github.events.events import compute_text_digest
from prd2pr.server.database import open_database
from server.app_world import WORKFLOW, WORKFLOW_PATH, AppWorld, is_settled, states, wait_until
from server.server_process import comment_payload, deliver, running_server, start_server

DISPATCHES = "POST /repos/octo/calc/actions/workflows/prd2pr.yml/dispatches"
OLD_WORKFLOW = "on: {workflow_dispatch: {inputs: {prd: {type: string}, reason: {type: string}}}}\nname: prd2pr\n"


@pytest.fixture
def client():
    with httpx.Client(timeout=120) as http:
        yield http


def test_a_command_starts_the_workflow_once_for_all_waiting_deliveries(tmp_path, client):
    world, url = AppWorld(tmp_path), f"sqlite:///{tmp_path}/s.db"
    with serve(world.fake) as github, running_server(url, **world.settings(github)) as server:
        database = open_database(url)
        for at in range(5):
            said = comment_payload("octo/calc", 5 + at % 2, "/tdd next")
            assert deliver(client, server.url, f"d-{at}", "issue_comment", said).status_code == 202
        wait_until(lambda: is_settled(database))
        assert states(database) == {"done": 5}
        rows = world.dispatches()
        assert 1 <= len(rows) <= 5
        said = {each for row in rows for each in row.inputs["said"].split(",")}
        assert said == {f"{number}@{compute_text_digest('A title', 'A body')}.{1000 + number}" for number in (5, 6)}
        assert {(row.ref, row.by) for row in rows} == {("main", "builder[bot]")}
        # What was processed is not processed again.
        assert deliver(
            client, server.url, "d-1", "issue_comment", comment_payload("octo/calc", 5, "/tdd next")
        ).is_success
        wait_until(lambda: is_settled(database))
        assert len(world.dispatches()) == len(rows) and server.stop() == 0
        database.close()
    assert world.fake.violations == []


@pytest.mark.slow
def test_a_server_killed_after_the_dispatch_does_not_dispatch_again(tmp_path, client):
    """The answer never arrives: GitHub hangs up after it has started the run, and the server is killed."""
    world, url = AppWorld(tmp_path), f"sqlite:///{tmp_path}/s.db"
    killed: list[bool] = []
    with serve(world.fake) as github:
        server = start_server(url, **world.settings(github))

        def kill() -> None:
            server.kill()
            killed.append(True)

        world.fake.faults.add(Calls(after=kill), DISPATCHES)
        deliver(client, server.url, "d-1", "issue_comment", comment_payload("octo/calc", 5, "/tdd next"))
        wait_until(lambda: bool(killed))
        database = open_database(url)
        assert states(database) == {"taken": 1}
        with running_server(url, **world.settings(github)):
            wait_until(lambda: is_settled(database))
        assert states(database) == {"done": 1} and len(world.dispatches()) == 1
        database.close()
    assert world.fake.violations == []


@pytest.mark.slow
def test_a_server_killed_during_its_first_start_works_afterwards(tmp_path, client):
    """dbos had created some of its tables, and recorded none of them."""
    world, url = AppWorld(tmp_path), f"sqlite:///{tmp_path}/s.db"
    with closing(sqlite3.connect(f"{tmp_path}/s.db-dbos")) as half_made:
        half_made.execute("CREATE TABLE dbos_migrations (version INTEGER NOT NULL PRIMARY KEY)")
        half_made.execute("CREATE TABLE workflow_status (workflow_uuid TEXT PRIMARY KEY)")
    with serve(world.fake) as github, running_server(url, **world.settings(github)) as server:
        database = open_database(url)
        deliver(client, server.url, "d-1", "issue_comment", comment_payload("octo/calc", 5, "/tdd next"))
        wait_until(lambda: is_settled(database), 120)
        assert states(database) == {"done": 1} and len(world.dispatches()) == 1
        database.close()


@pytest.mark.slow
def test_a_lost_answer_is_looked_up(tmp_path, client):
    world, url = AppWorld(tmp_path), f"sqlite:///{tmp_path}/s.db"
    world.fake.faults.add(DropAfter(), DISPATCHES)
    with serve(world.fake) as github, running_server(url, **world.settings(github)) as server:
        database = open_database(url)
        deliver(client, server.url, "d-1", "issue_comment", comment_payload("octo/calc", 5, "/tdd next"))
        wait_until(lambda: is_settled(database))
        assert states(database) == {"done": 1} and len(world.dispatches()) == 1
        database.close()


@pytest.mark.slow
def test_an_older_workflow_is_started_with_the_inputs_it_knows(tmp_path, client):
    world, url = AppWorld(tmp_path, workflow=OLD_WORKFLOW), f"sqlite:///{tmp_path}/s.db"
    with serve(world.fake) as github, running_server(url, **world.settings(github)) as server:
        database = open_database(url)
        deliver(client, server.url, "d-1", "issue_comment", comment_payload("octo/calc", 5, "/tdd next"))
        wait_until(lambda: is_settled(database))
        assert [set(row.inputs) for row in world.dispatches()] == [{"reason"}]
        database.close()


@pytest.mark.slow
def test_an_impossible_dispatch_becomes_a_dead_letter_that_can_be_replayed(tmp_path, client, capfd):
    world, url = AppWorld(tmp_path, workflow="name: other\non: push\n"), f"sqlite:///{tmp_path}/s.db"
    settings = {"attempts": 2, "backoff_seconds": 0.01}
    with serve(world.fake) as github, running_server(url, **settings, **world.settings(github)) as server:
        database = open_database(url)
        deliver(client, server.url, "d-1", "issue_comment", comment_payload("octo/calc", 5, "/tdd next"))
        wait_until(lambda: states(database) == {"dead": 1})
        assert main(["serve", "--database", url, "--dead"]) == 0
        told = capfd.readouterr().out
        assert "d-1" in told and "octo/calc" in told and "workflow_dispatch" in told
        world.write("octo/calc", {WORKFLOW_PATH: WORKFLOW})
        assert main(["serve", "--database", url, "--replay-dead", "d-1"]) == 0
        wait_until(lambda: states(database) == {"done": 1})
        assert len(world.dispatches()) == 1
        with database.reading() as connection:
            assert connection.execute(text("SELECT attempts FROM deliveries")).scalar_one() == 3  # two before
        database.close()


@pytest.mark.slow
def test_a_second_server_on_the_same_file_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/s.db"
    with (
        running_server(url),
        pytest.raises(RuntimeError, match=r"ended with 1:[\s\S]*another server"),
    ):
        start_server(url)
