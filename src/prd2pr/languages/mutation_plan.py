"""The mutation plan that each language produces: faults, replaced return values and text edits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Edit = tuple[int, int, str]  # start and end offset in bytes, and the replacement text


KNOCK_OUT_PLACEHOLDER = "__knocked_out__"  # an undefined name: evaluating it raises NameError


FaultKind = Literal["knock_out", "mutant", "perturbation"]


@dataclass(frozen=True)
class Fault:
    """A deliberate fault.

    `statement` is the start, end and first line of the top-level statement that contains the edit.
    """

    id: str
    kind: FaultKind
    path: str
    line: int
    lines: tuple[int, int]  # a test that executes one of these lines executes the fault
    function: str
    change: str
    edit: Edit
    statement: tuple[int, int, int]
    on_import: bool = False
    exemption: str = ""  # why a surviving fault does not count against the tests


ReplacementKind = Literal["other", "nothing"]


@dataclass(frozen=True)
class ReturnReplacement:
    """A function whose return value is replaced, or whose body does nothing.

    The replacements in one file are applied together.
    """

    path: str
    line: int
    function: str
    how: ReplacementKind
    edits: tuple[Edit, ...]  # edits that several replacements share are applied once


@dataclass(frozen=True)
class MutationPlan:
    """The faults to try in one step."""

    knock_outs: tuple[Fault, ...] = ()
    mutants: tuple[Fault, ...] = ()  # in the order in which they are tried
    perturbations: tuple[Fault, ...] = ()
    answers: tuple[ReturnReplacement, ...] = ()  # used if a language cannot replace functions in a running process
    released: tuple[tuple[str, Edit], ...] = ()  # edits that build the project in its release configuration
    texts: tuple[tuple[str, str], ...] = ()  # paths and digests of the files that the edits apply to

    @property
    def is_empty(self) -> bool:
        return not self.knock_outs and not self.mutants


def rank_faults(faults: Iterable[Fault], seed: str, most: int) -> tuple[Fault, ...]:
    """Choose up to `most` faults in a seeded random order, preferring one fault per line.

    Faults on the same line are often detected together.
    """
    drawn = sorted(faults, key=lambda fault: hashlib.sha256(f"{seed} {fault.id}".encode()).digest())
    count: Counter[tuple[str, int]] = Counter()
    candidates = []
    for fault in drawn:
        count[fault.path, fault.line] += 1
        candidates.append((count[fault.path, fault.line], fault))
    return tuple(fault for _, fault in sorted(candidates, key=lambda pair: pair[0])[:most])
