"""Orders in a repository of this machine, which no code host has: the same flow, and its answer goes to who ordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.core.orders import Order, is_done
from prd2pr.core.said.answers import Answer, Failed, refuses
from prd2pr.errors import BranchMoved, Prd2prError, Stopped
from prd2pr.flows.drive import head_of
from prd2pr.flows.obey.carry import obey
from prd2pr.flows.orders import as_ordered
from prd2pr.flows.session import Session
from prd2pr.forges.said import render_answer

TRIES = 5


@dataclass(frozen=True)
class Told:
    id: str
    outcome: Literal["done", "refused"]
    answer: str = ""


def carried_out_here(session: Session, order: Order, sender: str) -> Told:
    """Once: another process may be at work on the branch, and may have been quicker."""
    for _ in range(TRIES):
        if is_done(session.store.load(head_of(session)).status, order):
            break
        try:
            answer: Answer | None = obey(session, as_ordered(order, sender)).answer
        except BranchMoved:
            session.log.pending = None
            continue
        except Stopped:
            raise
        except Prd2prError as problem:
            answer = Failed.of(order.shown, problem)
        if answer is not None and refuses(answer):
            return Told(order.id, "refused", render_answer(answer).strip())
        break
    else:
        moved = f"the branch moved {TRIES} times while it was tried"
        return Told(order.id, "refused", render_answer(Failed(order.shown, moved)).strip())
    return Told(order.id, "done")


def refused(order: Order, problem: Prd2prError) -> Told:
    return Told(order.id, "refused", render_answer(Failed.of(order.shown, problem)).strip())
