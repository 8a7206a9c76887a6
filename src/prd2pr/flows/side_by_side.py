"""Work on a row of things by several workers at once, told in the row's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from threading import Event
from typing import TypeVar

Thing = TypeVar("Thing")
Done = TypeVar("Done")


def side_by_side(workers: Sequence[Callable[[Thing], Done]], row: Sequence[Thing]) -> Iterator[Done]:
    """Each worker walks one stretch of the row: what it has seen after one step it need not see before the next.

    The first error, in the row's order, is raised; whoever is still at work ends after the thing in hand.
    """
    if len(workers) < 2 or len(row) < 2:
        yield from map(workers[0], row)
        return
    results: list[Future[Done]] = [Future() for _ in row]
    stop = Event()
    with ThreadPoolExecutor(len(workers)) as pool:
        for worker, stretch in zip(workers, stretches(len(row), len(workers)), strict=False):
            pool.submit(_walk, worker, [(row[place], results[place]) for place in stretch], stop)
        try:
            for result in results:
                yield result.result()
        finally:
            stop.set()


def _walk(worker: Callable[[Thing], Done], stretch: list[tuple[Thing, Future[Done]]], stop: Event) -> None:
    for thing, result in stretch:
        if stop.is_set():
            return
        try:
            result.set_result(worker(thing))
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
            result.set_exception(error)


def stretches(length: int, parts: int) -> list[range]:
    """As even as can be, none empty."""
    cuts = [length * part // parts for part in range(parts + 1)]
    return [range(first, end) for first, end in pairwise(cuts) if first < end]
