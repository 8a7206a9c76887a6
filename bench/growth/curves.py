"""A curve: what a step took at each size, and by which power of the size it grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from growth.measuring import Taken

LINEAR = 1.15  # up to here, noise and caches considered
FLAT = 2.0  # times what the smallest size takes
LEAST_ADDED = 0.3  # seconds
UPPER = 3  # points of the upper end: at the lower one the start of the program hides everything


@dataclass(frozen=True)
class Curve:
    step: str
    axis: str
    sizes: tuple[int, ...]
    taken: tuple[Taken, ...]
    flat: bool = False  # it must not grow at all
    bare: bool = False  # what git or pytest take by themselves: shown beside, and judged by nobody

    @property
    def exponent(self) -> float:
        """By least squares through the logarithms of the upper points."""
        return slope(self.sizes[-UPPER:], [each.processor for each in self.taken[-UPPER:]])

    @property
    def over_start(self) -> float | None:
        """Of what the size adds to the smallest one's cost, from the last size but one to the last; None where that is
        too little to tell. Nothing hides here, and noise is doubled."""
        added = [each.processor - self.taken[0].processor for each in self.taken[-2:]]
        return slope(self.sizes[-2:], added) if len(self.taken) > 2 and min(added) >= LEAST_ADDED else None

    @property
    def ratio(self) -> float:
        return self.taken[-1].processor / max(self.taken[0].processor, 0.001)

    @property
    def verdict(self) -> str:
        if self.bare:
            return "baseline"
        if self.flat:
            return "flat" if self.ratio <= FLAT else "grows"
        steepest = self.exponent if self.over_start is None else max(self.exponent, self.over_start)
        return "linear or less" if steepest <= LINEAR else "worse than linear"


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    xs, ys = [math.log(size) for size in sizes], [math.log(max(value, 1e-6)) for value in values]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((each - x) ** 2 for each in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread if spread else 0.0


def as_json(curve: Curve) -> dict[str, Any]:
    return {
        "step": curve.step,
        "against": curve.axis,
        "sizes": curve.sizes,
        "processor_seconds": [round(each.processor, 3) for each in curve.taken],
        "peak_mb": [round(each.megabytes, 1) for each in curve.taken],
        "exponent": round(curve.exponent, 2),
        "exponent_over_start": None if curve.over_start is None else round(curve.over_start, 2),
        "largest_vs_smallest": round(curve.ratio, 2),
        "verdict": curve.verdict,
    }


def from_json(told: dict[str, Any]) -> Curve:
    taken = tuple(map(Taken, told["processor_seconds"], told["peak_mb"]))
    verdict = told["verdict"]
    flat, bare = verdict in ("flat", "grows"), verdict == "baseline"
    return Curve(told["step"], told["against"], tuple(told["sizes"]), taken, flat, bare)
