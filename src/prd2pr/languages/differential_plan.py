"""The plan of a differential run: target functions, and constants to try as inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TargetKind = Literal["function", "method", "static", "class", "property", "init"]


Constant = int | float | str


@dataclass(frozen=True)
class DifferentialTarget:
    """A function of the old code, by file and first line. `line_now` is its line in the new code."""

    id: str
    name: str  # within its module: Cart.total
    module: str
    path: str
    line: int
    kind: TargetKind
    hints: tuple[tuple[str, str], ...] = ()  # parameter and its annotation, in order
    needed: tuple[str, ...] = ()  # parameters without a default
    guessable: bool = True
    line_now: int = 0
    judged: bool = True  # otherwise it only records how objects passed to other targets are created


@dataclass(frozen=True)
class DifferentialPlan:
    """What is compared between the old and the new code."""

    targets: tuple[DifferentialTarget, ...] = ()
    old: tuple[tuple[str, str | None], ...] = ()  # the changed files before the step; None: the file did not exist
    new: tuple[tuple[str, str], ...] = ()
    watched: tuple[str, ...] = ()  # files whose executed lines are traced
    constants: tuple[tuple[str, tuple[Constant, ...]], ...] = ()  # path -> constants that the code mentions
    modules: tuple[str, ...] = ()  # top-level names of the project's own source
    unordered: bool = False  # the old code uses sets, so the order of its results is not specified
    seed: str = ""
