"""The plan of a differential run: the target functions, and constants to use as inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TargetKind = Literal["function", "method", "static", "class", "property", "init"]


Constant = int | float | str


@dataclass(frozen=True)
class DifferentialTarget:
    """A function of the old code, identified by file and first line. `line_now` is its first line in the new code."""

    id: str
    name: str  # name inside its module, such as Cart.total
    module: str
    path: str
    line: int
    kind: TargetKind
    hints: tuple[tuple[str, str], ...] = ()  # parameters with their annotations, in order
    needed: tuple[str, ...] = ()  # parameters without a default
    guessable: bool = True
    line_now: int = 0
    judged: bool = True  # if False, only records how objects passed to other targets are created


@dataclass(frozen=True)
class DifferentialPlan:
    """The code to compare before and after the step, and the inputs with which it is called."""

    targets: tuple[DifferentialTarget, ...] = ()
    old: tuple[tuple[str, str | None], ...] = ()  # changed files before the step; None if the file is new
    new: tuple[tuple[str, str], ...] = ()
    watched: tuple[str, ...] = ()  # files whose executed lines are traced
    constants: tuple[tuple[str, tuple[Constant, ...]], ...] = ()  # path -> constants that the code mentions
    modules: tuple[str, ...] = ()  # top-level names of the project's own source
    unordered: bool = False  # the old code uses sets, so the order of its results is not specified
    seed: str = ""
