"""Prometheus counters of the work of this process: deliveries from GitHub, and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram

from prd2pr.domain.records import RUN_DONE
from prd2pr.views.models import Column

COMMAND_BUCKETS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
CIRCUIT_STATES = ("closed", "open", "half-open")
ORDER_OUTCOMES = ("done", "refused", "failed")


class WorkMetrics:
    """Metrics in their own registry, so that two servers in one process count separately."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.deliveries = self._make_counter("deliveries", "Deliveries by outcome of an attempt.", "result")
        self.delivery_seconds = Histogram(
            "prd2pr_delivery_seconds",
            "Time from a delivery, such as a comment with a command, to the start of its run.",
            buckets=COMMAND_BUCKETS,
            registry=self.registry,
        )
        self.orders = self._make_counter("orders", "Orders by outcome.", "outcome")
        self.order_seconds = Histogram(
            "prd2pr_order_seconds",
            "Time from an order to its result on the branch.",
            buckets=COMMAND_BUCKETS,
            registry=self.registry,
        )
        self.story_transitions = self._make_counter("story_transitions", "Changes of stories.", "to")
        self.circuit_transitions = self._make_counter("circuit_transitions", "Changes of circuit breakers.", "to")
        self.runs = self._make_counter("runs_completed", "Completed runs.", "outcome")

    def _make_counter(self, name: str, help_text: str, label: str) -> Counter:
        return Counter(f"prd2pr_{name}_total", help_text, (label,), registry=self.registry)

    def count_deliveries(self, result: Literal["started", "retried", "dead"], waited: list[float]) -> None:
        """Count deliveries, given the seconds since each arrived."""
        self.deliveries.labels(result).inc(len(waited))
        for seconds in waited if result == "started" else ():
            self.delivery_seconds.observe(seconds)

    def count_event(self, kind: str, data: Mapping[str, Any]) -> None:
        """Count an event, possibly of another version. Values from branches become labels only if they are known."""
        after, outcome = data.get("after"), data.get("outcome")
        if kind == "task_status_changed" and after in tuple(Column) and after != data.get("before"):
            self.story_transitions.labels(after).inc()
        elif kind == "circuit_state_changed" and after in CIRCUIT_STATES:
            self.circuit_transitions.labels(after).inc()
        elif kind == "run_completed":
            self.runs.labels("done" if outcome == RUN_DONE else "unfinished").inc()
        elif kind == "order_state_changed" and data.get("state") in ORDER_OUTCOMES:
            self.orders.labels(data["state"]).inc()
            if data["state"] == "done" and "seconds" in data:
                self.order_seconds.observe(data["seconds"])
