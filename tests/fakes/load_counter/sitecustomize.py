"""Writes one line per loaded branch state to the file named by PRD2PR_TEST_LOADS; put this directory on PYTHONPATH."""

import os
from pathlib import Path

from prd2pr.state.store import BranchState

created = BranchState.__init__


def count(self, *arguments, **options) -> None:
    created(self, *arguments, **options)
    with Path(os.environ["PRD2PR_TEST_LOADS"]).open("a", encoding="utf-8") as file:
        file.write(f"{self.commit}\n")


BranchState.__init__ = count
