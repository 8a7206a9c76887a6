"""Several calls at once, a bounded number of them; the results stand in the order of the questions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Thing = TypeVar("Thing")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Outcome(Generic[Done]):
    value: Done | None = None
    problem: Exception | None = None


def at_once(
    work: Callable[[Thing], Done], row: Sequence[Thing], workers: int, harmless: tuple[type[Exception], ...] = ()
) -> tuple[Outcome[Done], ...]:
    """A harmless problem of one stays its own. Any other lets nobody begin anything new; when all have ended what they
    had begun, the first such problem in the row's order is raised.

    Whoever interrupts the caller (Ctrl-C, a cancelled job) does not wait for calls that are under way: threads are
    daemons, and what they bring too late is not used.
    """
    if workers < 2 or len(row) < 2:
        return tuple(_tried(work, thing, harmless) for thing in row)
    outcomes: list[Outcome[Done]] = [Outcome()] * len(row)
    places = iter(range(len(row)))
    lock, stop = threading.Lock(), threading.Event()

    def walk() -> None:
        while not stop.is_set():
            with lock:
                place = next(places, None)
            if place is None:
                return
            try:
                outcomes[place] = Outcome(work(row[place]))
            except Exception as problem:  # noqa: BLE001 - it is raised again in the caller's thread
                outcomes[place] = Outcome(problem=problem)
                if not isinstance(problem, harmless):
                    stop.set()

    threads = [threading.Thread(target=walk, daemon=True) for _ in range(min(workers, len(row)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stop.set()
    for outcome in outcomes:
        if outcome.problem is not None and not isinstance(outcome.problem, harmless):
            raise outcome.problem
    return tuple(outcomes)


def _tried(work: Callable[[Thing], Done], thing: Thing, harmless: tuple[type[Exception], ...]) -> Outcome[Done]:
    try:
        return Outcome(work(thing))
    except harmless as problem:
        return Outcome(problem=problem)
