"""Charts as geometry, in the units of an SVG's view box. Templates draw them; no library, no script, no inline style.

Every chart says in a sentence what it shows, for whoever does not see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 720.0
HEIGHT = 220.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 12.0, 12.0, 28.0
MOST_LABELS = 7
LETTERS_BELOW = 44  # as many as stand side by side on a phone
WIDEST_BAR = 48.0
STEPS = (1, 2, 3, 4, 5, 6, 8, 10)


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
    anchor: str = "middle"  # which end of the label stands there


@dataclass(frozen=True)
class BarChart:
    """Bars over time, with lines to read them by."""

    bars: tuple[Bar, ...]
    lines: tuple[Tick, ...]
    labels: tuple[Tick, ...]
    told: str
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    floor: float = HEIGHT - BOTTOM


@dataclass(frozen=True)
class LineChart:
    """A line in steps: what was left, and since when."""

    path: str
    dots: tuple[Bar, ...]
    lines: tuple[Tick, ...]
    labels: tuple[Tick, ...]
    told: str
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    floor: float = HEIGHT - BOTTOM


@dataclass(frozen=True)
class Segment:
    """A part of a bar that is filled from the left, in percent."""

    start: float
    length: float
    tone: str
    label: str


@dataclass(frozen=True)
class Measured:
    """What a bar is made of: a label, a number, and the number in words."""

    label: str
    value: float
    words: str


def bar_chart(measured: Sequence[Measured], told: str, *, whole: bool = False, unit: str = "") -> BarChart | None:
    """None where there is nothing to draw. `whole`: half of one does not exist."""
    top = nice_top(max((each.value for each in measured), default=0), whole=whole)
    if not measured or not top:
        return None
    room = (WIDTH - LEFT - RIGHT) / len(measured)
    width = min(room * 0.72, WIDEST_BAR)
    bars = []
    for number, each in enumerate(measured):
        height = (HEIGHT - TOP - BOTTOM) * each.value / top
        x = LEFT + room * number + (room - width) / 2
        bars.append(Bar(r(x), r(HEIGHT - BOTTOM - height), r(width), r(height), each.label, each.words))
    middles = [LEFT + room * (number + 0.5) for number in range(len(measured))]
    labels = [each.label for each in measured]
    return BarChart(tuple(bars), lines_to(top, unit), thinned_labels(middles, labels), told)


def line_chart(points: Sequence[Measured], told: str) -> LineChart | None:
    """`points` at equal distances; None where there is no way from one to another."""
    if len(points) < 2:
        return None
    top = nice_top(max(each.value for each in points), whole=True) or 1
    room = (WIDTH - LEFT - RIGHT - 12) / (len(points) - 1)
    xs = [LEFT + 6 + room * number for number in range(len(points))]
    ys = [HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * each.value / top for each in points]
    way = [f"M{r(xs[0])} {r(ys[0])}"]
    way += [f"H{r(x)}V{r(y)}" for x, y in zip(xs[1:], ys[1:], strict=True)]
    dots = tuple(Bar(r(x), r(y), 0, 0, each.label, each.words) for x, y, each in zip(xs, ys, points, strict=True))
    return LineChart("".join(way), dots, lines_to(top, ""), thinned_labels(xs, [each.label for each in points]), told)


def segments(parts: Sequence[tuple[int, str, str]]) -> tuple[Segment, ...]:
    """Counts with their tones and labels, side by side; together they are the whole."""
    whole = sum(count for count, _, _ in parts)
    found, start = [], 0.0
    for count, tone, label in parts:
        if count:
            length = 100 * count / whole
            found.append(Segment(r(start), r(length), tone, label))
            start += length
    return tuple(found)


def lines_to(top: float, unit: str) -> tuple[Tick, ...]:
    """Three of them: none, half, all."""
    found = []
    for share in (0.0, 0.5, 1.0):
        at = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
        found.append(Tick(r(at), f"{unit}{short(top * share, money=bool(unit))}"))
    return tuple(found)


def thinned_labels(places: Sequence[float], labels: Sequence[str]) -> tuple[Tick, ...]:
    longest = max((len(each) for each in labels), default=0)
    room = min(MOST_LABELS, max(2, LETTERS_BELOW // (longest + 2)))
    stride = max(1, math.ceil(len(labels) / room))
    chosen = list(zip(places, labels, strict=True))[::stride]
    return tuple(Tick(r(at), label, "end" if at > WIDTH - RIGHT - 30 else "middle") for at, label in chosen)


def nice_top(highest: float, *, whole: bool) -> float:
    """The next round number, so that the lines can be read; 0 where there is nothing."""
    if highest <= 0:
        return 0
    power: float = 10.0 ** math.floor(math.log10(highest))
    top = next(step * power for step in STEPS if step * power >= highest * 0.999999)
    return max(2, math.ceil(top / 2) * 2) if whole else top


def short(number: float, *, money: bool = False) -> str:
    if number >= 1_000_000:
        return f"{number / 1_000_000:g}M"
    if number >= 1000:
        return f"{number / 1000:g}k"
    return f"{number:.2f}" if money and (number >= 0.02 or not number) else f"{number:.4g}"


def r(number: float) -> float:
    """Hundredths of a unit are less than anybody sees."""
    return round(number, 2)
