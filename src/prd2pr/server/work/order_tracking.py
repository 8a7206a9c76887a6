"""Find the outcome of orders that were given to a run.

An order is done if the branch records it, and refused if the pull request has a reply. A run that ended without either
was killed, or cancelled while queued, so the order is submitted again.

dbos queues the checks of an order one after another, and the outcome is written once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.exc import SQLAlchemyError

from prd2pr.domain.records import Status
from prd2pr.errors import Prd2prError, StateProblem
from prd2pr.github.client.branches import read_remote_file
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.workflow_runs import find_workflow_run
from prd2pr.github.messages.markers import make_marker
from prd2pr.github.permissions import MAX_COMMAND_AGE, is_too_old
from prd2pr.server.app import ServerContext
from prd2pr.server.orders.store import (
    OrderOutcome,
    OrderRecord,
    find_order,
    list_open_orders,
    mark_order_given,
    settle_order,
)
from prd2pr.server.orders.submission import submit_order
from prd2pr.server.work.branch_prefixes import read_branch_prefix
from prd2pr.server.work.capability import list_local_lanes
from prd2pr.server.work.dispatch import WORKFLOW, GetHub
from prd2pr.state.codec import decode_document
from prd2pr.state.layout import PRDS
from prd2pr.state.orders import Order, is_executed

log = logging.getLogger(__name__)

MAX_RUNS = 3
NO_ANSWER = "{runs} runs got this order, and none of them reported its outcome."
UNREADABLE = "The order cannot be read: another version of this server recorded it. Submit it again."
UNDELIVERED = "The order could not be delivered and is not retried."
TOO_OLD = f"The order was not executed within {MAX_COMMAND_AGE.days} days."


@dataclass(frozen=True)
class OrderResult:
    outcome: OrderOutcome
    answer: str = ""
    url: str = ""


class OrderTracker:
    def __init__(self, context: ServerContext, get_hub: GetHub | None = None) -> None:
        """Create the tracker. `get_hub` is None without a GitHub App."""
        self.context, self.get_hub = context, get_hub
        self.local_lanes = list_local_lanes(context.settings)

    def check(self, order: str, tries: int) -> bool:
        """Check an order; return whether it has an outcome or was submitted again."""
        try:
            with self.context.database.reading() as connection:
                it = find_order(connection, order)
            if it is not None and not it.outcome and it.tries == tries:
                self.check_order(it)
            with self.context.database.reading() as connection:
                it = find_order(connection, order)
        except (Prd2prError, SQLAlchemyError) as problem:
            log.warning("the outcome of order %s cannot be read now: %s", order, problem)
            return False
        except Exception:  # a failure affects one order only, which is checked again
            log.exception("the outcome of order %s cannot be read now", order)
            return False
        return it is None or bool(it.outcome) or it.tries != tries

    def check_order(self, it: OrderRecord) -> None:
        if it.order is None:
            settle_order(self.context.database, it.id, "failed", UNREADABLE)
        elif is_too_old(it.at, datetime.now(UTC).isoformat()):
            settle_order(self.context.database, it.id, "failed", TOO_OLD)
        elif it.delivered in ("dead", ""):
            settle_order(self.context.database, it.id, "failed", it.effect or UNDELIVERED)
        elif it.state == "given":
            mark_order_given(self.context.database, it.id)
            self._check_run(it, it.order)

    def _check_run(self, it: OrderRecord, order: Order) -> None:
        if (
            self.get_hub is None or it.repo in self.local_lanes
        ):  # local orders have an outcome as soon as they were executed
            self._resubmit(it, order, "")
            return
        hub = self.get_hub(it.repo)
        # Read first: once the run has ended, all its results are visible.
        run = find_workflow_run(hub.api, WORKFLOW, it.effect)
        result = find_order_result(hub, order, f"{read_branch_prefix(hub.api)}{order.prd}")
        if result is not None:
            settle_order(self.context.database, it.id, result.outcome, result.answer, result.url)
        elif (run is None or run.ended) and not self._may_still_finish(hub, it):
            self._resubmit(it, order, run.url if run else "")

    def _may_still_finish(self, hub: GitHubHub, it: OrderRecord) -> bool:
        """Return whether a run in progress may still complete the order after the last attempt.

        A cancelled run reports nothing, and the run in progress receives all open orders.
        """
        return it.tries >= MAX_RUNS and bool(hub.active_runs(WORKFLOW))

    def _resubmit(self, it: OrderRecord, order: Order, url: str) -> None:
        """Submit the order again, or give up.

        If no run has received it because of too many older orders, wait instead.
        """
        if order not in list_open_orders(self.context.database, it.repo):
            return
        if it.tries >= MAX_RUNS:
            settle_order(self.context.database, it.id, "failed", NO_ANSWER.format(runs=it.tries), url)
            return
        with self.context.database.writing() as connection:
            submit_order(connection, it.repo, order, it.tries + 1)
        log.warning("the run with order %s ended without an outcome: the order is submitted again", it.id)
        self.context.work_available.set()


def find_order_result(hub: GitHubHub, order: Order, branch: str) -> OrderResult | None:
    status = read_status_at(hub, order.prd, branch)
    if status is not None and is_executed(status, order):
        return OrderResult("done")
    pull = hub.pull_for_branch(branch)
    answer = hub.find_comment(pull.number, make_marker("order", order.id)) if pull else None
    if answer is None:
        return None
    return OrderResult("refused", answer.body.partition("\n")[2].strip(), answer.url if is_http_url(answer.url) else "")


def is_http_url(url: str) -> bool:
    return url.startswith(("https://", "http://"))


def read_status_at(hub: GitHubHub, prd: str, branch: str) -> Status | None:
    try:
        data = read_remote_file(hub.api, f"{PRDS}/{prd}/status.json", branch)
        return decode_document(Status, data, branch) if data is not None else None
    except StateProblem:
        return None  # the next run reports it
