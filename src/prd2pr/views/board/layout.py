"""Layout of the board and the notebook. Most of the content is collapsed, so that a thousand stories remain usable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prd2pr.domain.wording import count
from prd2pr.views.board.charts import Segment, build_segments
from prd2pr.views.board.models import BoardView
from prd2pr.views.models import Column, ColumnCount, RefusalView, StepView, StoryCard, StoryView

MAX_CARDS = 15  # in each column
MAX_ROWS = 2000  # folded below the cards; further stories are only on the branch

# The tone of each column, and its text when it is empty.
COLUMNS: dict[Column, tuple[str, str]] = {
    Column.PENDING: ("waiting", "No story is waiting."),
    Column.IN_PROGRESS: ("working", "No story is in progress."),
    Column.PASSING: ("passing", "No story is waiting for integration."),
    Column.COMPLETE: ("proven", "No story is complete yet."),
    Column.BLOCKED: ("blocked", "No story is blocked."),
}


@dataclass(frozen=True)
class ColumnPart:
    name: str
    anchor: str
    tone: str
    count: int
    cards: tuple[StoryCard, ...]
    rest: tuple[StoryCard, ...]  # shown as table rows
    left_out: int
    empty: str


def build_columns(board: BoardView) -> tuple[ColumnPart, ...]:
    return tuple(build_column(column, sort_cards(column, board.in_column(column))) for column in Column)


def sort_cards(column: Column, cards: tuple[StoryCard, ...]) -> tuple[StoryCard, ...]:
    """Sort a column's cards in the order in which the stories are worked on, or complete ones latest first."""
    if column is not Column.COMPLETE:
        return cards
    placed = sorted(enumerate(cards), key=lambda each: (each[1].since, each[0]), reverse=True)
    return tuple(card for _, card in placed)


def build_column(column: Column, cards: tuple[StoryCard, ...]) -> ColumnPart:
    tone, empty = COLUMNS[column]
    rest = cards[MAX_CARDS:]
    return ColumnPart(
        name=column.value,
        anchor=column.name.lower().replace("_", "-"),
        tone=tone,
        count=len(cards),
        cards=cards[:MAX_CARDS],
        rest=rest[:MAX_ROWS],
        left_out=max(0, len(rest) - MAX_ROWS),
        empty=empty,
    )


def build_progress_bar(counts: Iterable[ColumnCount], proven: int) -> tuple[Segment, ...]:
    """Build a progress bar that starts with finished stories, followed by those closest to the end."""
    found = {each.column: each.stories for each in counts}
    complete = found.get(Column.COMPLETE, 0)
    parts: Sequence[tuple[int, str, str]] = (
        (proven, "proven", f"{proven:,} done"),
        (complete - proven, "settled", f"{complete - proven:,} finished otherwise"),
        (found.get(Column.PASSING, 0), "passing", f"{found.get(Column.PASSING, 0):,} passing"),
        (found.get(Column.IN_PROGRESS, 0), "working", f"{found.get(Column.IN_PROGRESS, 0):,} in progress"),
        (found.get(Column.BLOCKED, 0), "blocked", f"{found.get(Column.BLOCKED, 0):,} blocked"),
        (found.get(Column.PENDING, 0), "waiting", f"{found.get(Column.PENDING, 0):,} pending"),
    )
    return build_segments(parts)


@dataclass(frozen=True)
class NotebookEntry:
    """A notebook entry: a passed phase or a refused attempt."""

    notes: StepView | None = None
    refusal: RefusalView | None = None


def build_notebook(story: StoryView) -> tuple[NotebookEntry, ...]:
    """List each step after its refused attempts. Refused attempts at the open phase come last."""
    remaining = list(story.refusals)
    found: list[NotebookEntry] = []
    for notes in story.steps:
        before = [each for each in remaining if each.phase == notes.phase]
        found += [NotebookEntry(refusal=each) for each in before]
        remaining = [each for each in remaining if each not in before]
        found.append(NotebookEntry(notes=notes))
    return (*found, *(NotebookEntry(refusal=each) for each in remaining))


def format_proven_stories(stories: int, proven: int) -> str:
    return f"{proven:,} of {count(stories, 'story')} done"
