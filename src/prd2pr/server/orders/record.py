"""Orders in the database: who asked for what, and how far it came. Its delivery in the inbox says whether it is handed
on already; what came of it is written here once, whoever learns of it first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import ValidationError
from sqlalchemy import Connection, RowMapping, String, bindparam, text

from prd2pr.core.orders import MOST_ORDERS, Order
from prd2pr.server.announcing import announce
from prd2pr.server.database import Database

# waiting: not handed on yet. given: a run has it. failed: nobody could be made to do it.
State = Literal["waiting", "given", "done", "refused", "failed"]
Outcome = Literal["done", "refused", "failed"]
LONGEST_ANSWER = 8_000

ROWS = """SELECT asked.*, deliveries.state AS delivered, deliveries.reason AS effect
          FROM asked LEFT JOIN deliveries ON deliveries.guid = asked.delivery"""


@dataclass(frozen=True)
class Standing:
    """An order as it stands."""

    id: str
    repo: str
    command: str
    subject: str
    by: str
    why: str
    at: str
    order: Order | None  # None: of a time when orders were not handed on
    tries: int
    told: str  # the state that listeners were told of last
    looks: int
    outcome: str
    answer: str
    url: str
    settled_at: str
    delivered: str  # how far its delivery is; empty: it has none (any more)
    effect: str  # the mark of the run that has it, or why there is none

    @property
    def state(self) -> State:
        if self.outcome in ("done", "refused", "failed"):
            return self.outcome  # type: ignore[return-value]  # it is one of these
        return "given" if self.delivered == "done" else "waiting"


def standing(row: RowMapping) -> Standing:
    try:
        order = Order.model_validate_json(row["ordered"]) if row["ordered"] else None
    except ValidationError:
        order = None
    return Standing(
        id=row["id"],
        repo=row["repo"],
        command=row["command"],
        subject=row["subject"],
        by=row["name"],
        why=row["why"],
        at=row["at"],
        order=order,
        tries=row["tries"],
        told=row["told"],
        looks=row["looks"],
        outcome=row["outcome"],
        answer=row["answer"],
        url=row["url"],
        settled_at=row["settled_at"],
        delivered=row["delivered"] or "",
        effect=row["effect"] or "",
    )


# --- reading ----------------------------------------------------------------------------------------------------------


def one(connection: Connection, order: str) -> Standing | None:
    row = connection.execute(text(f"{ROWS} WHERE asked.id = :id"), {"id": order}).mappings().first()
    return standing(row) if row is not None else None


def newest(database: Database, limit: int, *, repo: str = "", subjects: Sequence[str] = ()) -> tuple[Standing, ...]:
    """The newest first; only of this repository, or about one of these subjects, where they are named."""
    asked = text(
        f"""{ROWS} WHERE (:repo = '' OR lower(asked.repo) = lower(:repo)) AND (:any = 1 OR asked.subject IN :subjects)
            ORDER BY asked.at DESC, asked.id LIMIT :most"""
    ).bindparams(bindparam("subjects", expanding=True, type_=String))
    given = {"repo": repo, "any": int(not subjects), "subjects": list(subjects), "most": limit}
    with database.reading() as connection:
        return tuple(standing(row) for row in connection.execute(asked, given).mappings())


def open_orders(database: Database, repo: str) -> tuple[Order, ...]:
    """Of a repository: what nobody has carried out or answered, in the order in which it was given. A run gets all of
    it, whatever it was started for; what it knows already it passes over."""
    asked = (
        f"{ROWS} WHERE asked.repo = :repo AND asked.outcome = '' AND asked.ordered <> '' ORDER BY asked.at, asked.id"
    )
    with database.reading() as connection:
        rows = connection.execute(text(f"{asked} LIMIT :most"), {"repo": repo, "most": MOST_ORDERS}).mappings()
        return tuple(order for row in rows if (order := standing(row).order) is not None)


# --- writing ----------------------------------------------------------------------------------------------------------

SETTLE = text(
    """UPDATE asked SET outcome = :outcome, answer = :answer, url = :url, settled_at = :now, told = :outcome
       WHERE id = :id AND outcome = ''"""
)


def settle(database: Database, order: str, outcome: Outcome, answer: str = "", url: str = "") -> bool:
    """False where it was settled before."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    given = {"id": order, "outcome": outcome, "answer": answer[:LONGEST_ANSWER], "url": url, "now": now}
    with database.writing() as connection:
        if connection.execute(SETTLE, given).rowcount != 1:
            return False
        tell(connection, order)
        return True


def settle_all(database: Database, orders: Iterable[Order], outcome: Outcome, answer: str) -> None:
    for each in orders:
        settle(database, each.id, outcome, answer)


def note_given(database: Database, order: str) -> None:
    """That a run has it, once, for whoever listens."""
    with database.writing() as connection:
        asked = text("UPDATE asked SET told = 'given' WHERE id = :id AND told = 'waiting' AND outcome = ''")
        if connection.execute(asked, {"id": order}).rowcount == 1:
            tell(connection, order)


def tell(connection: Connection, order: str) -> None:
    """In the transaction in which it changes."""
    it = one(connection, order)
    if it is not None:
        data = {"order": it.id, "command": it.command, "subject": it.subject, "state": it.state, "answer": it.answer}
        announce(connection, "order_state_changed", it.repo, data)
