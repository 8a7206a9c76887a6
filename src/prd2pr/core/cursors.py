"""How far comments and orders are carried out. It only goes forward, in the very commit that carries something out."""

from __future__ import annotations

from prd2pr.core.orders import with_order
from prd2pr.core.records import Cursor, DoneOrder, Status

Settled = Cursor | DoneOrder  # what a commit puts on record as carried out: a comment up to here, or an order


def cursor_at(status: Status, number: int) -> Cursor:
    """Where the comments under one issue or pull request are carried out up to."""
    return next((cursor for cursor in status.cursors if cursor.number == number), Cursor(number=number, comment=0))


def first_unread(status: Status, number: int) -> int:
    """Comments above this id hold, or may hold, commands that are not carried out."""
    cursor = cursor_at(status, number)
    return cursor.comment if cursor.commands is None else cursor.comment - 1


def commands_done(status: Status, number: int, comment: int) -> int | None:
    """How many commands of a comment are carried out; None: all of them."""
    cursor = cursor_at(status, number)
    if comment == cursor.comment:
        return cursor.commands
    return None if comment < cursor.comment else 0


def with_cursor(status: Status, cursor: Cursor | None) -> Status:
    """The status with the cursor moved on; the same where it stands there or further already."""
    if cursor is None or not is_forward(cursor_at(status, cursor.number), cursor):
        return status
    others = (each for each in status.cursors if each.number != cursor.number)
    return status.model_copy(update={"cursors": tuple(sorted((*others, cursor), key=lambda each: each.number))})


def with_settled(status: Status, settled: Settled | None) -> Status:
    return with_order(status, settled) if isinstance(settled, DoneOrder) else with_cursor(status, settled)


def is_settled(status: Status, settled: Settled) -> bool:
    """Whether it is on record already."""
    if isinstance(settled, DoneOrder):
        return any(each.id == settled.id for each in status.orders)
    return not is_forward(cursor_at(status, settled.number), settled)


def is_forward(old: Cursor, new: Cursor) -> bool:
    if old.comment != new.comment:
        return new.comment > old.comment
    return old.commands is not None and (new.commands is None or new.commands > old.commands)


def moved_forward(before: tuple[Cursor, ...], after: tuple[Cursor, ...]) -> bool:
    """Whether one set of cursors can have come from the other: none lost, none doubled, none set back."""
    old = {cursor.number: cursor for cursor in before}
    new = {cursor.number: cursor for cursor in after}
    if len(new) != len(after) or not old.keys() <= new.keys():
        return False
    return all(old.get(number) in (None, cursor) or is_forward(old[number], cursor) for number, cursor in new.items())
