"""The event feed for listeners: recent events from memory, older ones from the database.

One thread polls the database and wakes all listeners. Each listener reads the events after its last id, so it neither
misses nor repeats any, and a slow listener delays nobody else.
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

POLL_SECONDS = 0.2  # seconds
MAX_IN_MEMORY = 2000
BATCH_SIZE = 500
MAX_STORED = 20_000  # events kept in the database for listeners that reconnect
PRUNE_EVERY = 1000  # events kept in memory
LOG = logging.getLogger("prd2pr.server.events")


@dataclass(frozen=True)
class LoggedEvent:
    id: int
    at: str
    repo: str
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class EventRange:
    """The range of stored event ids; both are 0 if there has never been an event."""

    oldest: int
    newest: int


class EventFeed:
    """The event feed. Enter it while the server runs; its reading methods are thread-safe."""

    def __init__(
        self,
        database: Database,
        *,
        every: float = POLL_SECONDS,
        is_ending: Callable[[], bool] = lambda: False,
        observe: Callable[[LoggedEvent], None] = lambda _: None,
    ) -> None:
        """Create the feed; `is_ending` returns whether the server is shutting down and its listeners must leave.

        `observe` is called once with each new event.
        """
        self._database, self._observe = database, observe
        self._is_ending = is_ending
        self._every = every
        self._recent: deque[LoggedEvent] = deque(maxlen=MAX_IN_MEMORY)
        self._newest = 0
        self._memory_start = 0  # memory has every event after this id
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="announcements", daemon=True)

    def __enter__(self) -> Self:
        self._newest = self._memory_start = self.read_stored_range().newest
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._wake()
        self._thread.join(timeout=10)

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set() or self._is_ending()

    def add_listener(self) -> asyncio.Event:
        """Return an `asyncio.Event` that is set when new events arrive.

        The listener clears it before it reads the events.
        """
        woken = asyncio.Event()
        with self._lock:
            self._listeners.add((asyncio.get_running_loop(), woken))
        return woken

    def remove_listener(self, woken: asyncio.Event) -> None:
        with self._lock:
            self._listeners = {each for each in self._listeners if each[1] is not woken}

    @property
    def listener_count(self) -> int:
        return len(self._listeners)

    def read_recent(self, after: int) -> list[LoggedEvent] | None:
        """Return the events after this id, oldest first, or None if memory does not reach back that far."""
        with self._lock:
            first = self._recent[0].id - 1 if len(self._recent) == MAX_IN_MEMORY else self._memory_start
            if after < first:
                return None
            return [each for each in self._recent if each.id > after][:BATCH_SIZE]

    def read_stored(self, after: int) -> list[LoggedEvent]:
        with self._database.reading() as connection:
            rows = connection.execute(
                text("SELECT * FROM events WHERE id > :after ORDER BY id LIMIT :most"),
                {"after": after, "most": BATCH_SIZE},
            )
            return [_parse_event_row(row) for row in rows.mappings()]

    def read_stored_range(self) -> EventRange:
        with self._database.reading() as connection:
            row = connection.execute(text("SELECT MIN(id) AS oldest, MAX(id) AS newest FROM events")).mappings().one()
        return EventRange(row["oldest"] or 0, row["newest"] or 0)

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        pruned = self._newest
        while not self._stopping.wait(self._every):
            if self._is_ending():
                self._wake()
            try:
                self._append(self.read_stored(self._newest))
                if self._newest - pruned >= PRUNE_EVERY:
                    self._prune()
                    pruned = self._newest
            except SQLAlchemyError:  # the database is down; the events are read when it is back
                LOG.warning("events cannot be read now", exc_info=True)
                self._stopping.wait(1)

    def _append(self, found: Sequence[LoggedEvent]) -> None:
        if not found:
            return
        with self._lock:
            self._recent.extend(found)
            self._newest = found[-1].id
        for event in found:
            self._observe(event)
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            listening = tuple(self._listeners)
        for loop, woken in listening:
            if not loop.is_closed():
                loop.call_soon_threadsafe(woken.set)

    def _prune(self) -> None:
        with self._database.writing() as connection:
            connection.execute(text("DELETE FROM events WHERE id <= :last"), {"last": self._newest - MAX_STORED})


def _parse_event_row(row: RowMapping) -> LoggedEvent:
    return LoggedEvent(row["id"], row["at"], row["repo"], row["kind"], json.loads(row["data"]))
