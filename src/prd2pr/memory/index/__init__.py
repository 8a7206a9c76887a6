"""The SQLite index of a commit's memory, built from the commit and never committed.

Offers `MemoryIndex`. May import `domain`, `state`, the records in `memory` and the Python parsers.
"""

from prd2pr.memory.index.index import MemoryIndex

__all__ = ["MemoryIndex"]
