"""The checks of the flood test: each planted fault is reported, and nothing is reported without one."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.database import open_database
from prd2pr.server.inbox.store import InboxDelivery, store_deliveries
from prd2pr.server.work.batches import settle_batch
from prd2pr.server.work.dispatch import make_run_mark
from server import flood
from server.flood import FloodResult, Sent, judge
from server.inbox_steps import take_next

SENT = [Sent("a", "issue_comment", b"", wanted=True), Sent("b", "issue_comment", b"", wanted=False)]


@pytest.fixture
def settled(tmp_path, monkeypatch):
    """The correct end state: one delivery done in a batch with one run, one ignored, both acknowledged."""
    database = open_database(f"sqlite:///{tmp_path}/s.db")
    store_deliveries(
        database,
        [
            InboxDelivery("a", "issue_comment", b"{}", 10.0, DeliverySummary("octo/r")),
            InboxDelivery("b", "issue_comment", b"{}", 10.0, DeliverySummary("octo/r", "no command")),
        ],
    )
    key = take_next(database, "octo/r")
    settle_batch(database, key.id, "7")
    recorded = {
        "strange": [],
        "unfinished": [],
        "runs": {"octo/r": [{"id": 7, "display_title": make_run_mark(key.id, 1), "at": 20.0}]},
    }
    monkeypatch.setattr(flood, "recorded_calls", lambda _: recorded)
    monkeypatch.setattr(flood, "list_unfinished", lambda _: recorded["unfinished"])
    yield database, recorded
    database.close()


def problems(database) -> list[str]:
    told = FloodResult(2, acknowledged={"a": 1, "b": 2})
    judge(database, "", "", SENT, told)
    return told.wrong


def test_a_correct_state_has_no_problems(settled):
    assert problems(settled[0]) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM deliveries WHERE guid = 'a'", "a was acknowledged and is not there"),
        ("UPDATE deliveries SET state = 'waiting' WHERE guid = 'a'", "a is waiting, not done"),
        ("UPDATE deliveries SET state = 'done', batch = 'a.1' WHERE guid = 'b'", "b is done, not ignored"),
        ("UPDATE deliveries SET guid = 'x' WHERE guid = 'b'", "x was never sent"),
        ("UPDATE deliveries SET batch = 'other' WHERE guid = 'a'", "a is done, and nothing was started for it"),
        ("UPDATE deliveries SET batch = 'other' WHERE guid = 'a'", "belongs to no batch"),
        ("UPDATE deliveries SET received_at = 30 WHERE guid = 'a'", "a came after the run"),
    ],
)
def test_a_fault_in_the_database_is_reported(settled, statement, told):
    database, _ = settled
    with database.writing() as connection:
        connection.execute(text(statement))
    assert any(told in each for each in problems(database)), problems(database)


def test_a_second_run_a_missing_run_and_an_unexpected_call_are_reported(settled):
    database, recorded = settled
    runs = recorded["runs"]["octo/r"]
    runs.append(dict(runs[0], id=8))
    assert problems(database) == ["batch a.1 started 2 runs"]
    runs.clear()
    assert problems(database) == ["a is done, and nothing was started for it"]
    recorded["strange"].append("GET /user")
    assert "the stub was asked for GET /user" in problems(database)


@pytest.mark.parametrize("status", ["ERROR", "PENDING", "ENQUEUED"])
def test_a_workflow_that_failed_or_is_left_is_reported(settled, status):
    database, recorded = settled
    recorded["unfinished"].append(("a.1/1", status))
    assert problems(database) == [f"workflow a.1/1 is {status}"]


def test_a_second_run_in_another_turn_is_reported(settled):
    database, recorded = settled
    runs = recorded["runs"]["octo/r"]
    runs.append(dict(runs[0], id=8, display_title=make_run_mark("a.1", 2)))
    assert problems(database) == ["batch a.1 started 2 runs"]
