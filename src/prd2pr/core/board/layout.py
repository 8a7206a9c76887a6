"""What the board and the notebook show first, and what they fold away: a thousand stories stay usable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prd2pr.core.board.charts import Segment, segments
from prd2pr.core.board.view import BoardView, Column, ColumnCount, Notebook, StoryCard, StoryView
from prd2pr.core.picture_parts import Refusal
from prd2pr.core.wording import count

SHOWN_CARDS = 15  # of a column
MOST_ROWS = 2000  # behind them, folded; the branch has the rest

# Its tone, and what is said where nothing is in it.
COLUMNS: dict[Column, tuple[str, str]] = {
    Column.PENDING: ("waiting", "Nothing waits."),
    Column.IN_PROGRESS: ("working", "Nothing is being worked on."),
    Column.PASSING: ("passing", "Nothing waits for its integration."),
    Column.COMPLETE: ("proven", "Nothing is complete yet."),
    Column.BLOCKED: ("blocked", "Nothing is blocked."),
}


@dataclass(frozen=True)
class ColumnPart:
    name: str
    anchor: str
    tone: str
    count: int
    cards: tuple[StoryCard, ...]
    rest: tuple[StoryCard, ...]  # as rows
    left_out: int
    empty: str


def columns(board: BoardView) -> tuple[ColumnPart, ...]:
    return tuple(column_part(column, ordered(column, board.in_column(column))) for column in Column)


def ordered(column: Column, cards: tuple[StoryCard, ...]) -> tuple[StoryCard, ...]:
    """In the order of the work; of what is complete, the last first."""
    if column is not Column.COMPLETE:
        return cards
    placed = sorted(enumerate(cards), key=lambda each: (each[1].since, each[0]), reverse=True)
    return tuple(card for _, card in placed)


def column_part(column: Column, cards: tuple[StoryCard, ...]) -> ColumnPart:
    tone, empty = COLUMNS[column]
    rest = cards[SHOWN_CARDS:]
    return ColumnPart(
        name=column.value,
        anchor=column.name.lower().replace("_", "-"),
        tone=tone,
        count=len(cards),
        cards=cards[:SHOWN_CARDS],
        rest=rest[:MOST_ROWS],
        left_out=max(0, len(rest) - MOST_ROWS),
        empty=empty,
    )


def progress(counts: Iterable[ColumnCount], proven: int) -> tuple[Segment, ...]:
    """How far it is, as one bar: what is proven, then what is nearest to it."""
    found = {each.column: each.stories for each in counts}
    complete = found.get(Column.COMPLETE, 0)
    parts: Sequence[tuple[int, str, str]] = (
        (proven, "proven", f"{proven:,} proven"),
        (complete - proven, "settled", f"{complete - proven:,} settled otherwise"),
        (found.get(Column.PASSING, 0), "passing", f"{found.get(Column.PASSING, 0):,} passing"),
        (found.get(Column.IN_PROGRESS, 0), "working", f"{found.get(Column.IN_PROGRESS, 0):,} in progress"),
        (found.get(Column.BLOCKED, 0), "blocked", f"{found.get(Column.BLOCKED, 0):,} blocked"),
        (found.get(Column.PENDING, 0), "waiting", f"{found.get(Column.PENDING, 0):,} pending"),
    )
    return segments(parts)


@dataclass(frozen=True)
class Entry:
    """What stands in the notebook: a phase that was crossed, or an attempt at one that was refused."""

    notes: Notebook | None = None
    refusal: Refusal | None = None


def notebook(story: StoryView) -> tuple[Entry, ...]:
    """Attempts stand before the step that got through in the end; those at an open phase stand last."""
    left = list(story.refusals)
    found: list[Entry] = []
    for notes in story.notebook:
        before = [each for each in left if each.phase == notes.step.phase]
        found += [Entry(refusal=each) for each in before]
        left = [each for each in left if each not in before]
        found.append(Entry(notes=notes))
    return (*found, *(Entry(refusal=each) for each in left))


def stories_told(stories: int, proven: int) -> str:
    return f"{proven:,} of {count(stories, 'story')} proven"
