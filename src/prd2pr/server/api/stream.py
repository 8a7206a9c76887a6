"""`/events`: server-sent events to one listener, from where it left off."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from prd2pr.core.access import Bearer
from prd2pr.server.api.happened import Announcements, Happened, Kept
from prd2pr.server.api.problems import Denied

HEARTBEAT = 15.0  # seconds; proxies cut what is silent
SLOWEST = 10.0  # seconds that one piece may take to be sent
RETRY_MS = 1000
MISSED = "missed"
LOG = logging.getLogger("prd2pr.server.events")


@dataclass
class Seats:
    """How many may listen at once: in all, and of one token. Used on the event loop alone."""

    most: int
    most_of_one: int
    taken: Counter[str] = field(default_factory=Counter)

    def take(self, holder: str) -> None:
        if self.taken[holder] >= self.most_of_one or self.taken.total() >= self.most:
            raise Denied(
                429,
                f"{self.most_of_one} connections listen with this token already, or {self.most} in all.",
                remedy="Close one, or ask again later.",
                headers={"Retry-After": "30"},
            )
        self.taken[holder] += 1

    def leave(self, holder: str) -> None:
        self.taken[holder] -= 1
        if self.taken[holder] <= 0:
            del self.taken[holder]


def begin_after(last_event_id: str, kept: Kept) -> tuple[int, bool]:
    """After which id to begin, and whether something was missed: it is no longer kept, or was never ours."""
    if not last_event_id:
        return kept.newest, False
    number = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else -1
    if number < 0 or number > kept.newest:
        return kept.newest, True
    return (number, False) if number >= kept.oldest - 1 else (kept.oldest - 1, True)


def as_text(event: Happened) -> str:
    """JSON has no bare line ends, so one line of data holds it."""
    told = json.dumps({"at": event.at, "repo": event.repo, "data": event.data})
    return f"id: {event.id}\nevent: {event.kind}\ndata: {told}\n\n"


def place_text(number: int) -> str:
    """Where the listener is, without an event: a connection that is cut now goes on from here."""
    return f"id: {number}\n\n"


@dataclass(frozen=True)
class Listener:
    bearer: Bearer
    repo: str  # only of this one; empty: of all that the token sees
    still_valid: Callable[[], bool]

    def hears(self, event: Happened) -> bool:
        if self.repo and event.repo.lower() != self.repo.lower():
            return False
        return self.bearer.sees(event.repo) if event.repo else self.bearer.sees_all


class EventStream(Response):
    media_type = "text/event-stream"

    def __init__(
        self,
        announcements: Announcements,
        listener: Listener,
        seats: Seats,
        last_event_id: str,
        *,
        heartbeat: float = HEARTBEAT,
        slowest: float = SLOWEST,
    ) -> None:
        self.status_code = 200
        self.background = None
        # No `body` is set: with one, the headers would say that nothing follows.
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Connection": "close"})
        self._announcements, self._listener, self._seats = announcements, listener, seats
        self._last_event_id, self._heartbeat, self._slowest = last_event_id, heartbeat, slowest

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        woken = self._announcements.listen()
        speaking = asyncio.create_task(self._speak(send, woken))
        leaving = asyncio.create_task(left(receive))
        try:
            await asyncio.wait({speaking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if speaking.done():
                speaking.result()
        except TimeoutError:
            # It is not waited for: what it did not read is kept, and it comes back for it.
            LOG.info("a slow listener was let go", extra={"token": self._listener.bearer.id})
        finally:
            for task in (speaking, leaving):
                task.cancel()
            await asyncio.gather(speaking, leaving, return_exceptions=True)
            self._announcements.leave(woken)
            self._seats.leave(self._listener.bearer.id)

    async def _speak(self, send: Send, woken: asyncio.Event) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        last, missed = begin_after(self._last_event_id, await run_in_threadpool(self._announcements.kept))
        await self._say(send, f"retry: {RETRY_MS}\n\n")
        if missed:
            await self._say(send, f"id: {last}\nevent: {MISSED}\ndata: {{}}\n\n")
        await self._say(send, place_text(last))
        while not self._announcements.stopping:
            woken.clear()
            found = self._announcements.recent(last)
            if found is None:
                found = await run_in_threadpool(self._announcements.stored, last)
            if found:
                last = found[-1].id
                await self._tell(send, found, last)
            elif not await set_within(woken, self._heartbeat):
                if not await run_in_threadpool(self._listener.still_valid):
                    break
                await self._say(send, f": still here\n{place_text(last)}")
        await self._say(send, "", more=False)

    async def _tell(self, send: Send, found: Iterable[Happened], last: int) -> None:
        heard = [event for event in found if self._listener.hears(event)]
        await self._say(send, "".join(map(as_text, heard)) or place_text(last))

    async def _say(self, send: Send, words: str, *, more: bool = True) -> None:
        piece = {"type": "http.response.body", "body": words.encode(), "more_body": more}
        # Not `wait_for`: in Python 3.11 it may swallow that the listener has left, and the seat would stay taken.
        async with asyncio.timeout(self._slowest):
            await send(piece)


async def set_within(woken: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await woken.wait()
    except TimeoutError:
        return False
    return True


async def left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
