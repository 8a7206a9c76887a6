"""How far comments are carried out. A cursor only goes forward, in the very commit that carries something out."""

from __future__ import annotations

from prd2pr.core.records import Cursor, Status


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
