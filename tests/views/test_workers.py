"""Workers and runs as events and states: what a branch says about them, and since when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes.board_sample import mixed, source_of
from prd2pr.domain.records import RUN_DONE, RunRecord
from prd2pr.views.board.changes import diff_boards, is_final_outcome
from prd2pr.views.board.models import PrdBoard
from prd2pr.views.board.prds import build_prd_board, build_run_view
from prd2pr.views.board.workers import build_worker_views
from prd2pr.views.models import RunView

MODEL = "anthropic:claude-sonnet-5-5"
NOW = "2026-03-01T10:10:00Z"


def run(name: str = "r1", steps: tuple[str, ...] = ("calc-1/1",), outcome: str = "calc-1: red passed") -> RunView:
    started = f"2026-03-01T09:0{name[-1]}:00Z"
    record = RunRecord(
        id=name, started_at=started, ended_at="2026-03-01T10:00:00Z", model=MODEL, steps=steps, outcome=outcome
    )
    return build_run_view("octo/calc", "calc", record)


@pytest.mark.parametrize(
    ("outcome", "now", "state", "task"),
    [
        ("calc-1: red passed", NOW, "working", "octo/calc:calc-1"),
        ("calc-1: red passed", "2026-03-01T10:16:00Z", "idle", ""),
        (RUN_DONE, NOW, "idle", ""),
        ("blocked: out of attempts", NOW, "idle", ""),
    ],
)
def test_a_worker_is_working_until_its_run_ended_or_is_silent(outcome: str, now: str, state: str, task: str) -> None:
    (worker,) = build_worker_views([run(outcome=outcome)], (), now)
    assert (worker.state, worker.working_on) == (state, task)
    assert worker.last_seen == "2026-03-01T10:00:00Z"


def events(before: PrdBoard, after: PrdBoard) -> list[tuple[str, str]]:
    found = diff_boards(before, after, NOW)
    return [(each.kind, each.data.get("outcome", each.data.get("step", ""))) for each in found]


def test_each_commit_of_a_run_is_a_heartbeat_and_its_end_is_announced_once() -> None:
    board = replace(build_prd_board(source_of(mixed())), runs=())
    first = replace(board, runs=(run(),))
    second = replace(board, runs=(run(steps=("calc-1/1", "calc-1/2"), outcome="calc-1: green passed"),))
    done = replace(board, runs=(run(steps=("calc-1/1", "calc-1/2", "calc-1/3"), outcome=RUN_DONE),))
    assert events(board, first) == [("worker_heartbeat", "calc-1/1")]
    assert events(first, second) == [("worker_heartbeat", "calc-1/2")]
    assert events(second, done) == [("worker_heartbeat", "calc-1/3"), ("run_completed", RUN_DONE)]
    assert events(done, done) == []
    followed = replace(board, runs=(*second.runs, run("r2")))
    assert ("run_completed", "calc-1: green passed") in events(second, followed)


def test_outcomes_of_earlier_versions_are_final() -> None:
    assert is_final_outcome("") and is_final_outcome("stopped") and not is_final_outcome("planned")
