"""What the API takes from whoever may ask for work. It is only handed on: the branch says what became of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, FastAPI, Header, Path, Request

from prd2pr.client import models as said
from prd2pr.core.access import Scope
from prd2pr.core.board.view import CircuitView, split_key
from prd2pr.server.api.asking import asked, must_operate, reset_wish, retry_wish, why_of
from prd2pr.server.api.door import Door, ForOperating, door_of
from prd2pr.server.api.problems import Denied
from prd2pr.server.api.reads import TaskKey, not_there, reading_of, visible

Reason = Annotated[str, Depends(why_of)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="The same key again is the same request: it is answered, and not done twice.",
    ),
]
CircuitId = Annotated[
    str,
    Path(
        min_length=3,
        max_length=500,
        description="owner/repo:prd:name, as /circuits gives it.",
        examples=["octo/shop:loyalty:green"],
    ),
]


def retry(
    request: Request, bearer: ForOperating, key: TaskKey, why: Reason, idempotency_key: IdempotencyKey = None
) -> said.Asked:
    """As `/tdd retry STORY` in a comment: the phase is tried again with fresh attempts."""
    repo, story = split_key(key)
    names = visible(request, bearer, repo)
    board = reading_of(request).project(names[0]) if names else None
    card = next((each for each in board.cards if each.id == story), None) if board else None
    if card is None:
        raise not_there("task")
    must_operate(bearer)
    state = request.app.state
    wish = retry_wish(bearer, card, why)
    orders = getattr(state, "orders", None)
    return asked(state.parts.database, orders, bearer, wish, key=idempotency_key, now=door_of(request).clock())


def reset_by(app: FastAPI, token: str, circuit: CircuitView) -> str:
    """For the dashboard's form: the same, in a sentence."""
    door: Door = app.state.door
    bearer = door.bearer(token)
    if bearer is None or not bearer.may(Scope.OPERATE, circuit.repo):
        return "This token may not ask for that."
    try:
        wish, orders = reset_wish(bearer, circuit, ""), getattr(app.state, "orders", None)
        made = asked(app.state.parts.database, orders, bearer, wish, key=None, now=door.clock())
    except Denied as denied:
        return denied.detail
    again = "was asked for already" if made.repeated else "is asked for"
    return f"A reset of {circuit.name} {again}: the branch says what becomes of it."


def reset(
    request: Request, bearer: ForOperating, circuit_id: CircuitId, why: Reason, idempotency_key: IdempotencyKey = None
) -> said.Asked:
    """As `/tdd reset CIRCUIT` in a comment: what trouble has opened is closed, and work goes on at once."""
    names = visible(request, bearer, circuit_id.partition(":")[0])
    found = reading_of(request).circuits(names)
    circuit = next((each for each in found if each.id.lower() == circuit_id.lower()), None)
    if circuit is None:
        raise not_there("circuit")
    must_operate(bearer)
    state = request.app.state
    wish = reset_wish(bearer, circuit, why)
    orders = getattr(state, "orders", None)
    return asked(state.parts.database, orders, bearer, wish, key=idempotency_key, now=door_of(request).clock())
