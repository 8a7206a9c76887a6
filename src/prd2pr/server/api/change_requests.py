"""Record a requested change with its requester and queue it exactly once, both in one transaction."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, text

from prd2pr.client.models import Asked, CommandLine, ServerReport, Why
from prd2pr.domain.wording import clean_line
from prd2pr.github.orders import parse_order_line
from prd2pr.server.api.problems import RequestDenied
from prd2pr.server.api.tokens import format_utc
from prd2pr.server.database import Database
from prd2pr.server.orders.store import OrderRecord, announce_order_state, find_order
from prd2pr.server.orders.submission import InboxOrderQueue
from prd2pr.server.token_scopes import Bearer, Scope
from prd2pr.state.codec import describe_validation_error
from prd2pr.state.orders import Order, sanitize_token_name
from prd2pr.views.models import CircuitView, Column, PrdSummary, StoryCard

B = TypeVar("B", bound=BaseModel)
MAX_BODY_BYTES = 16 * 1024
MAX_REPORT_BYTES = 4 * 1024 * 1024
KEY_PATTERN = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True)
class ChangeRequest:
    """A requested change that has no id yet. Requests with the same subject and `state` count as the same request."""

    make_order: Callable[[str, str], Order]  # from id and time
    repo: str
    subject: str
    state: str


def make_retry_request(bearer: Bearer, card: StoryCard, why: str) -> ChangeRequest:
    """Make the request, or refuse it for a completed story.

    The run on the branch decides whether an unfinished story can be retried, as it does for a comment.
    """
    if card.column is Column.COMPLETE:
        raise RequestDenied(
            409,
            f"{card.id} is complete ({card.outcome}): there is nothing to retry.",
            remedy="Retry a task that is in progress or blocked: /tasks?column=BLOCKED",
        )

    def order(number: str, at: str) -> Order:
        name = sanitize_token_name(bearer.name)
        return Order(id=number, prd=card.prd, verb="tdd retry", story=card.id, by=name, at=at, why=clean_line(why))

    return ChangeRequest(order, card.repo, card.key, f"{card.column}:{card.phase}:{card.attempts}:{card.since}")


def make_reset_request(bearer: Bearer, circuit: CircuitView, why: str) -> ChangeRequest:
    if circuit.state == "closed":
        raise RequestDenied(409, f"{circuit.name} is closed: there is nothing to reset.", remedy="/circuits?state=open")

    def order(number: str, at: str) -> Order:
        name = sanitize_token_name(bearer.name)
        return Order(
            id=number, prd=circuit.prd, verb="tdd reset", circuit=circuit.name, by=name, at=at, why=clean_line(why)
        )

    return ChangeRequest(order, circuit.repo, circuit.id, f"{circuit.opened_at}:{circuit.failures}")


def make_command_request(bearer: Bearer, repo: str, prd: PrdSummary, body: CommandLine) -> ChangeRequest:
    """Make the request for any command that changes something.

    The run on the branch decides whether the command is allowed.
    """
    line = body.command.strip()
    if parse_order_line(line) is None:
        raise RequestDenied(
            422,
            "This is not a single command that changes something.",
            remedy="Commands: docs/commands.md; to read: GET.",
        )

    def order(number: str, at: str) -> Order:
        name = sanitize_token_name(bearer.name)
        return Order(id=number, prd=prd.id, verb="command", line=line, by=name, at=at, why=clean_line(body.why))

    return ChangeRequest(order, repo, f"{repo}:{prd.id}", f"{prd.head}:{line}")


def require_operate_scope(bearer: Bearer) -> None:
    """Require the `operate` scope.

    Call this only after checking that the token may see the subject; otherwise the response must be 404.
    """
    if not bearer.scope.includes(Scope.OPERATE):
        raise RequestDenied(403, f"The scope `operate` is required; this token has `{bearer.scope}`.")


def submit_change(
    database: Database,
    orders: InboxOrderQueue | None,
    bearer: Bearer,
    request: ChangeRequest,
    *,
    key: str | None,
    now: datetime,
) -> Asked:
    if orders is None:
        raise RequestDenied(
            503,
            "This server is read-only: no worker is configured.",
            remedy="Post the command as a comment on the pull request.",
        )
    order = make_order(request, now)
    unique = make_idempotency_key(bearer, request, order, key)
    with database.writing() as connection:
        if key is None:
            connection.execute(RELEASE_KEY, {"key": unique})
        row = {"key": unique, "token": bearer.id, "name": bearer.name, "subject": request.subject, "repo": request.repo}
        added = insert_request(connection, row, order)
        if added:
            orders.place(connection, request.repo, order)
        found = connection.execute(text("SELECT id FROM asked WHERE idempotency_key = :key"), {"key": unique})
        stored = find_order(connection, found.scalar_one())
        assert stored is not None, "its id was just read"
        if added:
            announce_order_state(connection, order.id)
    if (stored.command, stored.subject) != (order.shown, request.subject):
        raise RequestDenied(
            409, "The Idempotency-Key was used for another request.", remedy="Use a new key for each request."
        )
    orders.wake()
    return make_order_response(stored, repeated=not added)


def make_order(request: ChangeRequest, now: datetime) -> Order:
    """Make the order; refuse it if the branch uses names that no command can express."""
    try:
        return request.make_order(secrets.token_hex(8), format_utc(now))
    except ValidationError as error:
        raise RequestDenied(
            409,
            f"No command can express this: {describe_validation_error(error)}",
            remedy="Fix the state on the branch.",
        ) from None


# A refused or failed request may be repeated. One that is in progress or done counts as the same request.
RELEASE_KEY = text(
    """UPDATE asked SET idempotency_key = idempotency_key || ':' || id
       WHERE idempotency_key = :key AND outcome IN ('refused', 'failed')"""
)
INSERT_REQUEST = text(
    """INSERT INTO asked (id, idempotency_key, token, name, command, repo, subject, why, at, ordered)
       VALUES (:id, :key, :token, :name, :command, :repo, :subject, :why, :at, :ordered)
       ON CONFLICT (idempotency_key) DO NOTHING"""
)


def insert_request(connection: Connection, row: Mapping[str, str], order: Order) -> bool:
    """Record the request; return False if it was already recorded."""
    more = {"id": order.id, "command": order.shown, "why": order.why, "at": order.at}
    return connection.execute(INSERT_REQUEST, {**row, **more, "ordered": order.model_dump_json()}).rowcount == 1


def make_idempotency_key(bearer: Bearer, request: ChangeRequest, order: Order, key: str | None) -> str:
    """Return the client's key, made unique per token, or a digest of the request and the subject's state."""
    if key is None:
        natural = json.dumps([order.verb, request.subject, request.state])
        return f"natural:{hashlib.sha256(natural.encode()).hexdigest()}"
    if not KEY_PATTERN.fullmatch(key):
        raise RequestDenied(
            422, "Idempotency-Key takes 1 to 200 visible ASCII characters.", remedy="Use a UUID, for example."
        )
    return f"{bearer.id}:{key}"


def make_order_response(order: OrderRecord, *, repeated: bool = False) -> Asked:
    return Asked.model_validate(order, from_attributes=True).model_copy(update={"repeated": repeated})


async def read_why(request: Request) -> str:
    """Read the optional reason from the request body, up to the size limit."""
    data = await read_body(request)
    return parse_body(Why, data, 'Send {"why": "…"}.').why if data.strip() else ""


async def read_command_line(request: Request) -> CommandLine:
    return parse_body(CommandLine, await read_body(request), 'Send {"command": "/sprint pause"}.')


async def read_server_report(request: Request) -> ServerReport:
    remedy = 'Send {"url": "https://…", "projects": []}.'
    return parse_body(ServerReport, await read_body(request, MAX_REPORT_BYTES, "Report fewer projects."), remedy)


def parse_body(model: type[B], data: bytes, remedy: str) -> B:
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise RequestDenied(422, f"The body is invalid: {describe_validation_error(error)}", remedy=remedy) from None


async def read_body(
    request: Request, limit: int = MAX_BODY_BYTES, remedy: str = "Give the reason in a sentence or two."
) -> bytes:
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > limit:
            raise RequestDenied(413, f"The body exceeds {limit} bytes.", remedy=remedy)
    return data
