"""`/metrics` for Prometheus.

Labels never contain values chosen by others, such as repositories or request paths, so the number of series is fixed.
Figures per repository are in the API.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from prometheus_client import Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prd2pr.client.models import Source
from prd2pr.server.api.events import EventFeed
from prd2pr.server.reader import ViewReader
from prd2pr.server.work_metrics import CIRCUIT_STATES, WorkMetrics
from prd2pr.views.board.models import MetricsView
from prd2pr.views.models import Column

__all__ = ["CONTENT_TYPE_LATEST", "MetricsMiddleware", "MetricsRegistry"]

METHODS = frozenset({"GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
WORKER_STATES = ("working", "idle", "gone", "not known")


ListServers = Callable[[], tuple[Source, ...]]


class MetricsRegistry:
    """The metrics of the work, of requests and of the current state, in one Prometheus registry."""

    def __init__(
        self, reader: ViewReader, feed: EventFeed, work: WorkMetrics, list_servers: ListServers = tuple
    ) -> None:
        self.registry = work.registry
        self.requests = Counter(
            "prd2pr_http_requests_total",
            "Answered requests.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "prd2pr_http_request_seconds",
            "Time to answer, except event streams.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.registry.register(StateCollector(reader, feed, list_servers))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class StateCollector(Collector):
    """Collects the current state whenever Prometheus scrapes the metrics."""

    def __init__(self, reader: ViewReader, feed: EventFeed, list_servers: ListServers) -> None:
        self._reader, self._feed, self._list_servers = reader, feed, list_servers

    def collect(self) -> Iterator[Metric]:
        projects = self._reader.projects()
        yield GaugeMetricFamily("prd2pr_projects", "Repositories with state.", len(projects))
        yield GaugeMetricFamily(
            "prd2pr_projects_with_problems",
            "Repositories with state that cannot be read.",
            sum(bool(each.problems) for each in projects),
        )
        stories = GaugeMetricFamily("prd2pr_stories", "Stories by column of the board.", labels=("column",))
        for column in Column:
            total = sum(each.stories for project in projects for each in project.counts if each.column is column)
            stories.add_metric((column.value,), total)
        yield stories
        yield make_state_gauge(
            "prd2pr_circuits",
            "Circuit breakers by state.",
            CIRCUIT_STATES,
            [each.state for each in self._reader.circuits()],
        )
        workers = self._reader.workers()
        yield make_state_gauge("prd2pr_workers", "Workers by state.", WORKER_STATES, [each.state for each in workers])
        yield GaugeMetricFamily("prd2pr_listeners", "Connections to the event stream.", self._feed.listener_count)
        spend = [project.spend for project in projects]
        yield GaugeMetricFamily(
            "prd2pr_spent_usd", "Costs, as far as prices are known.", sum(each.usd or 0 for each in spend)
        )
        yield GaugeMetricFamily("prd2pr_spent_tokens", "Tokens of all model calls.", sum(each.tokens for each in spend))
        servers = ["missing" if each.stale else "up" for each in self._list_servers()]
        yield make_state_gauge("prd2pr_servers", "Other servers by state.", ("up", "missing"), servers)
        yield from collect_cycle_metrics(self._reader.metrics())


def collect_cycle_metrics(metrics: MetricsView) -> Iterator[Metric]:
    """Yield totals over all branches. They are gauges, because they shrink when a branch is deleted."""
    verdicts = GaugeMetricFamily("prd2pr_gate_verdicts", "Attempts at a phase.", labels=("phase", "verdict"))
    seconds = GaugeMetricFamily("prd2pr_phase_seconds", "Duration of all passed phases.", labels=("phase",))
    for each in metrics.phases:
        verdicts.add_metric((each.phase, "accepted"), each.crossed)
        verdicts.add_metric((each.phase, "refused"), each.refused)
        seconds.add_metric((each.phase,), each.seconds)
    files = GaugeMetricFamily("prd2pr_test_files", "Test files of stories by status.", labels=("status",))
    for count in metrics.test_files:
        files.add_metric((count.status,), count.files)
    yield from (verdicts, seconds, files)
    yield GaugeMetricFamily("prd2pr_tests", "Tests of stories.", metrics.tests_in_all)
    yield GaugeMetricFamily("prd2pr_tests_passing", "Tests of stories that pass now.", metrics.tests)


def make_state_gauge(name: str, help_text: str, states: tuple[str, ...], found: list[str]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text, labels=("state",))
    for state in states:
        family.add_metric((state,), found.count(state))
    return family


class MetricsMiddleware:
    """Counts requests by route pattern, never by the requested path."""

    def __init__(self, app: ASGIApp, registry: MetricsRegistry) -> None:
        self.app, self.registry = app, registry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            self._count(scope, status, time.perf_counter() - started)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = get_route_pattern(scope)
        method = scope["method"] if scope["method"] in METHODS else OTHER
        self.registry.requests.labels(method, route, f"{status // 100}xx").inc()
        if not route.endswith("/events"):
            self.registry.seconds.labels(route).observe(seconds)


def get_route_pattern(scope: Scope) -> str:
    """Return the route's pattern, such as `/tasks/{key}`, or `other` if no route matched."""
    path = getattr(scope.get("route"), "path_format", None) or getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else OTHER
