"""Group commit: one thread stores all deliveries.

Deliveries that arrive during a transaction are stored together in the next one. The disk is flushed once for many
deliveries, and each request is answered only when its own delivery is durable.
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

from prd2pr.github.events.delivery import DeliverySummary, summarize_delivery
from prd2pr.server.database import Database
from prd2pr.server.inbox.store import InboxDelivery, store_deliveries

MAX_BATCH_SIZE = 500
MAX_BATCH_BYTES = 32 * 1024 * 1024
# Beyond this limit deliveries are rejected, and GitHub retries later.
MAX_PENDING_BYTES = 256 * 1024 * 1024

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PendingDelivery:
    guid: str
    event: str
    body: bytes
    loop: asyncio.AbstractEventLoop
    stored: asyncio.Future[bool]


class BatchWriter:
    """A context manager that writes while open, and has written every delivery when it exits."""

    def __init__(
        self, database: Database, on_stored: Callable[[Sequence[DeliverySummary]], None] = lambda _: None
    ) -> None:
        self.database = database
        self.on_stored = on_stored
        self.pending_bytes = 0
        self._pending: queue.SimpleQueue[PendingDelivery | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="inbox-writer", daemon=True)

    def __enter__(self) -> BatchWriter:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pending.put(None)
        self._thread.join()

    async def store_delivery(self, guid: str, event: str, body: bytes) -> bool:
        """Return True once the delivery is durable, or False if it could not be stored.

        If the caller is cancelled, its delivery is still stored when possible and counts as pending until then.
        """
        if self.pending_bytes + len(body) > MAX_PENDING_BYTES:
            return False
        loop = asyncio.get_running_loop()
        arrived = PendingDelivery(guid, event, body, loop, loop.create_future())
        self.pending_bytes += len(body)
        self._pending.put(arrived)
        return await arrived.stored

    def _write_all(self) -> None:
        running = True
        while running:
            batch, running = self._take_batch()
            if batch:
                self._write_batch(batch)

    def _take_batch(self) -> tuple[list[PendingDelivery], bool]:
        """Wait for a delivery. Return all pending ones, and whether the writer stays open."""
        first = self._pending.get()
        if first is None:
            return [], False
        batch, size = [first], len(first.body)
        while len(batch) < MAX_BATCH_SIZE and size < MAX_BATCH_BYTES:
            try:
                more = self._pending.get_nowait()
            except queue.Empty:
                break
            if more is None:
                return batch, False
            batch.append(more)
            size += len(more.body)
        return batch, True

    def _write_batch(self, batch: Sequence[PendingDelivery]) -> None:
        now = time.time()
        try:
            deliveries = [make_inbox_delivery(each, now) for each in batch]
            store_deliveries(self.database, deliveries)
        except SQLAlchemyError as error:
            log.error("%d deliveries could not be stored: %s", len(batch), getattr(error, "orig", error))  # noqa: TRY400
            self._resolve_batch(batch, stored=False)
        except Exception:  # top level of the thread: if it ended, no later request would be answered
            log.exception("%d deliveries could not be stored", len(batch))
            self._resolve_batch(batch, stored=False)
        else:
            self._resolve_batch(batch, stored=True)
            self.on_stored([each.summary for each in deliveries])

    def _resolve_batch(self, batch: Sequence[PendingDelivery], *, stored: bool) -> None:
        """Answer the requests, waking each event loop only once."""
        loops = {id(each.loop): each.loop for each in batch}
        for name, loop in loops.items():
            waiting = [each for each in batch if id(each.loop) == name]
            try:
                loop.call_soon_threadsafe(self._resolve, waiting, stored)
            except RuntimeError:  # the loop has been closed in the meantime
                log.info("%d requests ended before they could be answered", len(waiting))

    def _resolve(self, waiting: Sequence[PendingDelivery], stored: bool) -> None:
        for each in waiting:
            self.pending_bytes -= len(each.body)
            if not each.stored.done():
                each.stored.set_result(stored)


def make_inbox_delivery(arrived: PendingDelivery, now: float) -> InboxDelivery:
    return InboxDelivery(
        arrived.guid, arrived.event, arrived.body, now, summarize_delivery(arrived.event, arrived.body)
    )
