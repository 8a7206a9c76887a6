"""Asking for a change: put on record with who asked, handed on in the same transaction, and never twice."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request
from pydantic import ValidationError
from sqlalchemy import RowMapping, text

from prd2pr.client.models import Asked, Why
from prd2pr.core.access import Bearer, Scope
from prd2pr.core.board.view import CircuitView, Column, StoryCard
from prd2pr.core.codec import describe
from prd2pr.core.wording import plain
from prd2pr.server.api.problems import Denied
from prd2pr.server.api.tokens import written
from prd2pr.server.database import Database
from prd2pr.server.ordering import Order, Orders

LARGEST_BODY = 16 * 1024
KEY = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True)
class Wish:
    """What is asked for, before it has an id. `state` is what it was asked about: the same wish in the same state is
    one, whoever repeats it."""

    order: Callable[[str, str], Order]  # from id and moment
    subject: str
    state: str


def retry_wish(bearer: Bearer, card: StoryCard, why: str) -> Wish:
    if not card.phase or card.column is Column.COMPLETE:
        stands = "is done with" if card.column is Column.COMPLETE else "was not begun"
        raise Denied(
            409,
            f"{card.id} {stands} ({card.outcome}): there is nothing to retry.",
            remedy="Ask for a task that is under way or blocked: /tasks?column=BLOCKED",
        )

    def order(number: str, at: str) -> Order:
        return Order(number, card.repo, card.prd, "tdd retry", bearer.name, at, story=card.id, why=plain(why))

    return Wish(order, card.key, f"{card.column}:{card.phase}:{card.attempts}:{card.since}")


def reset_wish(bearer: Bearer, circuit: CircuitView, why: str) -> Wish:
    if circuit.state == "closed":
        raise Denied(409, f"{circuit.name} is closed: there is nothing to reset.", remedy="/circuits?state=open")

    def order(number: str, at: str) -> Order:
        return Order(
            number, circuit.repo, circuit.prd, "tdd reset", bearer.name, at, circuit=circuit.name, why=plain(why)
        )

    return Wish(order, circuit.id, f"{circuit.opened_at}:{circuit.failures}")


def must_operate(bearer: Bearer) -> None:
    """Asked once it is clear that the subject may be seen: else it would be 404."""
    if not bearer.scope.holds(Scope.OPERATE):
        raise Denied(403, f"This needs the scope `operate`; this token has `{bearer.scope}`.")


def asked(
    database: Database, orders: Orders | None, bearer: Bearer, wish: Wish, *, key: str | None, now: datetime
) -> Asked:
    if orders is None:
        raise Denied(503, "This server shows, and has nobody to do the work.", remedy="Comment on the pull request.")
    order = wish.order(secrets.token_hex(8), written(now))
    unique = known_by(bearer, wish, order, key)
    with database.writing() as connection:
        added = connection.execute(
            text(
                "INSERT INTO asked (id, idempotency_key, token, name, command, repo, subject, why, at)"
                " VALUES (:id, :key, :token, :name, :command, :repo, :subject, :why, :at)"
                " ON CONFLICT (idempotency_key) DO NOTHING"
            ),
            {
                "id": order.id,
                "key": unique,
                "token": bearer.id,
                "name": bearer.name,
                "command": order.shown,
                "repo": order.repo,
                "subject": wish.subject,
                "why": order.why,
                "at": order.at,
            },
        ).rowcount
        row = connection.execute(text("SELECT * FROM asked WHERE idempotency_key = :key"), {"key": unique}).mappings()
        kept = row.one()
        if added:
            orders.place(connection, order)
    if (kept["command"], kept["subject"]) != (order.shown, wish.subject):
        raise Denied(409, "This Idempotency-Key was used for another request.", remedy="Take a new key for each.")
    return said(kept, repeated=not added)


def known_by(bearer: Bearer, wish: Wish, order: Order, key: str | None) -> str:
    """Keys of one token are its own. Without a key, the same wish about the same state is the same."""
    if key is None:
        natural = json.dumps([order.verb, wish.subject, wish.state])
        return f"natural:{hashlib.sha256(natural.encode()).hexdigest()}"
    if not KEY.fullmatch(key):
        raise Denied(422, "Idempotency-Key takes 1 to 200 visible ASCII characters.", remedy="A UUID does well.")
    return f"{bearer.id}:{key}"


def said(row: RowMapping, *, repeated: bool) -> Asked:
    return Asked(
        id=row["id"],
        command=row["command"],
        repo=row["repo"],
        subject=row["subject"],
        by=row["name"],
        at=row["at"],
        repeated=repeated,
    )


def record(database: Database, limit: int) -> tuple[Asked, ...]:
    """Who asked for what, the newest first."""
    with database.reading() as connection:
        rows = connection.execute(text("SELECT * FROM asked ORDER BY at DESC, id LIMIT :most"), {"most": limit})
        return tuple(said(row, repeated=False) for row in rows.mappings())


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
