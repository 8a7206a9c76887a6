"""Limits and circuit breakers shared by all workers of a run."""

from __future__ import annotations

from pathlib import Path

from prd2pr.domain.breakers.circuits import FAILURES_TO_OPEN, get_circuit_state
from prd2pr.domain.breakers.records import OperationFailure, OperationSuccess
from prd2pr.domain.records import Spend
from prd2pr.workflow.ledger import LedgerStart, SharedLedger

AT = "2030-01-01T00:00:00Z"


def two(path: Path) -> tuple[SharedLedger, SharedLedger]:
    first = SharedLedger.begin(path / "ledger.jsonl", LedgerStart(12.5, Spend(calls=2, input_tokens=100), 60.0))
    second = SharedLedger.open(path / "ledger.jsonl")
    second.me = first.me + 1
    return first, second


def test_each_worker_sees_the_spending_and_reservations_of_the_other(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    assert (other.start.started, other.start.spent_prd.tokens, other.start.seconds_prd) == (12.5, 100, 60.0)
    with one.locked():
        one.reserve("calc-1/red/tester/1/1", Spend(input_tokens=30))
    with other.locked():
        assert (other.spent.tokens, other.reserved.tokens) == (0, 30)
        assert (other.reserved_for("calc-1").tokens, other.reserved_for("calc-2").tokens) == (30, 0)
    one.record_call("calc-1/red/tester/1/1", Spend(calls=1, input_tokens=25))
    with other.locked():
        assert (other.spent.tokens, other.reserved.tokens) == (25, 0)


def test_killed_worker_releases_reservations_and_keeps_spending(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    with other.locked():
        other.reserve("calc-2/green/builder/1/1", Spend(input_tokens=70))
    other.record_call("calc-2/red/tester/1/1", Spend(calls=1, input_tokens=10))
    with (tmp_path / "ledger.jsonl").open("ab") as file:
        file.write(b'{"kind": "called", "by": 1, "ke')  # killed while writing
    one.drop_worker(other.me)
    one.record_seconds(3.5)
    fresh = SharedLedger.open(tmp_path / "ledger.jsonl")
    fresh.refresh()
    assert (fresh.spent.tokens, fresh.reserved.tokens, fresh.seconds) == (10, 0, 3.5)


def test_breaker_opens_by_failures_of_all_and_closes_by_any_success(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    for number in range(FAILURES_TO_OPEN):
        (one, other)[number % 2].record_event(OperationFailure(stage="green", at=AT, why="no answer"))
    one.refresh()
    opened = one.circuits.find_circuit("green")
    assert opened is not None
    assert get_circuit_state(opened, AT) == "open"
    other.record_event(OperationSuccess(stage="green", at="2030-01-01T01:00:00Z"))
    one.refresh()
    closed = one.circuits.find_circuit("green")
    assert closed is None or not closed.opened_at
