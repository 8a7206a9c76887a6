"""A command that somebody asked for by API or dashboard: it takes the same way as a comment; no state is written here.

`server.work` carries orders out, and sets `app.state.orders` to something with `place`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from sqlalchemy import Connection

Verb = Literal["tdd retry", "tdd reset"]


@dataclass(frozen=True)
class Order:
    id: str  # the same order placed twice is carried out once
    repo: str
    prd: str
    verb: Verb
    by: str  # whom it goes on record with: the token's name
    at: str
    story: str = ""
    circuit: str = ""
    why: str = ""

    @property
    def shown(self) -> str:
        """As a comment would say it."""
        return f"/{self.verb} {self.story or self.circuit}".rstrip()


class Orders(Protocol):
    def place(self, connection: Connection, order: Order) -> None:
        """In the transaction in which it is put on record: durable with it, carried out after it."""
        ...
