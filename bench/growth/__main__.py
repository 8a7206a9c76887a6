"""`python -m growth [--short] [--axis NAME …] [--out FILE] [--docs DIR]`: one JSON object with every curve."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from growth.axes import AXES, BARE, FLAT, Axis
from growth.curves import Curve, as_json
from growth.measure import Usage
from growth.report import write_docs
from growth.shop import Built, first_story

ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__)
    parser.add_argument("--short", action="store_true", help="use small sizes, to check the benchmark itself")
    parser.add_argument("--axis", action="append", choices=tuple(AXES), help="measure only this axis; may be repeated")
    parser.add_argument("--most", metavar="N", type=int, help="largest size")
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=ROUNDS, help="repeat each measurement and use the minimum"
    )
    parser.add_argument("--docs", metavar="DIR", type=Path, help="update the charts and figures in this directory")
    parser.add_argument("--out", metavar="FILE", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    done: list[Curve] = []
    with tempfile.TemporaryDirectory(prefix="growth-") as made:
        scratch = Path(made)
        built = first_story(scratch / "built")
        for axis in (AXES[name] for name in options.axis or AXES):
            sizes = tuple(n for n in (axis.short if options.short else axis.sizes) if n <= (options.most or n))
            for found in measure(axis, scratch, built, sizes, 1 if options.short else options.rounds):
                keep([*done, *found], options)
            done += found
    sys.stdout.write(as_text(done))
    return 0


def keep(curves: list[Curve], options: argparse.Namespace) -> None:
    """Save the curves after each size, so that an interrupted run keeps its results."""
    if options.out:
        options.out.write_text(as_text(curves))
    if options.docs:
        write_docs(options.docs, curves)


def as_text(curves: list[Curve]) -> str:
    return json.dumps({"curves": [as_json(curve) for curve in curves]}, indent=1) + "\n"


def measure(axis: Axis, scratch: Path, built: Built, sizes: tuple[int, ...], rounds: int) -> Iterator[list[Curve]]:
    """Yield all curves after each size. Only one repository exists at a time: the largest take a gigabyte."""
    found: dict[str, list[Usage]] = {}
    for count, size in enumerate(sizes, start=1):
        repo = build_world(axis, scratch / "world", built, size)
        for step, taken in axis.steps(repo, rounds):
            found.setdefault(step, []).append(taken)
            line = f"{axis.name} {size}: {step}: {taken.processor:.2f} s, {taken.megabytes:.0f} MB"
            sys.stderr.write(f"{line}\n")
        yield [curve(axis, sizes[:count], step, taken) for step, taken in found.items()]
        for leftover in scratch.iterdir():
            if leftover != built.repo:
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()


def build_world(axis: Axis, directory: Path, built: Built, size: int) -> Path:
    """Build a repository in another process: the peak of a program includes that of the process that starts it."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(axis.world(directory, built, size)))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"the repository for {axis.name} {size} could not be built")
    found: Path = receiver.recv()
    return found


def curve(axis: Axis, sizes: tuple[int, ...], step: str, taken: list[Usage]) -> Curve:
    flat, bare = step.endswith(FLAT), step.startswith(BARE)
    name = step.removesuffix(FLAT).removeprefix(BARE)
    return Curve(name, axis.name, sizes, tuple(taken), flat, bare)


if __name__ == "__main__":
    sys.exit(main())
