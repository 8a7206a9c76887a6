"""Cache the facts read from files, by blob, so that a large repository is not parsed again for each story.

Without a directory the cache is kept only in memory, for callers that do not trust files in the repository.
"""

from __future__ import annotations

from pathlib import Path

from prd2pr.livingdocs.readers.source_file import FACTS_VERSION
from prd2pr.state.cache import LineCache


class FactsCache(LineCache):
    def __init__(self, private: Path | None = None) -> None:
        super().__init__(private, f"living-{FACTS_VERSION}")
