"""Orders: commands that the App's server passes to a run, given through the API or dashboard instead of a comment.

They arrive as text in an input of the run's event. Only `parse_orders` reads that text, and it ignores
anything invalid. The author is the name of a token, vouched for by the server; the sender of the event is vouched for
by GitHub. Both are recorded, in a form that cannot be mistaken for a login.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from prd2pr.domain.records import ExecutedOrder, Status, UtcTimestamp
from prd2pr.state.layout import ID

Verb = Literal["tdd retry", "tdd reset", "command"]
MAX_ORDERS_PER_EVENT = 20  # any others are sent with the next event
MAX_INPUT_LENGTH = 30_000  # GitHub limits all inputs of an event together to 65,535 characters
MAX_TOKEN_NAME = 100
MAX_REASON_LENGTH = 500
MAX_LINE_LENGTH = 1000
NAME_PUNCTUATION = " ._+-"  # allowed besides letters and digits; nothing with a meaning in Markdown or commit messages
# An order expires after three days (`github.permissions`), so executed ones are remembered for longer than that.
REMEMBER_FOR = timedelta(days=7)


def _check_prd_id(prd: str) -> str:
    if not ID.fullmatch(prd):
        raise ValueError("this is not the id of a PRD")
    return prd


def _check_token_name(name: str) -> str:
    if name != sanitize_token_name(name):
        raise ValueError("this is not the name of a token")
    return name


class Order(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    id: str = Field(pattern=r"^[0-9a-f]{16}$")  # an order that is delivered twice is executed once
    prd: Annotated[str, Field(max_length=200), AfterValidator(_check_prd_id)]
    verb: Verb
    story: str = Field(default="", max_length=70, pattern=r"^(?:[A-Za-z0-9][A-Za-z0-9-]{0,60}-[0-9]{1,6})?$")
    circuit: str = Field(default="", max_length=120, pattern=r"^(?:[A-Za-z0-9][A-Za-z0-9_:./@+-]{0,119})?$")
    line: str = Field(default="", max_length=MAX_LINE_LENGTH, pattern=r"^(?:/[^\x00-\x1f\x7f]+)?$")  # any other command
    by: Annotated[str, Field(min_length=1, max_length=MAX_TOKEN_NAME), AfterValidator(_check_token_name)]
    at: UtcTimestamp
    why: str = Field(default="", max_length=MAX_REASON_LENGTH)

    @model_validator(mode="after")
    def _check_argument(self) -> Self:
        given = {"tdd retry": bool(self.story), "tdd reset": bool(self.circuit), "command": bool(self.line)}
        if [verb for verb, has_argument in given.items() if has_argument] != [self.verb]:
            raise ValueError("a retry needs a story, a reset needs a circuit, any other command its line")
        return self

    @property
    def shown(self) -> str:
        """The command as written in a comment."""
        return self.line or f"/{self.verb} {self.story or self.circuit}"

    @property
    def to_executed(self) -> ExecutedOrder:
        return ExecutedOrder(id=self.id, at=self.at)

    def format_author(self, sender: str) -> str:
        """Return the author for records. A login has no spaces, so the result cannot be mistaken for a login."""
        return f"the token {self.by} through {sender}"


def sanitize_token_name(name: str) -> str:
    """Return a token's name as recorded. Two tokens may get the same name; the server can tell them apart."""
    kept = "".join(each if each.isalnum() or each in NAME_PUNCTUATION else "_" for each in name)
    return " ".join(kept.split())[:MAX_TOKEN_NAME].strip() or "_"


def parse_orders(text: str) -> tuple[Order, ...]:
    """Parse the orders of an event.

    Never raises: invalid text, or more than the server would send, yields no orders.
    """
    if not text or len(text) > MAX_INPUT_LENGTH:
        return ()
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(listed, list) or len(listed) > MAX_ORDERS_PER_EVENT:
        return ()
    found: dict[str, Order] = {}
    for each in listed:
        try:
            order = Order.model_validate(each)
        except ValidationError:
            continue
        found.setdefault(order.id, order)
    return tuple(found.values())


def format_orders(orders: Iterable[Order]) -> str:
    """Format as many orders, from the first, as fit into one event."""
    rows: list[str] = []
    size = 2
    for order in orders:
        row = json.dumps(order.model_dump(exclude_defaults=True), ensure_ascii=False, sort_keys=True)
        size += len(row) + 1
        if len(rows) == MAX_ORDERS_PER_EVENT or size > MAX_INPUT_LENGTH:
            break
        rows.append(row)
    return f"[{','.join(rows)}]" if rows else ""


# --- executed orders on the branch ------------------------------------------------------------------------------------


def is_executed(status: Status, order: Order) -> bool:
    return any(each.id == order.id for each in status.orders)


def record_executed(status: Status, done: ExecutedOrder) -> Status:
    """Record an executed order once, and drop those that can no longer be delivered again."""
    if any(each.id == done.id for each in status.orders):
        return status
    kept = tuple(each for each in status.orders if not _is_expired(each, done))
    return status.model_copy(update={"orders": (*kept, done)})


def is_valid_succession(before: tuple[ExecutedOrder, ...], after: tuple[ExecutedOrder, ...]) -> bool:
    """Return whether `after` follows from `before` by executing at most one order, with none lost or duplicated."""
    if after == before:
        return True
    if not after:
        return False
    return record_executed(Status(orders=before), after[-1]).orders == after


def _is_expired(each: ExecutedOrder, done: ExecutedOrder) -> bool:
    """Return whether an order is too old to matter, compared with the one being recorded."""
    return datetime.fromisoformat(done.at) - datetime.fromisoformat(each.at) > REMEMBER_FOR
