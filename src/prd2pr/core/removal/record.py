"""What a step took away, as it is saved."""

from __future__ import annotations

from prd2pr.core.records import Record


class Removal(Record):
    """A step that only takes away: definitions of the source, and tests that are about nothing else."""

    symbols: tuple[str, ...] = ()  # dotted
    tests: tuple[str, ...] = ()  # node ids without parameters
    files: tuple[str, ...] = ()  # test files that lost tests, or are gone
    objections: tuple[str, ...] = ()  # why it is not what it should be; empty: the code was dead

    @property
    def is_open(self) -> bool:
        return bool(self.symbols) and not self.objections
