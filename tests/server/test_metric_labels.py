"""Prometheus gets the same few series, whatever outsiders push or request."""

from __future__ import annotations

import random
import string

import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from prd2pr.server.api.metrics import MetricsMiddleware, MetricsRegistry
from prd2pr.views.models import CircuitView, Column, ColumnCount, ProjectView

HOSTILE = 10_000


def hostile_name(chance: random.Random) -> str:
    letters = string.printable + '"\\\n{}=,\u202e\u0000é'
    return "".join(chance.choice(letters) for _ in range(chance.randrange(1, 60)))


class HostileReader:
    """Ten thousand repositories with names of an attacker's choice."""

    def __init__(self) -> None:
        chance = random.Random(7)
        self.names = [f"{hostile_name(chance)}/{hostile_name(chance)}" for _ in range(HOSTILE)]

    def projects(self, repos=None):
        return tuple(ProjectView(repo=name, problems=(name,)) for name in self.names)

    def circuits(self, repos=None):
        return tuple(
            CircuitView(repo=name, prd=name, name=name, level="worker", state="open", why=name) for name in self.names
        )

    def workers(self, repos=None):
        return ()


class Quiet:
    listener_count = 3


@pytest.fixture
def measures():
    return MetricsRegistry(HostileReader(), Quiet())  # type: ignore[arg-type]


def series(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.slow
def test_ten_thousand_hostile_repositories_add_no_series(measures):
    found = series(measures.text().decode())
    assert len(found) < 40
    assert found["prd2pr_projects", ()] == HOSTILE == found["prd2pr_projects_with_problems", ()]
    assert found["prd2pr_circuits", (("state", "open"),)] == HOSTILE
    labels = {value for _, pairs in found for _, value in pairs}
    assert labels <= {"closed", "open", "half-open", "working", "idle", "gone", "not known", *Column}


@pytest.mark.slow
def test_paths_and_methods_of_requests_add_no_series(measures):
    inner = FastAPI()
    inner.add_api_route("/tasks/{key:path}", lambda key: key)
    client = TestClient(MetricsMiddleware(inner, measures), raise_server_exceptions=False)
    client.get("/tasks/one")
    before = len(series(measures.text().decode()))
    chance = random.Random(8)
    for _ in range(200):
        name = "".join(chance.choice(string.ascii_letters) for _ in range(12))
        client.get(f"/tasks/{name}")
        client.get(f"/{name}")
        client.request(name.upper(), f"/{name}")
    found = series(measures.text().decode())
    assert len(found) - before < 40
    assert found["prd2pr_http_requests_total", (("method", "GET"), ("route", "/tasks/{key}"), ("status", "2xx"))] == 201


def test_stories_are_counted_by_column():
    class Few(HostileReader):
        def __init__(self) -> None:
            self.names = []

        def projects(self, repos=None):
            from types import SimpleNamespace

            from prd2pr.domain.records import Spend

            counts = (ColumnCount(Column.BLOCKED, 2), ColumnCount(Column.COMPLETE, 5))
            spend = Spend(input_tokens=7, usd=0.5)
            return (SimpleNamespace(counts=counts, problems=(), spend=spend),) * 2

    found = series(MetricsRegistry(Few(), Quiet()).text().decode())  # type: ignore[arg-type]
    assert found["prd2pr_stories", (("column", "BLOCKED"),)] == 4
    assert found["prd2pr_spent_usd", ()] == 1.0 and found["prd2pr_spent_tokens", ()] == 14
