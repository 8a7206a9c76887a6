"""`python -m growth [--short] [--axis NAME …] [--out FILE] [--docs DIR]`: one JSON object with every curve."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from growth.axes import AXES, BARE, FLAT, Axis
from growth.curves import Curve, as_json
from growth.measuring import Taken
from growth.shop import Built, first_story
from growth.telling import write_docs

ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__)
    parser.add_argument("--short", action="store_true", help="small sizes, to see whether the bench itself works")
    parser.add_argument(
        "--axis", action="append", choices=tuple(AXES), help="only this one; may be given several times"
    )
    parser.add_argument("--most", metavar="N", type=int, help="no size beyond this")
    parser.add_argument("--rounds", metavar="N", type=int, default=ROUNDS, help="the least of so many counts")
    parser.add_argument("--docs", metavar="DIR", type=Path, help="bring charts and figures of these docs up to date")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write the figures there too")
    options = parser.parse_args()
    done: list[Curve] = []
    with tempfile.TemporaryDirectory(prefix="growth-") as made:
        scratch = Path(made)
        built = first_story(scratch / "built")
        for axis in (AXES[name] for name in options.axis or AXES):
            sizes = tuple(n for n in (axis.short if options.short else axis.sizes) if n <= (options.most or n))
            for found in measured(axis, scratch, built, sizes, 1 if options.short else options.rounds):
                keep([*done, *found], options)
            done += found
    sys.stdout.write(as_text(done))
    return 0


def keep(curves: list[Curve], options: argparse.Namespace) -> None:
    """After each size: whoever stops it has what was measured until then."""
    if options.out:
        options.out.write_text(as_text(curves))
    if options.docs:
        write_docs(options.docs, curves)


def as_text(curves: list[Curve]) -> str:
    return json.dumps({"curves": [as_json(curve) for curve in curves]}, indent=1) + "\n"


def measured(axis: Axis, scratch: Path, built: Built, sizes: tuple[int, ...], rounds: int) -> Iterator[list[Curve]]:
    """All curves, up to each size in turn. One world at a time: the largest take a gigabyte each."""
    found: dict[str, list[Taken]] = {}
    for count, size in enumerate(sizes, start=1):
        repo = axis.world(scratch / "world", built, size)
        for step, taken in axis.steps(repo, rounds):
            found.setdefault(step, []).append(taken)
            told = f"{axis.name} {size}: {step}: {taken.processor:.2f} s, {taken.megabytes:.0f} MB"
            sys.stderr.write(f"{told}\n")
        yield [curve(axis, sizes[:count], step, taken) for step, taken in found.items()]
        for leftover in scratch.iterdir():
            if leftover != built.repo:
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()


def curve(axis: Axis, sizes: tuple[int, ...], step: str, taken: list[Taken]) -> Curve:
    flat, bare = step.endswith(FLAT), step.startswith(BARE)
    name = step.removesuffix(FLAT).removeprefix(BARE)
    return Curve(name, axis.name, sizes, tuple(taken), flat, bare)


if __name__ == "__main__":
    sys.exit(main())
