"""Write the table in the docs, between two markers, from `figures.json` next to the charts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from growth.chart import draw, seconds
from growth.curves import Curve, as_json, from_json

BEGIN, END = "<!-- growth: made by `make bench-plots` -->", "<!-- /growth -->"


def write_docs(docs: Path, curves: Sequence[Curve]) -> None:
    """Update table and charts. Axes that were not measured this time keep their figures."""
    figures = docs / "growth" / "figures.json"
    figures.parent.mkdir(parents=True, exist_ok=True)
    fresh = {curve.axis for curve in curves}
    kept = [curve for curve in read_figures(figures) if curve.axis not in fresh]
    whole = [*kept, *curves]
    lines = ",\n".join(json.dumps(as_json(curve)) for curve in whole)
    figures.write_text(f'{{"curves": [\n{lines}\n]}}\n')
    for axis in dict.fromkeys(curve.axis for curve in whole):
        draw(axis, [curve for curve in whole if curve.axis == axis], figures.parent)
    page = docs / "benchmarks.md"
    page.write_text(with_table(page.read_text(), whole))


def read_figures(figures: Path) -> list[Curve]:
    return [from_json(each) for each in json.loads(figures.read_text())["curves"]] if figures.exists() else []


def with_table(text: str, curves: Sequence[Curve]) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{''.join(table_lines(curves))}{END}{after}"


def table_lines(curves: Sequence[Curve]) -> Iterator[str]:
    for axis in dict.fromkeys(curve.axis for curve in curves):
        own = [curve for curve in curves if curve.axis == axis]
        yield f"\n![Cost of each step against {axis}](growth/{axis.replace(' ', '-')}.svg)\n\n"
        yield f"| against {axis} | sizes | processor | memory | exponent | over start | |\n"
        yield "|---|---|---|---|---|---|---|\n"
        for curve in own:
            yield row(curve)
    yield "\n"


def row(curve: Curve) -> str:
    first, last = curve.taken[0], curve.taken[-1]
    name = f"*{curve.step}*, bare" if curve.bare else curve.step
    cells = (
        name,
        f"{curve.sizes[0]:,} to {curve.sizes[-1]:,}",
        f"{seconds(first.processor)} to {seconds(last.processor)}",
        f"{last.megabytes:.0f} MB",
        f"{curve.exponent:.2f}",
        "" if curve.over_start is None else f"{curve.over_start:.2f}",
        f"{curve.verdict}, × {curve.ratio:.2g}" if curve.flat else curve.verdict,
    )
    return f"| {' | '.join(cells)} |\n"
