from __future__ import annotations

import threading
import time

import pytest

from prd2pr.proof.verify import map_in_parallel, split_range


def test_results_are_in_order_whichever_finishes_first():
    def slow(n: int) -> int:
        time.sleep(0.02)
        return n * n

    assert list(map_in_parallel([slow, lambda n: n * n], range(7))) == [n * n for n in range(7)]


def test_workers_run_concurrently():
    meeting = threading.Barrier(2, timeout=60)
    assert list(map_in_parallel([lambda _: meeting.wait() >= 0] * 2, [1, 2])) == [True, True]


def test_each_worker_handles_one_contiguous_range():
    seen: list[list[int]] = [[], []]
    workers = [lambda n, place=place: seen[place].append(n) for place in (0, 1)]
    list(map_in_parallel(workers, range(5)))
    assert seen == [[0, 1], [2, 3, 4]]


@pytest.mark.parametrize(("length", "parts"), [(1, 1), (5, 2), (2, 8), (26, 3), (0, 2)])
def test_ranges_cover_every_item_once(length: int, parts: int):
    found = split_range(length, parts)
    assert [n for stretch in found for n in stretch] == list(range(length))
    assert all(found)
    assert max(map(len, found), default=0) - min(map(len, found), default=0) <= 1


def test_first_error_in_order_is_raised_and_the_rest_is_skipped():
    done: list[int] = []

    def work(n: int) -> int:
        time.sleep(0.01)
        if n == 1:
            raise ValueError(f"at {n}")
        done.append(n)
        return n

    with pytest.raises(ValueError, match="at 1"):
        list(map_in_parallel([work, work], range(40)))
    assert len(done) < 39
