"""Events as they were announced, read by whoever listens: the newest from memory, older ones from the database.

One thread asks the database for what is new, however many listen, and wakes them. A listener takes what comes after the
last id that it has seen, so it neither loses nor doubles anything, and a slow one costs nothing but its connection.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import RowMapping, text
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.server.database import Database

LOOKED_EVERY = 0.2  # seconds
IN_MEMORY = 2000
AT_ONCE = 500
KEPT = 20_000  # in the database, for those who come back
TIDIED_EVERY = 1000  # events
LOG = logging.getLogger("prd2pr.server.events")


@dataclass(frozen=True)
class Happened:
    id: int
    at: str
    repo: str
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Kept:
    """What is still there; both are 0 where nothing ever happened."""

    oldest: int
    newest: int


class Announcements:
    """Entered while the server runs. Methods that read may be called from any thread."""

    def __init__(
        self, database: Database, *, every: float = LOOKED_EVERY, is_ending: Callable[[], bool] = lambda: False
    ) -> None:
        """`is_ending`: the server was told to stop, and waits for those who listen."""
        self._database = database
        self._is_ending = is_ending
        self._every = every
        self._recent: deque[Happened] = deque(maxlen=IN_MEMORY)
        self._newest = 0
        self._from = 0  # all that came after this is in memory, as far as memory reaches
        self._listening: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look, name="announcements", daemon=True)

    def __enter__(self) -> Self:
        self._newest = self._from = self.kept().newest
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._wake()
        self._thread.join(timeout=10)

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set() or self._is_ending()

    def listen(self) -> asyncio.Event:
        """Set whenever something is new; whoever listens clears it before reading."""
        woken = asyncio.Event()
        with self._lock:
            self._listening.add((asyncio.get_running_loop(), woken))
        return woken

    def leave(self, woken: asyncio.Event) -> None:
        with self._lock:
            self._listening = {each for each in self._listening if each[1] is not woken}

    @property
    def listeners(self) -> int:
        return len(self._listening)

    def recent(self, after: int) -> list[Happened] | None:
        """What came after this id, oldest first; None: memory does not reach back so far."""
        with self._lock:
            first = self._recent[0].id - 1 if len(self._recent) == IN_MEMORY else self._from
            if after < first:
                return None
            return [each for each in self._recent if each.id > after][:AT_ONCE]

    def stored(self, after: int) -> list[Happened]:
        with self._database.reading() as connection:
            rows = connection.execute(
                text("SELECT * FROM events WHERE id > :after ORDER BY id LIMIT :most"),
                {"after": after, "most": AT_ONCE},
            )
            return [_happened(row) for row in rows.mappings()]

    def kept(self) -> Kept:
        with self._database.reading() as connection:
            row = connection.execute(text("SELECT MIN(id) AS oldest, MAX(id) AS newest FROM events")).mappings().one()
        return Kept(row["oldest"] or 0, row["newest"] or 0)

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        tidied = self._newest
        while not self._stopping.wait(self._every):
            if self._is_ending():
                self._wake()
            try:
                self._take(self.stored(self._newest))
                if self._newest - tidied >= TIDIED_EVERY:
                    self._tidy()
                    tidied = self._newest
            except SQLAlchemyError:  # the database is away: what happens meanwhile is there when it is back
                LOG.warning("events cannot be read now", exc_info=True)
                self._stopping.wait(1)

    def _take(self, found: Sequence[Happened]) -> None:
        if not found:
            return
        with self._lock:
            self._recent.extend(found)
            self._newest = found[-1].id
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            listening = tuple(self._listening)
        for loop, woken in listening:
            if not loop.is_closed():
                loop.call_soon_threadsafe(woken.set)

    def _tidy(self) -> None:
        with self._database.writing() as connection:
            connection.execute(text("DELETE FROM events WHERE id <= :last"), {"last": self._newest - KEPT})


def _happened(row: RowMapping) -> Happened:
    return Happened(row["id"], row["at"], row["repo"], row["kind"], json.loads(row["data"]))
