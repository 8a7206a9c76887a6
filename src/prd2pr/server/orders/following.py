"""What came of orders that a run was given: the branch says what was carried out, an answer under the pull request what
was not. A run that ended without either was killed, or pushed out of its queue: the order is given to another one.

Of several replicas one looks at an order at a time. What is learnt is written once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.core.codec import decode
from prd2pr.core.layout import PRDS
from prd2pr.core.orders import Order, is_done
from prd2pr.core.permission import LONGEST_WAIT, is_too_old
from prd2pr.core.records import Status
from prd2pr.core.said.markers import order_marker
from prd2pr.errors import Prd2prError, StateProblem
from prd2pr.forges.github.heads import file_at
from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.runs import Run, run_of
from prd2pr.server.app import Parts
from prd2pr.server.database import now_of
from prd2pr.server.orders.placing import place_again
from prd2pr.server.orders.record import ROWS, Outcome, Standing, note_given, open_orders, settle, standing
from prd2pr.server.work.dispatching import WORKFLOW, OpenHub
from prd2pr.server.work.prefixes import prefix_of
from prd2pr.server.work.whose import lanes_here

log = logging.getLogger(__name__)

MOST_RUNS = 3
AT_ONCE = 20
FIRST_LOOK, LONGEST_LOOK = 0.5, 120.0
DUE = f"""{ROWS} WHERE asked.outcome = '' AND asked.ordered <> '' AND asked.look_at <= :now
          ORDER BY asked.look_at LIMIT :most"""
TURN = text("UPDATE asked SET look_at = :later, looks = looks + 1 WHERE id = :id AND outcome = '' AND looks = :looks")
NO_ANSWER = "{runs} runs were given this order, and none of them has said what came of it."
UNREADABLE = "It cannot be read: another version of this server put it on record. Ask for it again."
TOO_OLD = f"It was not carried out within {LONGEST_WAIT.days} days."


@dataclass(frozen=True)
class Learnt:
    outcome: Outcome
    answer: str = ""
    url: str = ""


class Following:
    def __init__(self, parts: Parts, hub_of: OpenHub | None = None) -> None:
        """`hub_of`: None where there is no code host, and so nothing to learn from it."""
        self.parts, self.hub_of = parts, hub_of
        self.here = lanes_here(parts.settings)

    def turn(self) -> int:
        """How many were looked at: those whose time has come, and whom nobody else looks at."""
        with self.parts.database.reading() as connection:
            rows = connection.execute(text(DUE), {"now": now_of(connection), "most": AT_ONCE}).mappings()
            due = [standing(row) for row in rows]
        mine = [each for each in due if self._is_mine(each)]
        for each in mine:
            try:
                self.look(each)
            except Prd2prError as problem:
                log.warning("what came of the order %s cannot be learnt now: %s", each.id, " ".join(problem.lines()))
            except SQLAlchemyError:
                raise
            except Exception:  # of one order: the others are looked at all the same
                log.exception("what came of the order %s cannot be learnt now", each.id)
        return len(mine)

    def _is_mine(self, it: Standing) -> bool:
        """Later and later: a run may take hours."""
        with self.parts.database.writing() as connection:
            later = now_of(connection) + min(LONGEST_LOOK, FIRST_LOOK * 1.5**it.looks)
            return connection.execute(TURN, {"later": later, "id": it.id, "looks": it.looks}).rowcount == 1

    def look(self, it: Standing) -> None:
        if it.order is None:
            settle(self.parts.database, it.id, "failed", UNREADABLE)
        elif is_too_old(it.at, datetime.now(UTC).isoformat()):
            settle(self.parts.database, it.id, "failed", TOO_OLD)
        elif it.delivered in ("dead", ""):
            settle(self.parts.database, it.id, "failed", it.effect or "It was put aside.")
        elif it.state == "given":
            note_given(self.parts.database, it.id)
            self._after_a_run(it, it.order)

    def _after_a_run(self, it: Standing, order: Order) -> None:
        if self.hub_of is None or it.repo in self.here:  # who carries it out there says at once what came of it
            self._once_more(it, order, "")
            return
        hub = self.hub_of(it.repo)
        run = self._run(hub, it)  # before the rest: what it did until it ended is then there to be seen
        learnt = learnt_from(hub, order, f"{prefix_of(hub.wire)}{order.prd}")
        if learnt is not None:
            settle(self.parts.database, it.id, learnt.outcome, learnt.answer, learnt.url)
        elif (run is None or run.ended) and not self._may_still_come(hub, it):
            self._once_more(it, order, run.url if run else "")

    def _may_still_come(self, hub: GitHubHub, it: Standing) -> bool:
        """Runs that were pushed out of their queue tell nothing, and whichever is at work now takes all orders: the
        last word is not said before it has ended."""
        return it.tries >= MOST_RUNS and self.parts.settings.workers == "actions" and bool(hub.runs_at_work(WORKFLOW))

    def _run(self, hub: GitHubHub, it: Standing) -> Run | None:
        """None: there is none to wait for. A process of the local pool has ended when its delivery is done."""
        return None if self.parts.settings.workers == "local" else run_of(hub.wire, WORKFLOW, it.effect)

    def _once_more(self, it: Standing, order: Order, url: str) -> None:
        """Not before it is among those that the next run is given: what waits behind them was in no run's hands yet."""
        if order not in open_orders(self.parts.database, it.repo):
            return
        if it.tries >= MOST_RUNS:
            settle(self.parts.database, it.id, "failed", NO_ANSWER.format(runs=it.tries), url)
            return
        with self.parts.database.writing() as connection:
            place_again(connection, it.repo, order, it.tries + 1)
        log.warning("the run that had the order %s ended without it: another one gets it", it.id)
        self.parts.news.set()


def learnt_from(hub: GitHubHub, order: Order, branch: str) -> Learnt | None:
    status = status_on(hub, order.prd, branch)
    if status is not None and is_done(status, order):
        return Learnt("done")
    pull = hub.pull_of(branch)
    answer = hub.comment_marked(pull.number, order_marker(order.id)) if pull else None
    if answer is None:
        return None
    return Learnt("refused", answer.body.partition("\n")[2].strip(), answer.url if is_link(answer.url) else "")


def is_link(url: str) -> bool:
    return url.startswith(("https://", "http://"))


def status_on(hub: GitHubHub, prd: str, branch: str) -> Status | None:
    try:
        data = file_at(hub.wire, f"{PRDS}/{prd}/status.json", branch)
        return decode(Status, data, branch) if data is not None else None
    except StateProblem:
        return None  # told by whoever works on it
