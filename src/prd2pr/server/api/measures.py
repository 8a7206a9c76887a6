"""`/metrics` for Prometheus. No label holds anything that others choose: no repository, no path that was asked for.

So the number of series is fixed, whatever anybody pushes or asks for; what there is of each repository is in the API.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prd2pr.core.board.view import Column
from prd2pr.server.api.happened import Announcements
from prd2pr.server.reading import Reading

__all__ = ["CONTENT_TYPE_LATEST", "Measured", "Measures"]

METHODS = frozenset({"GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
CIRCUIT_STATES = ("closed", "open", "half-open")
WORKER_STATES = ("working", "idle", "gone", "not known")


class Measures:
    """Everything in a registry of its own, so that two servers in one process do not count together."""

    def __init__(self, reading: Reading, announcements: Announcements) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "prd2pr_http_requests_total",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "prd2pr_http_request_seconds",
            "How long answering took, but for streams of events.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.registry.register(Standing(reading, announcements))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Standing(Collector):
    """How things stand, looked up when it is asked for."""

    def __init__(self, reading: Reading, announcements: Announcements) -> None:
        self._reading, self._announcements = reading, announcements

    def collect(self) -> Iterator[Metric]:
        projects = self._reading.projects()
        yield gauge("prd2pr_projects", "Repositories with state.", len(projects))
        yield gauge("prd2pr_projects_with_problems", "Of these, with state that cannot be read.", troubled(projects))
        stories = GaugeMetricFamily("prd2pr_stories", "Stories by column of the board.", labels=("column",))
        for column in Column:
            total = sum(each.stories for project in projects for each in project.counts if each.column is column)
            stories.add_metric((column.value,), total)
        yield stories
        yield counted(
            "prd2pr_circuits",
            "Circuit breakers by state.",
            CIRCUIT_STATES,
            [each.state for each in self._reading.circuits()],
        )
        workers = self._reading.workers()
        yield counted("prd2pr_workers", "Workers by state.", WORKER_STATES, [each.state for each in workers])
        yield gauge("prd2pr_listeners", "Connections that listen to events.", self._announcements.listeners)
        spend = [project.spend for project in projects]
        yield gauge("prd2pr_spent_usd", "Spent, as far as prices are known.", sum(each.usd or 0 for each in spend))
        yield gauge("prd2pr_spent_tokens", "Tokens of all model calls.", sum(each.tokens for each in spend))


def troubled(projects: tuple[object, ...]) -> int:
    return sum(bool(getattr(each, "problems", ())) for each in projects)


def gauge(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, value=value)


def counted(name: str, words: str, states: tuple[str, ...], found: list[str]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=("state",))
    for state in states:
        family.add_metric((state,), found.count(state))
    return family


class Measured:
    """Around the whole application: counts by the route's own pattern, never by what was asked for."""

    def __init__(self, app: ASGIApp, measures: Measures) -> None:
        self.app, self.measures = app, measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            self._count(scope, status, time.perf_counter() - began)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = pattern_of(scope)
        method = scope["method"] if scope["method"] in METHODS else OTHER
        self.measures.requests.labels(method, route, f"{status // 100}xx").inc()
        if not route.endswith("/events"):
            self.measures.seconds.labels(route).observe(seconds)


def pattern_of(scope: Scope) -> str:
    """`/tasks/{key}`; a request that no route took has none."""
    path = getattr(scope.get("route"), "path_format", None) or getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else OTHER
