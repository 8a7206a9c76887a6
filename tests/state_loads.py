"""Counts how often a process loads the state of a branch."""

from __future__ import annotations

from pathlib import Path

COUNTER = Path(__file__).parent / "fakes" / "load_counter"


class LoadCounter:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.env = {"PYTHONPATH": str(COUNTER), "PRD2PR_TEST_LOADS": str(file)}

    def take(self) -> list[str]:
        """Return the commits loaded since the last call."""
        commits = self.file.read_text(encoding="utf-8").split()
        self.file.unlink()
        return commits
