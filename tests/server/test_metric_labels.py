"""Prometheus gets the same few series, whatever outsiders push or request."""

from __future__ import annotations

import random
import string
from dataclasses import replace
from typing import get_args

import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from prd2pr.domain.records import RUN_DONE, Spend, TestFileStatus
from prd2pr.server.api.metrics import MetricsMiddleware, MetricsRegistry
from prd2pr.server.work_metrics import WorkMetrics
from prd2pr.views.board.metrics import sum_metrics
from prd2pr.views.board.models import PhaseMeasure, TestFileCount
from prd2pr.views.models import BOARD_PHASES, CircuitView, Column, ColumnCount, ProjectView

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

    def metrics(self, repos=None):
        return sum_metrics(())


class Quiet:
    listener_count = 3


@pytest.fixture
def work():
    return WorkMetrics()


@pytest.fixture
def measures(work):
    return MetricsRegistry(HostileReader(), Quiet(), work)  # type: ignore[arg-type]


def series(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.slow
def test_ten_thousand_hostile_repositories_add_no_series(measures, work):
    for name in HostileReader().names:
        work.count_event("task_status_changed", {"before": "", "after": name})
        work.count_event("circuit_state_changed", {"before": "", "after": name})
        work.count_event("order_state_changed", {"state": name, "seconds": 0.0})
        work.count_event("run_completed", {"outcome": name})
    found = series(measures.text().decode())
    assert len(found) < 90
    assert found["prd2pr_projects", ()] == HOSTILE == found["prd2pr_projects_with_problems", ()]
    assert found["prd2pr_circuits", (("state", "open"),)] == HOSTILE
    labels = {value for _, pairs in found for name, value in pairs if name != "le"}
    known = {"closed", "open", "half-open", "working", "idle", "gone", "not known", *Column, *get_args(TestFileStatus)}
    assert labels <= known | {"accepted", "refused", "done", "unfinished", *(each.value for each in BOARD_PHASES)}


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

            counts = (ColumnCount(Column.BLOCKED, 2), ColumnCount(Column.COMPLETE, 5))
            spend = Spend(input_tokens=7, usd=0.5)
            return (SimpleNamespace(counts=counts, problems=(), spend=spend),) * 2

    found = series(MetricsRegistry(Few(), Quiet(), WorkMetrics()).text().decode())  # type: ignore[arg-type]
    assert found["prd2pr_stories", (("column", "BLOCKED"),)] == 4
    assert found["prd2pr_spent_usd", ()] == 1.0 and found["prd2pr_spent_tokens", ()] == 14


def test_work_and_events_are_counted(work):
    work.count_deliveries("started", [0.2, 40.0])
    work.count_deliveries("retried", [9.0])
    work.count_event("task_status_changed", {"before": "PENDING", "after": "BLOCKED"})
    work.count_event("task_status_changed", {"before": "BLOCKED", "after": "BLOCKED"})  # only the phase changed
    work.count_event("circuit_state_changed", {"before": "closed", "after": "open"})
    work.count_event("run_completed", {"outcome": RUN_DONE})
    work.count_event("run_completed", {"outcome": "blocked"})
    work.count_event("order_state_changed", {"state": "given", "seconds": 0.0})
    work.count_event("order_state_changed", {"state": "done", "seconds": 12.0})
    work.count_event("order_state_changed", {"state": "refused", "seconds": 9.0})
    found = series(MetricsRegistry(HostileReader(), Quiet(), work).text().decode())  # type: ignore[arg-type]
    assert found["prd2pr_delivery_seconds_count", ()] == 2 and found["prd2pr_delivery_seconds_sum", ()] == 40.2
    assert found["prd2pr_deliveries_total", (("result", "retried"),)] == 1
    assert found["prd2pr_story_transitions_total", (("to", "BLOCKED"),)] == 1
    assert found["prd2pr_circuit_transitions_total", (("to", "open"),)] == 1
    assert found["prd2pr_runs_completed_total", (("outcome", "unfinished"),)] == 1
    assert found["prd2pr_order_seconds_sum", ()] == 12 and found["prd2pr_order_seconds_count", ()] == 1
    assert found["prd2pr_orders_total", (("outcome", "refused"),)] == 1


def test_phases_and_test_files_are_measured():
    class Measured(HostileReader):
        def metrics(self, repos=None):
            phase = PhaseMeasure("red", crossed=3, at_first=1, refused=2, seconds=90.0, spend=Spend())
            files = (TestFileCount("integrated", 4),)
            return replace(sum_metrics(()), phases=(phase,), test_files=files, tests=5, tests_in_all=6)

    found = series(MetricsRegistry(Measured(), Quiet(), WorkMetrics()).text().decode())  # type: ignore[arg-type]
    assert found["prd2pr_gate_verdicts", (("phase", "red"), ("verdict", "refused"))] == 2
    assert found["prd2pr_gate_verdicts", (("phase", "red"), ("verdict", "accepted"))] == 3
    assert found["prd2pr_phase_seconds", (("phase", "red"),)] == 90
    assert found["prd2pr_test_files", (("status", "integrated"),)] == 4
    assert (found["prd2pr_tests", ()], found["prd2pr_tests_passing", ()]) == (6, 5)
