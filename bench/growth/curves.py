"""A curve: the cost of a step at each size, and the exponent of its growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from growth.measure import Usage

LINEAR = 1.15  # largest exponent that counts as linear: allows for noise and caches
FLAT = 2.0  # largest ratio to the smallest size that counts as flat
LEAST_ADDED = 0.3  # seconds; less than this is noise
UPPER = 3  # largest sizes that are fitted: at small sizes the program's start-up dominates


@dataclass(frozen=True)
class Curve:
    step: str
    axis: str
    sizes: tuple[int, ...]
    taken: tuple[Usage, ...]
    flat: bool = False  # must not grow
    bare: bool = False  # git or pytest alone, for comparison only

    @property
    def exponent(self) -> float:
        """Fit the logarithms of the largest sizes by least squares."""
        return slope(self.sizes[-UPPER:], [each.processor for each in self.taken[-UPPER:]])

    @property
    def over_start(self) -> float | None:
        """Fit the cost added to that of the smallest size, over the last two sizes; None if too little was added.

        Start-up cost cannot hide growth here, but noise is doubled."""
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


def from_json(data: dict[str, Any]) -> Curve:
    taken = tuple(map(Usage, data["processor_seconds"], data["peak_mb"]))
    verdict = data["verdict"]
    flat, bare = verdict in ("flat", "grows"), verdict == "baseline"
    return Curve(data["step"], data["against"], tuple(data["sizes"]), taken, flat, bare)
