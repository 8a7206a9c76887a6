"""A chart of one axis with two logarithmic scales, so that a power of the size is a straight line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from growth.curves import Curve

LEFT, TOP, WIDE, HIGH = 74.0, 58.0, 470.0, 380.0
LEGEND = LEFT + WIDE + 22
LINE = 34.0  # height of a line in the legend
NICE = (1, 2, 5)


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class PlacedCurve:
    kind: str  # CSS class of the line, which sets its color
    path: str
    dots: tuple[tuple[float, float], ...]
    end: float  # height of the last dot
    label_at: float
    name: str
    summary: str


def draw(axis: str, curves: Sequence[Curve], directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    place = directory / f"{axis.replace(' ', '-')}.svg"
    place.write_text(render_chart(axis, curves))
    return place


def render_chart(axis: str, curves: Sequence[Curve]) -> str:
    scale = Scale.of(curves)
    drawn = legend([place_curve(scale, curve, f"c{n}") for n, curve in enumerate(curves)])
    bottom = max(TOP + HIGH + 46, max((each.label_at for each in drawn), default=0) + 20)
    page = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, autoescape=True, trim_blocks=True
    ).get_template("chart.svg.j2")
    return page.render(
        axis=axis,
        curves=drawn,
        across=scale.across,
        up=scale.up,
        linear=scale.linear(),
        left=LEFT,
        top=TOP,
        right=LEFT + WIDE,
        floor=TOP + HIGH,
        legend=LEGEND,
        width=LEGEND + 340,
        height=bottom,
        summary=f"Processor seconds against {axis}: " + "; ".join(f"{each.name}, {each.summary}" for each in drawn),
    )


@dataclass(frozen=True)
class Scale:
    sizes: tuple[float, float]
    seconds: tuple[float, float]

    @classmethod
    def of(cls, curves: Sequence[Curve]) -> Scale:
        values = [max(each.processor, 0.001) for curve in curves for each in curve.taken]
        sizes = [size for curve in curves for size in curve.sizes]
        return cls((min(sizes), max(sizes)), (down(min(values)), -down(-1 / max(values), flip=True)))

    def x(self, size: float) -> float:
        return round(LEFT + WIDE * share(size, self.sizes), 1)

    def y(self, seconds: float) -> float:
        return round(TOP + HIGH * (1 - share(max(seconds, 0.001), self.seconds)), 1)

    @property
    def across(self) -> tuple[Tick, ...]:
        powers = range(math.floor(math.log10(self.sizes[0])), math.ceil(math.log10(self.sizes[1])) + 1)
        ticks = [float(10**power) for power in powers if self.sizes[0] <= 10**power <= self.sizes[1]]
        ends = [size for size in self.sizes if all(abs(math.log10(size / tick)) > 0.2 for tick in ticks)]
        return tuple(Tick(self.x(size), f"{int(size):,}") for size in sorted([*ticks, *ends]))

    @property
    def up(self) -> tuple[Tick, ...]:
        powers = range(math.floor(math.log10(self.seconds[0])), math.ceil(math.log10(self.seconds[1])) + 1)
        steps = NICE if len(powers) <= 3 else (1,)
        found = [step * 10.0**power for power in powers for step in steps]
        inside = [each for each in found if self.seconds[0] * 0.999 <= each <= self.seconds[1] * 1.001]
        return tuple(Tick(self.y(each), f"{each:g} s") for each in inside)

    def linear(self) -> str:
        """Return the reference line of linear growth, which ends in the upper right corner."""
        start = self.seconds[1] * self.sizes[0] / self.sizes[1]
        if start >= self.seconds[0]:
            return f"M{self.x(self.sizes[0])} {self.y(start)}L{self.x(self.sizes[1])} {self.y(self.seconds[1])}"
        size = self.sizes[1] * self.seconds[0] / self.seconds[1]
        return f"M{self.x(size)} {self.y(self.seconds[0])}L{self.x(self.sizes[1])} {self.y(self.seconds[1])}"


def share(value: float, ends: tuple[float, float]) -> float:
    return math.log(value / ends[0]) / math.log(ends[1] / ends[0]) if ends[1] > ends[0] else 0.5


def down(value: float, *, flip: bool = False) -> float:
    """Round down to a round number; with `flip`, round up and negate."""
    if flip:
        above = -1 / value
        power = 10.0 ** math.floor(math.log10(above))
        return -next(step * power for step in (*NICE, 10) if step * power >= above * 0.999)
    power = 10.0 ** math.floor(math.log10(value))
    return max(step * power for step in NICE if step * power <= value * 1.001)


def place_curve(scale: Scale, curve: Curve, kind: str) -> PlacedCurve:
    dots = tuple(
        (scale.x(size), scale.y(taken.processor)) for size, taken in zip(curve.sizes, curve.taken, strict=True)
    )
    path = "M" + "L".join(f"{x} {y}" for x, y in dots)
    growth = f"× {curve.ratio:.2g}" if curve.flat else f"n^{curve.exponent:.2f}"
    summary = f"{growth}, {seconds(curve.taken[-1].processor)}"
    name = curve.step.replace("`", "") + (", bare" if curve.bare else "")
    return PlacedCurve("bare" if curve.bare else kind, path, dots, dots[-1][1], 0, name, summary)


def seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s" if value >= 1 else f"{value * 1000:.0f} ms"


def legend(drawn: Sequence[PlacedCurve]) -> list[PlacedCurve]:
    """Place each name next to the end of its line, as close as the others allow."""
    placed: list[PlacedCurve] = []
    room = TOP + 4
    for each in sorted(drawn, key=lambda each: each.end):
        left = len(drawn) - len(placed)
        lowest = TOP + HIGH + 24 - LINE * left
        at = max(room, min(each.end, max(lowest, room)))
        placed.append(PlacedCurve(each.kind, each.path, each.dots, each.end, at, each.name, each.summary))
        room = at + LINE
    return placed
