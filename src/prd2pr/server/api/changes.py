"""What the API takes from whoever may ask for work. It is only handed on: `/orders` says what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, FastAPI, Header, Path, Request, Response

from prd2pr.client import models as said
from prd2pr.core.access import Bearer, Scope
from prd2pr.core.board.view import CircuitView, StoryCard, split_key
from prd2pr.server.api.asking import Wish, asked, must_operate, reset_wish, retry_wish, why_of
from prd2pr.server.api.asking import said as told
from prd2pr.server.api.door import Door, ForOperating
from prd2pr.server.api.problems import Denied
from prd2pr.server.api.reads import TaskKey, not_there, reading_of, visible
from prd2pr.server.orders.record import newest

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
    request: Request,
    response: Response,
    bearer: ForOperating,
    key: TaskKey,
    *,
    why: Reason,
    idempotency_key: IdempotencyKey = None,
) -> said.Asked:
    """As `/tdd retry STORY` in a comment: the phase is tried again with fresh attempts."""
    repo, story = split_key(key)
    names = visible(request, bearer, repo)
    board = reading_of(request).project(names[0]) if names else None
    card = next((each for each in board.cards if each.id == story), None) if board else None
    if card is None:
        raise not_there("task")
    must_operate(bearer)
    return located(request, response, placed(request.app, bearer, retry_wish(bearer, card, why), idempotency_key))


def reset(
    request: Request,
    response: Response,
    bearer: ForOperating,
    circuit_id: CircuitId,
    *,
    why: Reason,
    idempotency_key: IdempotencyKey = None,
) -> said.Asked:
    """As `/tdd reset CIRCUIT` in a comment: what trouble has opened is closed, and work goes on at once."""
    names = visible(request, bearer, circuit_id.partition(":")[0])
    found = reading_of(request).circuits(names)
    circuit = next((each for each in found if each.id.lower() == circuit_id.lower()), None)
    if circuit is None:
        raise not_there("circuit")
    must_operate(bearer)
    return located(request, response, placed(request.app, bearer, reset_wish(bearer, circuit, why), idempotency_key))


def placed(app: FastAPI, bearer: Bearer, wish: Wish, key: str | None = None) -> said.Asked:
    orders = getattr(app.state, "orders", None)
    return asked(app.state.parts.database, orders, bearer, wish, key=key, now=app.state.door.clock())


def located(request: Request, response: Response, made: said.Asked) -> said.Asked:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    response.headers["Location"] = f"{root}/api/v1/orders/{made.id}"
    return made


# --- for the dashboard's forms: the same ---------------------------------------------------------------


MOST_SHOWN = 5


@dataclass(frozen=True)
class FormDesk:
    app: FastAPI

    def reset(self, token: str, circuit: CircuitView) -> str:
        return self._why_not(token, circuit.repo, lambda bearer: reset_wish(bearer, circuit, ""))

    def retry(self, token: str, card: StoryCard, why: str) -> str:
        return self._why_not(token, card.repo, lambda bearer: retry_wish(bearer, card, why))

    def about(self, *subjects: str) -> tuple[said.Asked, ...]:
        found = newest(self.app.state.parts.database, MOST_SHOWN, subjects=subjects) if subjects else ()
        return tuple(map(told, found))

    def _why_not(self, token: str, repo: str, wish: Callable[[Bearer], Wish]) -> str:
        door: Door = self.app.state.door
        bearer = door.bearer(token)
        if bearer is None or not bearer.may(Scope.OPERATE, repo):
            return "This token may not ask for that."
        try:
            placed(self.app, bearer, wish(bearer))
        except Denied as denied:
            return denied.detail
        return ""
