"""Orders that a run's event brings from the App's server, for one PRD, each carried out or answered once.

The branch remembers what was carried out, in the very commit that did it. What was not is answered under the pull
request, and the mark of that answer says so to every later run, and to the server.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from prd2pr.core.commands import Command
from prd2pr.core.hub import Comment
from prd2pr.core.orders import Order, is_done
from prd2pr.core.permission import LONGEST_WAIT, is_still_to_come, is_too_old
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Status
from prd2pr.core.said.answers import Answer, NotNow, TooOld, refuses
from prd2pr.core.said.markers import order_marker
from prd2pr.core.wording import plain
from prd2pr.flows.obey.order import Ordered
from prd2pr.flows.telling import tell_once
from prd2pr.ports import Clock, Hub


@dataclass(frozen=True)
class Heard:
    """What the event that started the run says itself: a comment, or orders with who brought them."""

    comment: Comment | None = None
    orders: tuple[Order, ...] = ()
    sender: str = ""

    def __bool__(self) -> bool:
        return self.comment is not None or bool(self.orders)


@dataclass(frozen=True)
class WaitingOrder:
    order: Order
    ordered: Ordered


@dataclass
class OrderBook:
    hub: Hub
    clock: Clock
    heard: Heard = field(default_factory=Heard)
    pull: int | None = None  # where answers go
    _waiting: deque[Order] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._waiting.extend(self.heard.orders)

    @property
    def waits(self) -> bool:
        return bool(self._waiting)

    def comes_before(self, moment: str) -> bool:
        """Whether the next one was given before this moment; an empty one never comes."""
        return self.waits and (not moment or self._waiting[0].at <= moment)

    def next(self, status: Status) -> WaitingOrder | None:
        """The first of them that nobody has carried out or answered."""
        while self._waiting:
            order = self._waiting.popleft()
            if is_done(status, order) or self._is_answered(order):
                continue
            if is_too_old(order.at, self.clock.now()):
                self.answer(order, TooOld(order.shown, LONGEST_WAIT.days))
                continue
            if is_still_to_come(order.at, self.clock.now()):
                self.answer(order, of_the_future(order))
                continue
            return WaitingOrder(order, as_ordered(order, self.heard.sender))
        return None

    def again(self, waiting: WaitingOrder) -> None:
        self._waiting.appendleft(waiting.order)

    def answer(self, order: Order, answer: Answer, *, commit_url: str = "") -> None:
        """What was carried out is on the branch; without a pull request there is nowhere to say the rest."""
        if self.pull is not None and refuses(answer):
            tell_once(self.hub, self.pull, answer, order_marker(order.id), commit_url=commit_url)

    def _is_answered(self, order: Order) -> bool:
        return self.pull is not None and self.hub.comment_marked(self.pull, order_marker(order.id)) is not None


def as_ordered(order: Order, sender: str) -> Ordered:
    stories = (order.story,) if order.story else ()
    return Ordered(
        Command(order.verb, stories=stories, circuit=order.circuit, written=order.shown),
        by=order.given_by(sender),
        settles=order.done,
        why=plain(order.why),
        at=order.at,
    )


def of_the_future(order: Order) -> NotNow:
    following = NextStep("Set the clock of the App's server, and order it again.")
    return NotNow(order.shown, f"the order is of {order.at}, which is still to come", following)
