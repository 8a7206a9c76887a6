"""The checks of the flood test: each planted fault is reported, and nothing is reported without one."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.database import open_database
from prd2pr.server.inbox.store import InboxDelivery, store_deliveries
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work import claims, leases
from prd2pr.server.work.dispatch import make_run_mark
from server import flood
from server.flood import FloodResult, Sent, judge

SENT = [Sent("a", "issue_comment", b"", wanted=True), Sent("b", "issue_comment", b"", wanted=False)]


@pytest.fixture
def settled(tmp_path, monkeypatch):
    """The correct end state: one delivery done by a claim with one run, one ignored, both acknowledged."""
    database = open_database(f"sqlite:///{tmp_path}/s.db")
    store_deliveries(
        database,
        [
            InboxDelivery("a", "issue_comment", b"{}", 10.0, DeliverySummary("octo/r")),
            InboxDelivery("b", "issue_comment", b"{}", 10.0, DeliverySummary("octo/r", "no command")),
        ],
    )
    (hold,) = claims.open_claims(database, "one", ServerSettings(), 1)
    leases.settle_claim(database, hold, "7")
    recorded = {
        "strange": [],
        "runs": {"octo/r": [{"id": 7, "display_title": make_run_mark(hold.claim, 1), "at": 20.0}]},
    }
    monkeypatch.setattr(flood, "recorded_calls", lambda _: recorded)
    yield database, recorded
    database.close()


def problems(database) -> list[str]:
    told = FloodResult(2, acknowledged={"a": 1, "b": 2})
    judge(database, "", SENT, told)
    return told.wrong


def test_a_correct_state_has_no_problems(settled):
    assert problems(settled[0]) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM deliveries WHERE guid = 'a'", "a was acknowledged and is not there"),
        ("UPDATE deliveries SET state = 'waiting' WHERE guid = 'a'", "a is waiting, not done"),
        ("UPDATE deliveries SET state = 'done', claim = 'a.1' WHERE guid = 'b'", "b is done, not ignored"),
        ("UPDATE deliveries SET guid = 'x' WHERE guid = 'b'", "x was never sent"),
        ("UPDATE deliveries SET claim = 'other' WHERE guid = 'a'", "a is done, and nothing was started for it"),
        ("UPDATE deliveries SET received_at = 30 WHERE guid = 'a'", "a came after the run"),
        ("UPDATE claims SET state = 'open'", "claim a.1 is open"),
        ("DELETE FROM claims", "belongs to no claim"),
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
    assert problems(database) == ["claim a.1 started 2 runs"]
    runs.clear()
    assert problems(database) == ["a is done, and nothing was started for it"]
    recorded["strange"].append("GET /user")
    assert "the stub was asked for GET /user" in problems(database)
