"""The saved result of a step that removes dead code."""

from __future__ import annotations

from prd2pr.domain.records import Record


class Removal(Record):
    """A step that only removes code: definitions in the source, and tests that test nothing else."""

    symbols: tuple[str, ...] = ()  # dotted names
    tests: tuple[str, ...] = ()  # node ids without parameters
    files: tuple[str, ...] = ()  # test files that lost tests or were deleted
    objections: tuple[str, ...] = ()  # why the removal is invalid; empty if the code was dead

    @property
    def is_open(self) -> bool:
        return bool(self.symbols) and not self.objections
