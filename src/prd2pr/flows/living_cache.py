"""What was read from a file, kept by its blob, so that a large repository is not parsed anew for each story.

Whoever believes nothing that lies in the repository has one without a file, which lasts as long as the program.
"""

from __future__ import annotations

from pathlib import Path

from prd2pr.core.living.source_file import VERSION
from prd2pr.flows.kept_lines import KEPT_UNUSED, KeptLines

__all__ = ["KEPT_UNUSED", "FactsCache"]


class FactsCache(KeptLines):
    def __init__(self, private: Path | None = None) -> None:
        super().__init__(private, f"living-{VERSION}")
