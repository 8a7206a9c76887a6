"""Processes for later runs are started as soon as a core is free, and never for an abandoned run."""

from __future__ import annotations

import threading

import pytest
from small_projects import TARGET, exporter

from prd2pr.languages.python.runner.prewarmed_process import PrewarmedPool
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import OTHER_SEED, RED_RERUN_SEEDS, RunRequest

SUITE = {"tests/test_sums.py": "def test_sums():\n    assert 1 + 1 == 2\n"}
ENDLESS = {"tests/test_endless.py": "def test_endless():\n    while True:\n        pass\n"}


@pytest.fixture
def event_log(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Early starts and ends of runs, in order; no process is really started."""
    found: list[object] = []
    follow = PytestRunner._follow

    def followed(*asked: object) -> object:
        watched = follow(*asked)  # type: ignore[arg-type]
        found.append("over")
        return watched

    monkeypatch.setattr(PrewarmedPool, "start", lambda _, *seeds: found.append(seeds))
    monkeypatch.setattr(PytestRunner, "_follow", followed)
    return found


def test_later_processes_are_started_after_the_run(event_log: list[object]) -> None:
    report = PytestRunner(exporter(SUITE), TARGET).run(RunRequest("t", followed_by=(0,), later=RED_RERUN_SEEDS))
    assert report.honest
    assert event_log == [(0,), "over", (0, OTHER_SEED, OTHER_SEED)]


def test_nothing_is_started_after_an_abandoned_run(event_log: list[object]) -> None:
    given_up = threading.Event()
    given_up.set()
    PytestRunner(exporter(ENDLESS), TARGET).run(RunRequest("t", followed_by=(), later=RED_RERUN_SEEDS), given_up)
    assert event_log == [(), "over"]
