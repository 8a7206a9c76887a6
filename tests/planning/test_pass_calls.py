"""Concurrent calls: order, limits, failures, and an interruption that does not wait."""

from __future__ import annotations

import _thread
import threading
import time

import pytest

from prd2pr.workflow.planning.pass_calls import run_concurrently


class Harmless(Exception):
    pass


def test_results_are_in_the_order_of_the_questions() -> None:
    def work(n: int) -> int:
        time.sleep(0.02 if n == 0 else 0)
        return n * n

    assert [outcome.value for outcome in run_concurrently(work, range(6), 4)] == [0, 1, 4, 9, 16, 25]


@pytest.mark.parametrize("workers", [1, 3])
def test_harmless_failure_does_not_affect_other_calls(workers: int) -> None:
    def work(n: int) -> int:
        if n == 1:
            raise Harmless
        return n

    outcomes = run_concurrently(work, range(4), workers, (Harmless,))
    assert [outcome.value for outcome in outcomes] == [0, None, 2, 3]
    assert isinstance(outcomes[1].problem, Harmless)


def test_other_failures_stop_new_calls_and_keep_results_in_flight() -> None:
    begun, ended = [], []

    def work(n: int) -> None:
        begun.append(n)
        if n == 0:
            raise ValueError("first")
        time.sleep(0.05)
        ended.append(n)
        if n == 1:
            raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        run_concurrently(work, range(50), 3)
    assert len(begun) < 6
    assert sorted(ended) == sorted(set(begun) - {0})


def test_interruption_does_not_wait_for_calls_in_flight() -> None:
    release = threading.Event()

    def work(n: int) -> None:
        if n == 1:
            _thread.interrupt_main()
        release.wait(240)

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_concurrently(work, range(3), 3)
    assert time.monotonic() - started < 120
    release.set()
