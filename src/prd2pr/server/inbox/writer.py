"""One thread writes what all requests bring: those that come while a transaction is being written share the next one.

So the disk is waited for once for many deliveries, and each request is answered only when its own is on it.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from sqlalchemy.exc import SQLAlchemyError

from prd2pr.core.intake import Intake, take_in
from prd2pr.server.database import Database
from prd2pr.server.inbox.store import Delivery, store

MOST_TOGETHER = 500
MOST_BYTES_TOGETHER = 32 * 1024 * 1024
# Beyond this GitHub is told to come again later, rather than kept waiting.
MOST_WAITING_BYTES = 256 * 1024 * 1024

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Arrived:
    guid: str
    event: str
    body: bytes
    loop: asyncio.AbstractEventLoop
    stored: asyncio.Future[bool]


class GroupWriter:
    """A context: writes while it is open, and has written everything when it is left."""

    def __init__(self, database: Database, after: Callable[[Sequence[Intake]], None] = lambda _: None) -> None:
        self.database = database
        self.after = after  # hears of what was stored
        self.waiting_bytes = 0
        self._arrived: queue.SimpleQueue[Arrived | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="inbox-writer", daemon=True)

    def __enter__(self) -> GroupWriter:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._arrived.put(None)
        self._thread.join()

    async def put(self, guid: str, event: str, body: bytes) -> bool:
        """True once the delivery is durable; False where it could not be stored.

        Who does not wait any longer leaves it here: it is stored once that is possible, and counts until then."""
        if self.waiting_bytes + len(body) > MOST_WAITING_BYTES:
            return False
        loop = asyncio.get_running_loop()
        arrived = Arrived(guid, event, body, loop, loop.create_future())
        self.waiting_bytes += len(body)
        self._arrived.put(arrived)
        return await arrived.stored

    def _write_all(self) -> None:
        going_on = True
        while going_on:
            batch, going_on = self._next()
            if batch:
                self._write(batch)

    def _next(self) -> tuple[list[Arrived], bool]:
        """Waits for one, then takes all that are there."""
        first = self._arrived.get()
        if first is None:
            return [], False
        batch, size = [first], len(first.body)
        while len(batch) < MOST_TOGETHER and size < MOST_BYTES_TOGETHER:
            try:
                more = self._arrived.get_nowait()
            except queue.Empty:
                break
            if more is None:
                return batch, False
            batch.append(more)
            size += len(more.body)
        return batch, True

    def _write(self, batch: Sequence[Arrived]) -> None:
        now = time.time()
        try:
            deliveries = [taken_in(each, now) for each in batch]
            store(self.database, deliveries)
        except SQLAlchemyError as error:
            log.error("%d deliveries could not be stored: %s", len(batch), getattr(error, "orig", error))  # noqa: TRY400
            self._answer(batch, stored=False)
        except Exception:  # the thread's edge: were it to end here, nobody would ever be answered again
            log.exception("%d deliveries could not be stored", len(batch))
            self._answer(batch, stored=False)
        else:
            self._answer(batch, stored=True)
            self.after([each.intake for each in deliveries])

    def _answer(self, batch: Sequence[Arrived], *, stored: bool) -> None:
        """Each loop is woken once for all of its requests."""
        loops = {id(each.loop): each.loop for each in batch}
        for name, loop in loops.items():
            waiting = [each for each in batch if id(each.loop) == name]
            try:
                loop.call_soon_threadsafe(self._resolve, waiting, stored)
            except RuntimeError:  # it was closed meanwhile, and nobody waits any more
                log.info("%d requests ended before they could be answered", len(waiting))

    def _resolve(self, waiting: Sequence[Arrived], stored: bool) -> None:
        for each in waiting:
            self.waiting_bytes -= len(each.body)
            if not each.stored.done():
                each.stored.set_result(stored)


def taken_in(arrived: Arrived, now: float) -> Delivery:
    return Delivery(arrived.guid, arrived.event, arrived.body, now, take_in(arrived.event, arrived.body))
