"""An effect that starts the repository's own Actions workflow. The run is found again by the batch's mark."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from prd2pr.errors import HubProblem, HubUnreachable
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.workflow_runs import find_run, run_exists, start_run
from prd2pr.server.database import Database
from prd2pr.server.orders.store import list_open_orders, settle_order
from prd2pr.server.work.batches import Batch
from prd2pr.server.work.effects import MAX_STARTS, EffectUnclear, RecordRequest
from prd2pr.state.orders import Order, format_orders

WORKFLOW = "prd2pr.yml"
# The workflow file predates these inputs: GitHub accepted the run, but it cannot be identified.
UNTRACKED_RUN = "accepted"
MAX_COMMENTS = 500
# If the sender dies during a dispatch, the run is listed within this time or never.
SETTLES_SECONDS = 30.0

GetHub = Callable[[str], GitHubHub]
OUTDATED_WORKFLOW = (
    f"The workflow file {WORKFLOW} of this repository does not support orders. Update it (`prd2pr init` writes it if "
    "it is missing), or post the command as a comment on the pull request."
)


class WorkflowDispatch:
    settles_in = SETTLES_SECONDS

    def __init__(self, get_hub: GetHub, database: Database) -> None:
        self.get_hub, self.database = get_hub, database

    def find(self, batch: Batch) -> str | None:
        marks = [make_run_mark(batch.id, each) for each in range(1, MAX_STARTS + 1)]
        run = find_run(self.get_hub(batch.lane).api, WORKFLOW, marks)
        return str(run) if run else None

    def begin(self, batch: Batch, turn: int, ask: RecordRequest) -> str:
        """Start the workflow. If its file is older, only the inputs that it supports are sent."""
        hub, mark = self.get_hub(batch.lane), make_run_mark(batch.id, turn)
        base, orders = hub.default_branch(), list_open_orders(self.database, batch.lane)
        run = start_workflow(hub, base, build_workflow_inputs(batch, mark, orders), mark, ask)
        if run is None and orders:
            for each in orders:
                settle_order(self.database, each.id, "failed", OUTDATED_WORKFLOW)
            run = start_workflow(hub, base, build_workflow_inputs(batch, mark), mark, ask)
        if run is None:
            old = start_workflow(hub, base, {"reason": f"the App's server ({mark})"}, mark, ask)
            return str(old) if old else UNTRACKED_RUN
        return str(run) if run else mark

    def has_started(self, batch: Batch, mark: str) -> bool:
        """Return whether the run exists, since GitHub may accept a dispatch without creating a run."""
        if mark == UNTRACKED_RUN:
            return True
        api = self.get_hub(batch.lane).api
        return run_exists(api, int(mark)) if mark.isdigit() else find_run(api, WORKFLOW, [mark]) is not None


def start_workflow(hub: GitHubHub, base: str, inputs: Mapping[str, str], mark: str, ask: RecordRequest) -> int | None:
    """Dispatch the workflow and return the run's id, or None if the workflow does not have these inputs.

    An error response to the first request is final. After a lost response, an error response to a repeated request does
    not show whether the first one succeeded.
    """
    sent: list[str] = []

    def record_request() -> None:
        ask()
        sent.append(mark)

    try:
        return start_run(hub.api, WORKFLOW, base, inputs, mark, before=record_request)
    except HubProblem as problem:
        if not isinstance(problem, HubUnreachable) and len(sent) <= 1:
            raise
        raise EffectUnclear(problem.what, where=problem.where, remedy=problem.remedy) from problem


def make_run_mark(batch: str, turn: int) -> str:
    """Return a short, non-numeric mark for the run's title."""
    return "s" + hashlib.sha256(f"{batch}/{turn}".encode()).hexdigest()[:20]


def build_workflow_inputs(batch: Batch, mark: str, orders: tuple[Order, ...] = ()) -> dict[str, str]:
    """Build the workflow's inputs, including the latest comments that may need an answer."""
    comments = dict.fromkeys(each.comment for each in batch.deliveries if each.comment)
    inputs = {"delivery": mark, "reason": "the App's server", "said": ",".join(list(comments)[-MAX_COMMENTS:])}
    return {**inputs, "orders": format_orders(orders)} if orders else inputs
