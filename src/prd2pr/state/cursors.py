"""Cursors that record which comments and orders were processed.

A cursor only moves forward, in the commit that records the command.
"""

from __future__ import annotations

from typing import Literal

from prd2pr.domain.records import Cursor, ExecutedOrder, Status
from prd2pr.state.orders import record_executed

ProcessedItem = Cursor | ExecutedOrder  # a comment or order that a commit records as processed


CursorKind = Literal["comment", "review"]


def get_cursor(status: Status, number: int, kind: CursorKind = "comment") -> Cursor:
    """Return the cursor of the comments, or of the reviews, of one issue or pull request."""
    empty = Cursor(number=number, kind=kind, comment=0)
    return next((cursor for cursor in status.cursors if (cursor.number, cursor.kind) == (number, kind)), empty)


def find_first_unread(status: Status, number: int, kind: CursorKind = "comment") -> int:
    """Return the id above which comments may contain unprocessed commands."""
    cursor = get_cursor(status, number, kind)
    return cursor.comment if cursor.commands is None else cursor.comment - 1


def count_commands_done(status: Status, number: int, comment: int, kind: CursorKind = "comment") -> int | None:
    """Return how many commands of a comment are done, or None if all of them are."""
    cursor = get_cursor(status, number, kind)
    if comment == cursor.comment:
        return cursor.commands
    return None if comment < cursor.comment else 0


def advance_cursor(status: Status, cursor: Cursor | None) -> Status:
    """Return the status with the cursor moved forward, or the same object if it is already there or further."""
    if cursor is None or not is_forward(get_cursor(status, cursor.number, cursor.kind), cursor):
        return status
    place = (cursor.number, cursor.kind)
    others = (each for each in status.cursors if (each.number, each.kind) != place)
    ordered = sorted((*others, cursor), key=lambda each: (each.number, each.kind))
    return status.model_copy(update={"cursors": tuple(ordered)})


def record_processed(status: Status, settled: ProcessedItem | None) -> Status:
    return record_executed(status, settled) if isinstance(settled, ExecutedOrder) else advance_cursor(status, settled)


def is_processed(status: Status, settled: ProcessedItem) -> bool:
    if isinstance(settled, ExecutedOrder):
        return any(each.id == settled.id for each in status.orders)
    return not is_forward(get_cursor(status, settled.number, settled.kind), settled)


def is_forward(old: Cursor, new: Cursor) -> bool:
    if old.comment != new.comment:
        return new.comment > old.comment
    return old.commands is not None and (new.commands is None or new.commands > old.commands)


def has_only_moved_forward(before: tuple[Cursor, ...], after: tuple[Cursor, ...]) -> bool:
    """Return whether `after` can follow `before`: no cursor is lost, duplicated or moved back."""
    old = {(cursor.number, cursor.kind): cursor for cursor in before}
    new = {(cursor.number, cursor.kind): cursor for cursor in after}
    if len(new) != len(after) or not old.keys() <= new.keys():
        return False
    return all(old.get(place) in (None, cursor) or is_forward(old[place], cursor) for place, cursor in new.items())
