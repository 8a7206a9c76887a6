"""Charts as geometry in the units of an SVG view box. Templates draw them without a library, scripts or inline styles.

Every chart has a description for screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 720.0
HEIGHT = 220.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 12.0, 12.0, 28.0
MAX_LABELS = 7
MAX_LABEL_CHARACTERS = 44  # total length of labels that fit side by side on a phone
MAX_BAR_WIDTH = 48.0
AXIS_STEPS = (1, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    label: str
    value: str


@dataclass(frozen=True)
class Tick:
    at: float
    label: str
    anchor: str = "middle"  # `text-anchor` of the label


@dataclass(frozen=True)
class Chart:
    """A bar chart over time, or a stepped line of remaining stories if `path` is set, with grid lines."""

    bars: tuple[Bar, ...]
    lines: tuple[Tick, ...]
    labels: tuple[Tick, ...]
    title: str
    path: str = ""
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    floor: float = HEIGHT - BOTTOM


@dataclass(frozen=True)
class Segment:
    """A segment of a stacked bar, in percent from the left."""

    start: float
    length: float
    tone: str
    label: str


@dataclass(frozen=True)
class ChartValue:
    """A data point of a chart: its label, its number, and the number as text."""

    label: str
    value: float
    words: str


def build_bar_chart(measured: Sequence[ChartValue], title: str, *, whole: bool = False, unit: str = "") -> Chart | None:
    """Build a bar chart, or return None if there is nothing to draw. `whole` labels the axis with whole numbers."""
    top = round_up_axis(max((each.value for each in measured), default=0), whole=whole)
    if not measured or not top:
        return None
    room = (WIDTH - LEFT - RIGHT) / len(measured)
    width = min(room * 0.72, MAX_BAR_WIDTH)
    bars = []
    for number, each in enumerate(measured):
        height = (HEIGHT - TOP - BOTTOM) * each.value / top
        x = LEFT + room * number + (room - width) / 2
        bars.append(
            Bar(
                round_coordinate(x),
                round_coordinate(HEIGHT - BOTTOM - height),
                round_coordinate(width),
                round_coordinate(height),
                each.label,
                each.words,
            )
        )
    middles = [LEFT + room * (number + 0.5) for number in range(len(measured))]
    labels = [each.label for each in measured]
    return Chart(tuple(bars), build_grid_lines(top, unit), thin_labels(middles, labels), title)


def build_line_chart(points: Sequence[ChartValue], title: str) -> Chart | None:
    """Build a line chart of equally spaced points, or return None for fewer than two points."""
    if len(points) < 2:
        return None
    top = round_up_axis(max(each.value for each in points), whole=True) or 1
    room = (WIDTH - LEFT - RIGHT - 12) / (len(points) - 1)
    xs = [LEFT + 6 + room * number for number in range(len(points))]
    ys = [HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * each.value / top for each in points]
    way = [f"M{round_coordinate(xs[0])} {round_coordinate(ys[0])}"]
    way += [f"H{round_coordinate(x)}V{round_coordinate(y)}" for x, y in zip(xs[1:], ys[1:], strict=True)]
    dots = tuple(
        Bar(round_coordinate(x), round_coordinate(y), 0, 0, each.label, each.words)
        for x, y, each in zip(xs, ys, points, strict=True)
    )
    labels = thin_labels(xs, [each.label for each in points])
    return Chart(dots, build_grid_lines(top, ""), labels, title, "".join(way))


def build_segments(parts: Sequence[tuple[int, str, str]]) -> tuple[Segment, ...]:
    """Build the segments of a stacked bar from tuples of count, tone and label."""
    whole = sum(count for count, _, _ in parts)
    found, start = [], 0.0
    for count, tone, label in parts:
        if count:
            length = 100 * count / whole
            found.append(Segment(round_coordinate(start), round_coordinate(length), tone, label))
            start += length
    return tuple(found)


def build_grid_lines(top: float, unit: str) -> tuple[Tick, ...]:
    """Build three grid lines at zero, half and the top."""
    found = []
    for share in (0.0, 0.5, 1.0):
        at = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
        found.append(Tick(round_coordinate(at), f"{unit}{abbreviate_number(top * share, money=bool(unit))}"))
    return tuple(found)


def thin_labels(places: Sequence[float], labels: Sequence[str]) -> tuple[Tick, ...]:
    longest = max((len(each) for each in labels), default=0)
    room = min(MAX_LABELS, max(2, MAX_LABEL_CHARACTERS // (longest + 2)))
    stride = max(1, math.ceil(len(labels) / room))
    chosen = list(zip(places, labels, strict=True))[::stride]
    return tuple(
        Tick(round_coordinate(at), label, "end" if at > WIDTH - RIGHT - 30 else "middle") for at, label in chosen
    )


def round_up_axis(highest: float, *, whole: bool) -> float:
    """Round up to a round number for the top of the axis. Returns 0 if there is nothing to show."""
    if highest <= 0:
        return 0
    power: float = 10.0 ** math.floor(math.log10(highest))
    top = next(step * power for step in AXIS_STEPS if step * power >= highest * 0.999999)
    return max(2, math.ceil(top / 2) * 2) if whole else top


def abbreviate_number(number: float, *, money: bool = False) -> str:
    if number >= 1_000_000:
        return f"{number / 1_000_000:g}M"
    if number >= 1000:
        return f"{number / 1000:g}k"
    return f"{number:.2f}" if money and (number >= 0.02 or not number) else f"{number:.4g}"


def round_coordinate(number: float) -> float:
    return round(number, 2)
