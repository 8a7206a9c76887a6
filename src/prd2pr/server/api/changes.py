"""Routes that request a change. They only submit the request; `/orders` shows the outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, FastAPI, Header, Path, Request, Response

from prd2pr.client import models as api
from prd2pr.server.api.authentication import Authenticator, ForOperating
from prd2pr.server.api.change_requests import (
    ChangeRequest,
    make_command_request,
    make_order_response,
    make_reset_request,
    make_retry_request,
    read_command_line,
    read_server_report,
    read_why,
    require_operate_scope,
    submit_change,
)
from prd2pr.server.api.problems import RequestDenied
from prd2pr.server.api.reads import TaskKey, get_reader, list_visible_repos, not_found
from prd2pr.server.orders.store import list_orders
from prd2pr.server.registration import record_server
from prd2pr.server.token_scopes import Bearer, Scope
from prd2pr.views.models import CircuitView, StoryCard, split_task_key

Reason = Annotated[str, Depends(read_why)]
CommandBody = Annotated[api.CommandLine, Depends(read_command_line)]
PrdKey = Annotated[str, Path(description="owner/repo:prd", pattern=api.KEY_PATTERN, examples=["octo/shop:loyalty"])]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="A request with the same key is answered but not executed again.",
    ),
]
CircuitId = Annotated[
    str,
    Path(
        min_length=3,
        max_length=500,
        description="owner/repo:prd:name, as in /circuits.",
        examples=["octo/shop:loyalty:green"],
    ),
]


def retry_task(
    request: Request,
    response: Response,
    bearer: ForOperating,
    key: TaskKey,
    *,
    why: Reason,
    idempotency_key: IdempotencyKey = None,
) -> api.Asked:
    """Retry the story's phase with fresh attempts, like `/tdd retry STORY` in a comment."""
    repo, story = split_task_key(key)
    names = list_visible_repos(request, bearer, repo)
    board = get_reader(request).project(names[0]) if names else None
    card = next((each for each in board.cards if each.id == story), None) if board else None
    if card is None:
        raise not_found("task")
    require_operate_scope(bearer)
    return set_location(
        request, response, place_change(request.app, bearer, make_retry_request(bearer, card, why), idempotency_key)
    )


def reset_circuit(
    request: Request,
    response: Response,
    bearer: ForOperating,
    circuit_id: CircuitId,
    *,
    why: Reason,
    idempotency_key: IdempotencyKey = None,
) -> api.Asked:
    """Reset the tripped circuit breaker and resume work, like `/tdd reset CIRCUIT` in a comment."""
    names = list_visible_repos(request, bearer, circuit_id.partition(":")[0])
    found = get_reader(request).circuits(names)
    circuit = next((each for each in found if each.id.lower() == circuit_id.lower()), None)
    if circuit is None:
        raise not_found("circuit")
    require_operate_scope(bearer)
    return set_location(
        request, response, place_change(request.app, bearer, make_reset_request(bearer, circuit, why), idempotency_key)
    )


def give_command(
    request: Request,
    response: Response,
    bearer: ForOperating,
    key: PrdKey,
    *,
    line: CommandBody,
    idempotency_key: IdempotencyKey = None,
) -> api.Asked:
    """Give a PRD any command that changes something, like a comment with this line."""
    repo, name = split_task_key(key)
    names = list_visible_repos(request, bearer, repo)
    board = get_reader(request).project(names[0]) if names else None
    prd = next((each for each in board.project.prds if each.id == name), None) if board else None
    if board is None or prd is None:
        raise not_found("project")
    require_operate_scope(bearer)
    change = make_command_request(bearer, board.project.repo, prd, line)
    return set_location(request, response, place_change(request.app, bearer, change, idempotency_key))


def register_server(
    request: Request, bearer: ForOperating, report: Annotated[api.ServerReport, Depends(read_server_report)]
) -> api.Source:
    """Register a server under the token's name, or record its heartbeat if it is registered."""
    require_operate_scope(bearer)
    record_server(request.app.state.context.database, bearer, report)
    return api.Source(name=bearer.name, url=report.url, stale=False, age_seconds=0)


def place_change(app: FastAPI, bearer: Bearer, change: ChangeRequest, key: str | None = None) -> api.Asked:
    orders = getattr(app.state, "orders", None)
    return submit_change(
        app.state.context.database, orders, bearer, change, key=key, now=app.state.authenticator.clock()
    )


def set_location(request: Request, response: Response, order: api.Asked) -> api.Asked:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    response.headers["Location"] = f"{root}/api/v1/orders/{order.id}"
    return order


# --- the dashboard's forms ---------------------------------------------------------------


MAX_SHOWN = 5


@dataclass(frozen=True)
class FormOrders:
    """Submits orders from the dashboard. Each method returns the reason for a refusal, or an empty string."""

    app: FastAPI

    def reset(self, token: str, circuit: CircuitView) -> str:
        return self._submit(token, circuit.repo, lambda bearer: make_reset_request(bearer, circuit, ""))

    def retry(self, token: str, card: StoryCard, why: str) -> str:
        return self._submit(token, card.repo, lambda bearer: make_retry_request(bearer, card, why))

    def list_orders_about(self, *subjects: str) -> tuple[api.Asked, ...]:
        found = list_orders(self.app.state.context.database, MAX_SHOWN, subjects=subjects) if subjects else ()
        return tuple(map(make_order_response, found))

    def _submit(self, token: str, repo: str, change: Callable[[Bearer], ChangeRequest]) -> str:
        authenticator: Authenticator = self.app.state.authenticator
        bearer = authenticator.bearer(token)
        if bearer is None or not bearer.may(Scope.OPERATE, repo):
            return "This token is not allowed to make this request."
        try:
            place_change(self.app, bearer, change(bearer))
        except RequestDenied as denied:
            return denied.detail
        return ""
