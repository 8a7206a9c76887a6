"""Query and extend a memory of ten thousand failures, with search by words, which every installation has."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from prd2pr.domain.memory_records import FailureRecord
from prd2pr.memory.files import encode_memory_file
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.queries import find_similar_failures
from prd2pr.state.git import Git

AT = "2026-01-01T00:00:00Z"
HISTORY, LONG_HISTORY = 1_000, 10_000
ROUNDS = 9
COMMON = 100
SYLLABLES = ("ba", "co", "di", "fu", "ga", "ho", "ki", "lu", "me", "no", "pe", "ra", "si", "to", "vu", "xe")
TEXT = "Send the customer a message before loyalty points expire, with a queue that is tried again after a failure"


@cache
def vocabulary() -> list[str]:
    """Return real words, which many records share, then invented ones of falling frequency."""
    made = [f"{a}{b}{c}" for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES]
    return [*dict.fromkeys(TEXT.lower().replace(",", "").split()), *made]


def failure(number: int) -> FailureRecord:
    words, draw = vocabulary(), random.Random(number)  # noqa: S311 - the same every time

    def sentence(length: int) -> str:
        # As in real texts, few words are common; the most common one is in every third record.
        ranks = (int(COMMON * (draw.paretovariate(0.8) - 1)) for _ in range(length))
        return " ".join(words[min(rank, len(words) - 1)] for rank in ranks)

    return FailureRecord(
        id=f"f-{number}",
        prd="bench",
        at=AT,
        feature=sentence(6),
        approach=sentence(12),
        why_failed=sentence(20),
        lesson=sentence(12),
    )


def tree_with(git: Git, tree: str, numbers: range) -> str:
    return git.edit_tree(tree, dict(encode_memory_file(failure(number)) for number in numbers))


def memory_times(short: Path, long: Path) -> dict[str, float]:
    """Return the seconds to index one more record, for both histories, and to query the long one."""
    with Git.open(short) as small, Git.open(long) as great:
        memories = [GrowingMemory(small, HISTORY), GrowingMemory(great, LONG_HISTORY)]
        rounds = [[each.grow() for each in memories] for _ in range(ROUNDS)]
        update, update_long = (min(times) for times in zip(*rounds, strict=True))
        with MemoryIndex.open(great, memories[1].tree, code=False) as index:
            index.embedder = None
            asked = min(timed(lambda: find_similar_failures(index, TEXT, limit=50)) for _ in range(ROUNDS))
    return {"similar": asked, "update": update, "update_long": update_long}


class GrowingMemory:
    """A memory that grows by one record at a time, with its index."""

    def __init__(self, git: Git, size: int) -> None:
        self.git, self.size = git, size
        self.tree = tree_with(git, git.tree("HEAD"), range(size))
        MemoryIndex.open(git, self.tree, code=False).close()

    def grow(self) -> float:
        """Add a record and return the seconds to index it."""
        self.tree = tree_with(self.git, self.tree, range(self.size, self.size + 1))
        self.size += 1
        return timed(lambda: MemoryIndex.open(self.git, self.tree, code=False).close())


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
