"""An order that the App's server brings to a run: a command that somebody gave by API or dashboard, not by a comment.

It comes as text in an input of the run's event, and nothing past `read_orders` knows that text. What has not exactly
this form is passed over. Who gave it is a token's name, which the server vouches for; who brought it is the event's
sender, whom the code host vouches for. Both go on record, in words that no login can have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from prd2pr.core.layout import ID
from prd2pr.core.records import DoneOrder, Moment, Status

Verb = Literal["tdd retry", "tdd reset"]
MOST_ORDERS = 20  # in one event; the others come with the next one
LONGEST_TEXT = 30_000  # of an input, all of which together may have 65,535 characters
LONGEST_NAME = 100
LONGEST_WHY = 500
IN_NAMES = " ._+-"  # besides letters and digits: nothing that a commit's message or Markdown would make more of
# An order is not carried out after three days (`core.permission`), so what was done is remembered for longer than that.
REMEMBERED = timedelta(days=7)


def _is_id(prd: str) -> str:
    if not ID.fullmatch(prd):
        raise ValueError("this names no PRD")
    return prd


def _is_told_name(name: str) -> str:
    if name != told_name(name):
        raise ValueError("this is no name of a token")
    return name


class Order(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    id: str = Field(pattern=r"^[0-9a-f]{16}$")  # the same order twice is carried out once
    prd: Annotated[str, Field(max_length=200), AfterValidator(_is_id)]
    verb: Verb
    story: str = Field(default="", max_length=70, pattern=r"^(?:[A-Za-z0-9][A-Za-z0-9-]{0,60}-[0-9]{1,6})?$")
    circuit: str = Field(default="", max_length=120, pattern=r"^(?:[A-Za-z0-9][A-Za-z0-9_:./@+-]{0,119})?$")
    by: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_is_told_name)]
    at: Moment
    why: str = Field(default="", max_length=LONGEST_WHY)

    @model_validator(mode="after")
    def _is_about_what_its_verb_is_about(self) -> Self:
        if bool(self.story) != (self.verb == "tdd retry") or bool(self.circuit) != (self.verb == "tdd reset"):
            raise ValueError("a retry is of one story, a reset of one circuit")
        return self

    @property
    def shown(self) -> str:
        """As a comment would say it."""
        return f"/{self.verb} {self.story or self.circuit}"

    @property
    def done(self) -> DoneOrder:
        return DoneOrder(id=self.id, at=self.at)

    def given_by(self, sender: str) -> str:
        """For the record. A login has no spaces, so this cannot be taken for one."""
        return f"the token {self.by} through {sender}"


def told_name(name: str) -> str:
    """A token's name as orders tell it; two tokens can come to the same, and the server knows which it was."""
    kept = "".join(each if each.isalnum() or each in IN_NAMES else "_" for each in name)
    return " ".join(kept.split())[:LONGEST_NAME].strip() or "_"


def read_orders(text: str) -> tuple[Order, ...]:
    """Never raises. Too much at once is nothing: whoever sends that is not the server."""
    if not text or len(text) > LONGEST_TEXT:
        return ()
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(listed, list) or len(listed) > MOST_ORDERS:
        return ()
    found: dict[str, Order] = {}
    for each in listed:
        try:
            order = Order.model_validate(each)
        except ValidationError:
            continue
        found.setdefault(order.id, order)
    return tuple(found.values())


def written_orders(orders: Iterable[Order]) -> str:
    """As many of them, from the first on, as one event takes."""
    rows: list[str] = []
    size = 2
    for order in orders:
        row = json.dumps(order.model_dump(exclude_defaults=True), ensure_ascii=False, sort_keys=True)
        size += len(row) + 1
        if len(rows) == MOST_ORDERS or size > LONGEST_TEXT:
            break
        rows.append(row)
    return f"[{','.join(rows)}]" if rows else ""


# --- what the branch remembers ----------------------------------------------------------------------------------------


def is_done(status: Status, order: Order) -> bool:
    return any(each.id == order.id for each in status.orders)


def with_order(status: Status, done: DoneOrder) -> Status:
    """On record once; those that nobody can give again any more are forgotten."""
    if any(each.id == done.id for each in status.orders):
        return status
    kept = tuple(each for each in status.orders if not _is_forgotten(each, done))
    return status.model_copy(update={"orders": (*kept, done)})


def is_kept(before: tuple[DoneOrder, ...], after: tuple[DoneOrder, ...]) -> bool:
    """Whether one list can have come from the other by carrying out at most one order: none lost, none doubled."""
    if after == before:
        return True
    if not after:
        return False
    return with_order(Status(orders=before), after[-1]).orders == after


def _is_forgotten(each: DoneOrder, done: DoneOrder) -> bool:
    """By the one that is put on record now: a date that is far ahead makes nothing be forgotten that comes later."""
    return datetime.fromisoformat(done.at) - datetime.fromisoformat(each.at) > REMEMBERED
