"""Execute orders in a local repository without GitHub. The handlers are the same; the caller gets the reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.errors import BranchMoved, Prd2prError, Stopped
from prd2pr.github.commands.decisions import execute_decision
from prd2pr.github.commands.dispatch import HANDLERS, execute
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import CommandReply, NotNow, ProblemReply, is_refusal
from prd2pr.github.orders import make_order_request
from prd2pr.state.orders import Order, is_executed
from prd2pr.views.models import NextStep
from prd2pr.workflow.run import get_current_head
from prd2pr.workflow.session import Session

MAX_TRIES = 5


@dataclass(frozen=True)
class LocalOrderResult:
    id: str
    outcome: Literal["done", "refused"]
    answer: str = ""


def execute_local_order(session: Session, order: Order, sender: str) -> LocalOrderResult:
    """Execute the order once. Retries if another process moves the branch at the same time."""
    request = make_order_request(order, sender)
    if request is None or HANDLERS[request.command.name] is not execute_decision:
        reason = "this server runs no code of the repository; it only records decisions"
        following = NextStep("At a terminal:", f"prd2pr command {order.shown}")
        return LocalOrderResult(order.id, "refused", render_reply(NotNow(order.shown, reason, following)).strip())
    for _ in range(MAX_TRIES):
        if is_executed(session.store.load(get_current_head(session)).status, order):
            break
        try:
            reply: CommandReply | None = execute(session, request).answer
        except BranchMoved:
            session.log.branch_writes.pending = None
            continue
        except Stopped:
            raise
        except Prd2prError as problem:
            reply = ProblemReply.of(order.shown, problem)
        if reply is not None and is_refusal(reply):
            return LocalOrderResult(order.id, "refused", render_reply(reply).strip())
        break
    else:
        moved = f"the branch moved in each of {MAX_TRIES} attempts"
        return LocalOrderResult(order.id, "refused", render_reply(ProblemReply(order.shown, moved)).strip())
    return LocalOrderResult(order.id, "done")


def refuse_local_order(order: Order, problem: Prd2prError) -> LocalOrderResult:
    return LocalOrderResult(order.id, "refused", render_reply(ProblemReply.of(order.shown, problem)).strip())
