"""Orders: commands that the App's server sends with an event for one PRD. Each is executed or answered once.

The commit that executes an order records it on the branch. An order that is not executed gets a reply below the pull
request, which later runs and the server find by its marker.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from prd2pr.domain.forge import Comment
from prd2pr.domain.records import Status
from prd2pr.domain.wording import clean_line
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.commands.parser import ParsedCommand, parse_comment
from prd2pr.github.commands.request import CommandRequest
from prd2pr.github.comment_once import post_once
from prd2pr.github.messages.markers import make_marker
from prd2pr.github.messages.replies import CommandReply, CommandTooOld, NotNow, is_refusal
from prd2pr.github.permissions import MAX_COMMAND_AGE, is_in_future, is_too_old
from prd2pr.state.orders import Order, is_executed
from prd2pr.views.models import NextStep
from prd2pr.workflow.interfaces import Clock


@dataclass(frozen=True)
class Trigger:
    """The comment that started the run, or the orders and their sender."""

    comment: Comment | None = None
    orders: tuple[Order, ...] = ()
    sender: str = ""

    def __bool__(self) -> bool:
        return self.comment is not None or bool(self.orders)


@dataclass(frozen=True)
class PendingOrder:
    order: Order
    request: CommandRequest


@dataclass
class OrderQueue:
    hub: GitHubHub
    clock: Clock
    trigger: Trigger = field(default_factory=Trigger)
    pull: int | None = None  # pull request for replies
    _pending: deque[Order] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._pending.extend(self.trigger.orders)

    @property
    def has_pending(self) -> bool:
        return bool(self._pending)

    def is_next_before(self, moment: str) -> bool:
        """Return whether the next order was given before this time. If no time is given, it was."""
        return self.has_pending and (not moment or self._pending[0].at <= moment)

    def take_next(self, status: Status) -> PendingOrder | None:
        """Return the first order that was neither executed nor answered yet."""
        while self._pending:
            order = self._pending.popleft()
            if is_executed(status, order) or self._is_answered(order):
                continue
            if is_too_old(order.at, self.clock.now()):
                self.reply(order, CommandTooOld(order.shown, MAX_COMMAND_AGE.days))
                continue
            if is_in_future(order.at, self.clock.now()):
                self.reply(order, reply_future_order(order))
                continue
            request = make_order_request(order, self.trigger.sender)
            if request is None:
                self.reply(order, reply_unreadable_order(order))
                continue
            return PendingOrder(order, request)
        return None

    def requeue(self, pending: PendingOrder) -> None:
        self._pending.appendleft(pending.order)

    def reply(self, order: Order, reply: CommandReply, *, commit_url: str = "") -> None:
        """Post a refusal below the pull request, if there is one. Executed orders are visible on the branch."""
        if self.pull is not None and is_refusal(reply):
            post_once(self.hub, self.pull, reply, make_marker("order", order.id), commit_url=commit_url)

    def _is_answered(self, order: Order) -> bool:
        return self.pull is not None and self.hub.find_comment(self.pull, make_marker("order", order.id)) is not None


def make_order_request(order: Order, sender: str) -> CommandRequest | None:
    """Return the request, or None if the order's line is not exactly one command that changes something."""
    stories = (order.story,) if order.story else ()
    command = ParsedCommand(order.verb, stories=stories, circuit=order.circuit, written=order.shown)
    if order.verb == "command":
        parsed = parse_order_line(order.line)
        if parsed is None:
            return None
        command = parsed
    return CommandRequest(
        command,
        by=order.format_author(sender),
        settles=order.to_executed,
        why=clean_line(order.why),
        at=order.at,
    )


def parse_order_line(line: str) -> ParsedCommand | None:
    """Return the command of an order, or None unless it is exactly one command of the PRD that changes something."""
    parsed = parse_comment(line)
    if len(parsed) != 1 or not isinstance(parsed[0], ParsedCommand) or parsed[0].reads:
        return None
    return parsed[0]


def reply_unreadable_order(order: Order) -> NotNow:
    return NotNow(order.shown, "it is not a single command that changes something", NextStep("", "/tdd help"))


def reply_future_order(order: Order) -> NotNow:
    following = NextStep("Correct the clock of the App's server, then send the command again.")
    return NotNow(order.shown, f"it is dated {order.at}, which is in the future", following)
