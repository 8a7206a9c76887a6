"""Work in the repository's own Actions: its workflow is started, and the run is found again by the claim's mark."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Protocol

from prd2pr.core.orders import Order, written_orders
from prd2pr.errors import HubProblem, HubUnreachable
from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.runs import find_run, is_run, start_run
from prd2pr.server.work.claims import Claim
from prd2pr.server.work.effects import Ask, Unclear

WORKFLOW = "prd2pr.yml"
# The workflow's file is older than these inputs: the run was accepted, and cannot be told from others.
UNKNOWN = "accepted"
MOST_SAID = 500
# A dispatch on its way when its sender died: it arrives within this, or never, and GitHub shows its run by then.
SETTLES_SECONDS = 30.0

OpenHub = Callable[[str], GitHubHub]
TOO_OLD_A_FILE = (
    f"The workflow file {WORKFLOW} of this repository does not know orders yet: bring it up to date "
    "(`prd2pr init` writes it where there is none), or comment the command on the pull request."
)


class OpenOrders(Protocol):
    def of(self, repo: str) -> tuple[Order, ...]:
        """What nobody has carried out or answered yet."""
        ...

    def cannot_be_given(self, orders: tuple[Order, ...], why: str) -> None: ...


class Dispatching:
    settles_in = SETTLES_SECONDS

    def __init__(self, hub_of: OpenHub, orders: OpenOrders) -> None:
        self.hub_of, self.orders = hub_of, orders

    def find(self, claim: Claim, turn: int) -> str | None:
        marks = [mark_of(claim.id, each) for each in range(1, turn + 1)]
        run = find_run(self.hub_of(claim.lane).wire, WORKFLOW, marks)
        return str(run) if run else None

    def begin(self, claim: Claim, turn: int, ask: Ask) -> str:
        """A workflow's file may be older than some of the inputs: then it gets those that it knows."""
        hub, mark = self.hub_of(claim.lane), mark_of(claim.id, turn)
        base, orders = hub.default_branch(), self.orders.of(claim.lane)
        run = started(hub, base, inputs_of(claim, mark, orders), mark, ask)
        if run is None and orders:
            self.orders.cannot_be_given(orders, TOO_OLD_A_FILE)
            run = started(hub, base, inputs_of(claim, mark), mark, ask)
        if run is None:
            old = started(hub, base, {"reason": f"the App's server ({mark})"}, mark, ask)
            return str(old) if old else UNKNOWN
        return str(run) if run else mark

    def has_begun(self, claim: Claim, mark: str) -> bool:
        """GitHub may accept a dispatch and make no run of it."""
        if mark == UNKNOWN:
            return True
        wire = self.hub_of(claim.lane).wire
        return is_run(wire, int(mark)) if mark.isdigit() else find_run(wire, WORKFLOW, [mark]) is not None


def started(hub: GitHubHub, base: str, inputs: Mapping[str, str], mark: str, ask: Ask) -> int | None:
    """A refusal of the first sending is one. After a lost answer even a refusal says nothing about what was lost."""
    sent: list[str] = []

    def before() -> None:
        ask()
        sent.append(mark)

    try:
        return start_run(hub.wire, WORKFLOW, base, inputs, mark, before=before)
    except HubProblem as problem:
        if not isinstance(problem, HubUnreachable) and len(sent) <= 1:
            raise
        raise Unclear(problem.what, where=problem.where, remedy=problem.remedy) from problem


def mark_of(claim: str, turn: int) -> str:
    """Short, and not a number: it stands in the run's title."""
    return "s" + hashlib.sha256(f"{claim}/{turn}".encode()).hexdigest()[:20]


def inputs_of(claim: Claim, mark: str, orders: tuple[Order, ...] = ()) -> dict[str, str]:
    """With where something was said, for whoever finds nothing of it on the branches."""
    said = dict.fromkeys(each.said for each in claim.deliveries if each.said)
    given = {"delivery": mark, "reason": "the App's server", "said": ",".join(list(said)[-MOST_SAID:])}
    return {**given, "orders": written_orders(orders)} if orders else given
