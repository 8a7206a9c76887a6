"""Asking for a change: put on record with who asked, handed on in the same transaction, and never twice."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request
from pydantic import ValidationError
from sqlalchemy import Connection, text

from prd2pr.client.models import Asked, Why
from prd2pr.core.access import Bearer, Scope
from prd2pr.core.board.view import CircuitView, Column, StoryCard
from prd2pr.core.codec import describe
from prd2pr.core.orders import Order, told_name
from prd2pr.core.wording import plain
from prd2pr.server.api.problems import Denied
from prd2pr.server.api.tokens import written
from prd2pr.server.database import Database
from prd2pr.server.orders.placing import Orders
from prd2pr.server.orders.record import Standing, newest, one, tell

LARGEST_BODY = 16 * 1024
KEY = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True)
class Wish:
    """What is asked for, before it has an id. `state` is what it was asked about: the same wish in the same state is
    one, whoever repeats it."""

    order: Callable[[str, str], Order]  # from id and moment
    repo: str
    subject: str
    state: str


def retry_wish(bearer: Bearer, card: StoryCard, why: str) -> Wish:
    """What is over is over. Whether any other story can be retried, the branch says, as it would to a comment."""
    if card.column is Column.COMPLETE:
        raise Denied(
            409,
            f"{card.id} is done with ({card.outcome}): there is nothing to retry.",
            remedy="Ask for a task that is under way or blocked: /tasks?column=BLOCKED",
        )

    def order(number: str, at: str) -> Order:
        name = told_name(bearer.name)
        return Order(id=number, prd=card.prd, verb="tdd retry", story=card.id, by=name, at=at, why=plain(why))

    return Wish(order, card.repo, card.key, f"{card.column}:{card.phase}:{card.attempts}:{card.since}")


def reset_wish(bearer: Bearer, circuit: CircuitView, why: str) -> Wish:
    if circuit.state == "closed":
        raise Denied(409, f"{circuit.name} is closed: there is nothing to reset.", remedy="/circuits?state=open")

    def order(number: str, at: str) -> Order:
        name = told_name(bearer.name)
        return Order(id=number, prd=circuit.prd, verb="tdd reset", circuit=circuit.name, by=name, at=at, why=plain(why))

    return Wish(order, circuit.repo, circuit.id, f"{circuit.opened_at}:{circuit.failures}")


def must_operate(bearer: Bearer) -> None:
    """Asked once it is clear that the subject may be seen: else it would be 404."""
    if not bearer.scope.holds(Scope.OPERATE):
        raise Denied(403, f"This needs the scope `operate`; this token has `{bearer.scope}`.")


def asked(
    database: Database, orders: Orders | None, bearer: Bearer, wish: Wish, *, key: str | None, now: datetime
) -> Asked:
    if orders is None:
        raise Denied(503, "This server shows, and has nobody to do the work.", remedy="Comment on the pull request.")
    order = order_of(wish, now)
    unique = known_by(bearer, wish, order, key)
    with database.writing() as connection:
        if key is None:
            connection.execute(FREED, {"key": unique})
        row = {"key": unique, "token": bearer.id, "name": bearer.name, "subject": wish.subject, "repo": wish.repo}
        added = put(connection, row, order)
        if added:
            orders.place(connection, wish.repo, order)
        found = connection.execute(text("SELECT id FROM asked WHERE idempotency_key = :key"), {"key": unique})
        kept = one(connection, found.scalar_one())
        assert kept is not None, "it was just found"
        if added:
            tell(connection, order.id)
    if (kept.command, kept.subject) != (order.shown, wish.subject):
        raise Denied(409, "This Idempotency-Key was used for another request.", remedy="Take a new key for each.")
    orders.wake()
    return said(kept, repeated=not added)


def order_of(wish: Wish, now: datetime) -> Order:
    """A branch may hold names that no command can say."""
    try:
        return wish.order(secrets.token_hex(8), written(now))
    except ValidationError as error:
        raise Denied(409, f"No command can be about this: {describe(error)}", remedy="Mend the state.") from None


# What was not done can be asked for again in the same words; what is under way or done is the same wish.
FREED = text(
    """UPDATE asked SET idempotency_key = idempotency_key || ':' || id
       WHERE idempotency_key = :key AND outcome IN ('refused', 'failed')"""
)
PUT = text(
    """INSERT INTO asked (id, idempotency_key, token, name, command, repo, subject, why, at, ordered)
       VALUES (:id, :key, :token, :name, :command, :repo, :subject, :why, :at, :ordered)
       ON CONFLICT (idempotency_key) DO NOTHING"""
)


def put(connection: Connection, row: Mapping[str, str], order: Order) -> bool:
    """On record; False where the same was asked for before."""
    more = {"id": order.id, "command": order.shown, "why": order.why, "at": order.at}
    return connection.execute(PUT, {**row, **more, "ordered": order.model_dump_json()}).rowcount == 1


def known_by(bearer: Bearer, wish: Wish, order: Order, key: str | None) -> str:
    """Keys of one token are its own. Without a key, the same wish about the same state is the same."""
    if key is None:
        natural = json.dumps([order.verb, wish.subject, wish.state])
        return f"natural:{hashlib.sha256(natural.encode()).hexdigest()}"
    if not KEY.fullmatch(key):
        raise Denied(422, "Idempotency-Key takes 1 to 200 visible ASCII characters.", remedy="A UUID does well.")
    return f"{bearer.id}:{key}"


def said(it: Standing, *, repeated: bool = False) -> Asked:
    return Asked(
        id=it.id,
        command=it.command,
        repo=it.repo,
        subject=it.subject,
        by=it.by,
        at=it.at,
        why=it.why,
        state=it.state,
        answer=it.answer,
        url=it.url,
        settled_at=it.settled_at,
        repeated=repeated,
    )


def record(database: Database, limit: int) -> tuple[Asked, ...]:
    """Who asked for what, the newest first."""
    return tuple(said(each) for each in newest(database, limit))


async def why_of(request: Request) -> str:
    """The body, which may be left out. It is read no further than it may be long."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > LARGEST_BODY:
            raise Denied(413, f"The body has more than {LARGEST_BODY} bytes.", remedy="Say why in a sentence or two.")
    if not data.strip():
        return ""
    try:
        return Why.model_validate_json(data).why
    except ValidationError as error:
        raise Denied(422, f"The body is not understood: {describe(error)}", remedy='Send {"why": "…"}.') from None
