"""When processes for later runs are started: as early as a core is free for them, and none for what was given up."""

from __future__ import annotations

import threading

import pytest
from small_projects import TARGET, exporter

from prd2pr.ports import OTHER_SEED, RED_AGAIN, RunRequest
from prd2pr.runners.pytest_runner import PytestRunner
from prd2pr.runners.spares import Spares

SUITE = {"tests/test_sums.py": "def test_sums():\n    assert 1 + 1 == 2\n"}
ENDLESS = {"tests/test_endless.py": "def test_endless():\n    while True:\n        pass\n"}


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Starts in advance and ends of runs, in their order; nothing is started in advance."""
    found: list[object] = []
    follow = PytestRunner._follow

    def followed(*asked: object) -> object:
        watched = follow(*asked)  # type: ignore[arg-type]
        found.append("over")
        return watched

    monkeypatch.setattr(Spares, "start", lambda _, *seeds: found.append(seeds))
    monkeypatch.setattr(PytestRunner, "_follow", followed)
    return found


def test_what_comes_later_is_started_once_the_run_is_over(happened: list[object]) -> None:
    report = PytestRunner(exporter(SUITE), TARGET).run(RunRequest("t", followed_by=(0,), later=RED_AGAIN))
    assert report.honest
    assert happened == [(0,), "over", (0, OTHER_SEED, OTHER_SEED)]


def test_after_a_run_that_was_given_up_nothing_is_started(happened: list[object]) -> None:
    given_up = threading.Event()
    given_up.set()
    PytestRunner(exporter(ENDLESS), TARGET).run(RunRequest("t", followed_by=(), later=RED_AGAIN), given_up)
    assert happened == [(), "over"]
