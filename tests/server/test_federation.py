"""Several servers read together: one that is down is stale, and the rest is unaffected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from api_server import ApiServer, api_server, until
from sqlalchemy import text
from state_repo import StateRepo

from prd2pr.client import Project, Unreachable
from prd2pr.server.api.tokens import revoke_token
from prd2pr.server.federation import Federation, sanitize_remote_project
from prd2pr.server.registration import Heartbeat
from prd2pr.server.settings import SourceSetting


@pytest.fixture(scope="module")
def team(tmp_path_factory) -> Iterator[ApiServer]:
    place = tmp_path_factory.mktemp("team")
    StateRepo(place / "r").put("p", {"p-1": "done", "p-2": "backlog"})
    with api_server(place, {"team/thing": place / "r"}) as server:
        yield server


@pytest.mark.slow
def test_an_aggregator_shows_all_and_marks_what_is_down_as_stale(team, tmp_path, monkeypatch):
    monkeypatch.setenv("TEAM_TOKEN", team.token("read", ["team/*"]))
    StateRepo(tmp_path / "own").put("q", {"q-1": "backlog"})
    sources = [
        {"name": "team", "url": team.url, "token_env": "TEAM_TOKEN"},
        {"name": "down", "url": "http://127.0.0.1:9"},
        {"name": "closed", "url": team.url},  # without a token
    ]
    with api_server(tmp_path, {"octo/own": tmp_path / "own"}, sources=sources) as server:
        standing = server.app.state.federation.list_sources
        until(lambda: not standing()[0].stale and standing()[1].problem and standing()[2].problem)
        told = server.get("/projects", server.token()).json()
        by_name = {each["name"]: each for each in told["sources"]}
        assert [(each["repo"], each["server"]) for each in told["items"]] == [("octo/own", ""), ("team/thing", "team")]
        assert told["items"][1]["stories"] == 2 and told["items"][1]["stale"] is False
        assert by_name["down"]["stale"] and by_name["down"]["age_seconds"] is None
        assert "token is required" in by_name["closed"]["problem"]
        seen = server.get("/projects", server.token("read", ["octo/*"])).json()["items"]
        assert [each["repo"] for each in seen] == ["octo/own"]
        pages = server.app.state.reader.projects()
        assert [(each.repo, each.server, each.stories) for each in pages] == [
            ("octo/own", "", 1),
            ("team/thing", "team", 2),
        ]


@pytest.mark.slow
def test_a_server_registers_with_its_aggregator_and_is_missing_when_its_heartbeats_stop(tmp_path):
    StateRepo(tmp_path / "r").put("p", {"p-1": "done", "p-2": "backlog"})
    with api_server(tmp_path) as aggregator:
        given = {"aggregator_url": aggregator.url, "public_url": "https://team.example"}
        token = aggregator.token("operate", ["team/*"], name="team-a")
        (tmp_path / "member").mkdir()
        place = {"team/thing": tmp_path / "r", "other/thing": tmp_path / "r"}  # the token does not cover the second
        with api_server(tmp_path / "member", place, aggregator_token=token, **given):
            until(lambda: aggregator.get("/projects", aggregator.token()).json()["items"])
            told = aggregator.get("/projects", aggregator.token()).json()
            assert [(each["repo"], each["server"], each["stale"]) for each in told["items"]] == [
                ("team/thing", "team-a", False)
            ]
            assert [(each["name"], each["url"], each["stale"]) for each in told["sources"]] == [
                ("team-a", "https://team.example", False)
            ]
        with aggregator.database.writing() as connection:
            connection.execute(text("UPDATE registered_servers SET seen_at = seen_at - 100"))
        reading = aggregator.token()
        told = aggregator.get("/projects", reading).json()
        assert told["sources"][0]["stale"] and told["items"][0]["stale"]
        assert 'prd2pr_servers{state="missing"} 1.0' in aggregator.get("/metrics", reading).text
        revoke_token(aggregator.database, token.split("_")[1], datetime.now(UTC))
        assert aggregator.get("/projects", reading).json() == {"items": [], "sources": []}


def test_only_a_token_that_may_operate_registers_a_server(tmp_path):
    body = {"url": "https://team.example", "projects": []}
    with api_server(tmp_path) as server:
        assert server.ask("POST", "/servers", server.token(), json=body).status_code == 403
        token = server.token("operate", ["team/*"])
        assert server.ask("POST", "/servers", token, json=body).status_code == 200
        assert server.ask("POST", "/servers", token, json={"url": "javascript:alert(1)"}).status_code == 422
        many = {"url": "https://team.example", "projects": [{"repo": "x" * 1_000_000}] * 5}
        assert server.ask("POST", "/servers", token, json=many).status_code == 413


def test_a_rejected_heartbeat_names_the_reason(tmp_path):
    with api_server(tmp_path) as aggregator, aggregator.client("wrong") as client:
        assert "token" in (Heartbeat(client, "https://team.example", tuple).send() or "")


def project(repo: str = "a/b", server: str = "") -> Project:
    return Project(repo=repo, server=server)


def test_the_last_answer_stays_with_its_age():
    now = [0.0]
    answers = [(project(),), Unreachable("no"), (project("a/c"),)]

    def fetch(_: SourceSetting) -> tuple[Project, ...]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    source = SourceSetting(name="x", url="http://x.example")
    federation = Federation([source], fetch=fetch, clock=lambda: now[0])
    assert federation.projects() == () and federation.list_sources()[0].age_seconds is None
    federation.poll_source(source)
    now[0] = 125.0
    federation.poll_source(source)
    (old,) = federation.projects()
    assert (old.repo, old.server, old.stale, old.age_seconds) == ("a/b", "x", True, 125.0)
    assert "x does not answer" in sanitize_remote_project(old).problems[0]
    federation.poll_source(source)
    assert [(each.repo, each.stale) for each in federation.projects()] == [("a/c", False)]


def test_data_of_another_server_is_sanitized():
    hostile = project("a/b\u202e\x1b[31m", "x").model_copy(update={"problems": ("\x00" + "y" * 9000,)})
    made = sanitize_remote_project(hostile)
    assert "\x1b" not in made.repo and len(made.problems[0]) <= 500
