"""`/events`: server-sent events for one listener, resuming after its last event."""

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

from prd2pr.server.api.events import EventFeed, EventRange, LoggedEvent
from prd2pr.server.api.problems import RequestDenied
from prd2pr.server.token_scopes import Bearer

HEARTBEAT_SECONDS = 15.0  # frequent enough that proxies do not close an idle connection
SEND_SECONDS = 10.0  # time limit for sending one chunk
RETRY_MS = 1000
MISSED = "missed"
LOG = logging.getLogger("prd2pr.server.events")


@dataclass
class ConnectionLimit:
    """Limits concurrent listeners, in total and per token. Not thread-safe: use it on the event loop only."""

    limit: int
    limit_per_token: int
    open_by_token: Counter[str] = field(default_factory=Counter)

    def acquire(self, holder: str) -> None:
        if self.open_by_token[holder] >= self.limit_per_token or self.open_by_token.total() >= self.limit:
            raise RequestDenied(
                429,
                f"Too many event connections: the limit is {self.limit_per_token} per token and {self.limit} in total.",
                remedy="Close one, or try again later.",
                headers={"Retry-After": "30"},
            )
        self.open_by_token[holder] += 1

    def release(self, holder: str) -> None:
        self.open_by_token[holder] -= 1
        if self.open_by_token[holder] <= 0:
            del self.open_by_token[holder]


def find_stream_start(last_event_id: str, stored: EventRange) -> tuple[int, bool]:
    """Return the id to start after, and whether the listener has missed events.

    Events are missed if they have been deleted or if the listener's last id is unknown.
    """
    if not last_event_id:
        return stored.newest, False
    number = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else -1
    if number < 0 or number > stored.newest:
        return stored.newest, True
    return (number, False) if number >= stored.oldest - 1 else (stored.oldest - 1, True)


def format_event(event: LoggedEvent) -> str:
    """Format one event. JSON has no raw line breaks, so the data fits on one line."""
    data = json.dumps({"at": event.at, "repo": event.repo, "data": event.data})
    return f"id: {event.id}\nevent: {event.kind}\ndata: {data}\n\n"


def format_position(number: int) -> str:
    """Format the listener's position without an event, so that it resumes there when it reconnects."""
    return f"id: {number}\n\n"


@dataclass(frozen=True)
class Listener:
    bearer: Bearer
    repo: str  # empty for all repositories that the token covers
    is_token_valid: Callable[[], bool]

    def receives(self, event: LoggedEvent) -> bool:
        if self.repo and event.repo.lower() != self.repo.lower():
            return False
        return self.bearer.sees(event.repo) if event.repo else self.bearer.sees_all


class EventStream(Response):
    media_type = "text/event-stream"

    def __init__(
        self,
        announcements: EventFeed,
        listener: Listener,
        seats: ConnectionLimit,
        last_event_id: str,
        *,
        heartbeat: float = HEARTBEAT_SECONDS,
        slowest: float = SEND_SECONDS,
    ) -> None:
        self.status_code = 200
        self.background = None
        # No `body`, because that would set Content-Length.
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Connection": "close"})
        self._feed, self._listener, self._connection_limit = announcements, listener, seats
        self._last_event_id, self._heartbeat, self._send_seconds = last_event_id, heartbeat, slowest

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        news = self._feed.add_listener()
        sender = asyncio.create_task(self._send_events(send, news))
        disconnect = asyncio.create_task(wait_for_disconnect(receive))
        try:
            await asyncio.wait({sender, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            if sender.done():
                sender.result()
        except TimeoutError:
            # A disconnected slow listener reconnects and reads the stored events.
            LOG.info("a slow listener was disconnected", extra={"token": self._listener.bearer.id})
        finally:
            for task in (sender, disconnect):
                task.cancel()
            await asyncio.gather(sender, disconnect, return_exceptions=True)
            self._feed.remove_listener(news)
            self._connection_limit.release(self._listener.bearer.id)

    async def _send_events(self, send: Send, news: asyncio.Event) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        last, missed = find_stream_start(self._last_event_id, await run_in_threadpool(self._feed.read_stored_range))
        await self._send_text(send, f"retry: {RETRY_MS}\n\n")
        if missed:
            await self._send_text(send, f"id: {last}\nevent: {MISSED}\ndata: {{}}\n\n")
        await self._send_text(send, format_position(last))
        while not self._feed.is_stopping:
            news.clear()
            found = self._feed.read_recent(last)
            if found is None:
                found = await run_in_threadpool(self._feed.read_stored, last)
            if found:
                last = found[-1].id
                await self._send_batch(send, found, last)
            elif not await wait_for_news(news, self._heartbeat):
                if not await run_in_threadpool(self._listener.is_token_valid):
                    break
                await self._send_text(send, f": still here\n{format_position(last)}")
        await self._send_text(send, "", more=False)

    async def _send_batch(self, send: Send, found: Iterable[LoggedEvent], last: int) -> None:
        received = [event for event in found if self._listener.receives(event)]
        await self._send_text(send, "".join(map(format_event, received)) or format_position(last))

    async def _send_text(self, send: Send, text: str, *, more: bool = True) -> None:
        piece = {"type": "http.response.body", "body": text.encode(), "more_body": more}
        # Not `wait_for`: in Python 3.11 it may swallow the cancellation, and the connection would never be released.
        async with asyncio.timeout(self._send_seconds):
            await send(piece)


async def wait_for_news(news: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        return False
    return True


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
