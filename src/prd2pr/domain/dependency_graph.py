"""Dependency graphs: a stable topological order, and cycle detection. No recursion is used, since plans can be long."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence


def find_cycle(depends_on: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return a cycle such as (a, b, a) if a needs b and b needs a, or an empty tuple. Unknown names are ignored."""
    finished: set[str] = set()
    for start in depends_on:
        if start not in finished:
            cycle = _find_cycle_from(start, depends_on, finished)
            if cycle:
                return cycle
    return ()


def _find_cycle_from(start: str, depends_on: Mapping[str, Sequence[str]], finished: set[str]) -> tuple[str, ...]:
    trail: list[str] = [start]
    on_trail = {start}
    stack: list[Iterator[str]] = [iter(depends_on[start])]
    while stack:
        following = next((name for name in stack[-1] if name in depends_on and name not in finished), None)
        if following is None:
            stack.pop()
            done = trail.pop()
            on_trail.discard(done)
            finished.add(done)
        elif following in on_trail:
            return (*trail[trail.index(following) :], following)
        else:
            trail.append(following)
            on_trail.add(following)
            stack.append(iter(depends_on[following]))
    return ()


def sort_by_dependencies(
    depends_on: Mapping[str, Sequence[str]], rank: Mapping[str, tuple[int, ...]]
) -> tuple[str, ...]:
    """Return the names with dependencies first, then by lowest rank. The graph must not have a cycle."""
    waiting_for = {name: {other for other in others if other in depends_on} for name, others in depends_on.items()}
    needed_by: dict[str, list[str]] = {name: [] for name in depends_on}
    for name, others in waiting_for.items():
        for other in others:
            needed_by[other].append(name)
    free = [(rank[name], name) for name, others in waiting_for.items() if not others]
    heapq.heapify(free)
    order: list[str] = []
    while free:
        name = heapq.heappop(free)[1]
        order.append(name)
        for follower in needed_by[name]:
            waiting_for[follower].discard(name)
            if not waiting_for[follower]:
                heapq.heappush(free, (rank[follower], follower))
    return tuple(order)
