"""`workers: local`: the work is done by processes on this machine, each in a fresh clone, not in the server."""

from __future__ import annotations

import os

import httpx
import pytest
from sqlalchemy import text

from github_world import GitHubWorld
from prd2pr.server.database import open_database
from prd2pr.server.work.local_runs import read_outcomes, strip_server_settings
from server.app_world import is_settled, keys, states, wait_until
from server.server_process import deliver, running_server
from world import PRD


@pytest.mark.slow
def test_a_pushed_prd_is_planned_by_a_process_of_this_machine(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/s.db"
    with GitHubWorld(tmp_path) as world, httpx.Client(timeout=120) as client:
        private, public = keys()
        app = world.fake.add_app("builder", "octo", public)
        world.fake.install(app, [world.name])
        event = world.push_prd("prds/calc.md", PRD)
        monkeypatch.setenv("PRD2PR_MODEL", f"replay:{world.transcript()}")
        settings = {
            "app_id": app.id, "app_private_key": private, "github_api_url": world.url, "github_url": world.url,
            "workers": "local", "local_directory": tmp_path / "clones", "model": os.environ["PRD2PR_MODEL"],
        }  # fmt: skip
        with running_server(url, **settings) as server:
            database = open_database(url)
            assert deliver(client, server.url, "d-1", event.name, event.payload).status_code == 202
            wait_until(lambda: is_settled(database), seconds=200)
            with database.reading() as connection:
                found = connection.execute(text("SELECT state, reason FROM deliveries")).one()
            assert tuple(found) == ("done", "1 run here: waiting"), server.log.read_text()
            assert states(database) == {"done": 1}
            database.close()
        assert world.phases() == ["plan(calc)"]
        assert list((tmp_path / "clones").iterdir()) == []
        assert world.fake.violations == []


def test_a_process_gets_none_of_the_servers_secrets():
    given = {"PRD2PR_WEBHOOK_SECRET": "a", "PRD2PR_APP_PRIVATE_KEY_FILE": "b", "PRD2PR_DATABASE": "c"}
    assert strip_server_settings({**given, "PRD2PR_MODEL": "m", "ANTHROPIC_API_KEY": "k"}) == {
        "PRD2PR_MODEL": "m",
        "ANTHROPIC_API_KEY": "k",
    }


def test_a_missing_report_is_no_result(tmp_path):
    assert read_outcomes(tmp_path / "none.json") == []
    (tmp_path / "r.json").write_text('[{"outcome": "done"}]')
    assert read_outcomes(tmp_path / "r.json") == ["done"]
