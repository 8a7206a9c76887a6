"""The index over what a commit remembers: SQLite, made from the commit, never committed."""

from prd2pr.repo.memory_index.index import MemoryIndex

__all__ = ["MemoryIndex"]
