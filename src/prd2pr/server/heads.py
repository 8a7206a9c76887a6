"""What comes before a body, and behind its last chunk, is bounded, in size and in time: uvicorn's quick parser waits
for whatever anybody sends. So is the rest of a body that was answered before it was all there, and how long an answer
may lie unread: else a connection that nobody has a token for is held for as long as its other end likes."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 64 * 1024


class BoundedHeads(HttpToolsProtocol):
    head_seconds = 10.0
    rest_seconds = 10.0
    unread_seconds = 30.0

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._head_size = 0
        self._late: asyncio.TimerHandle | None = None  # set while a head is waited for
        self._rest: asyncio.TimerHandle | None = None  # runs while the rest of an answered body is waited for
        self._unread: asyncio.TimerHandle | None = None  # runs while an answer cannot be written on

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        cancel(self._rest)
        cancel(self._unread)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait_for_head()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """A body goes on, or was the last of it: then fields may follow, which are kept as those of a head are."""
        self._wait_for_head()

    def on_body(self, body: bytes) -> None:
        self._stop_waiting()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_waiting()
        cancel(self._rest)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.transport.is_closing():
            self._must_be_read()
        elif self.cycle.response_complete and self.cycle.more_body:
            self._rest = self.loop.call_later(self.rest_seconds, self._too_late)
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._must_be_read()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._must_be_read()

    def resume_writing(self) -> None:
        cancel(self._unread)
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Counted after it was parsed, and where all of it is head: what was a body when it came does not count."""
        before = self._late
        super().data_received(data)
        if self._late is not None and self._late is before and not self.transport.is_closing():
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self.send_400_response("The head of this request is too large.")

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._head_size = 0
        self._late = self.loop.call_later(self.head_seconds, self._too_late)

    def _stop_waiting(self) -> None:
        cancel(self._late)
        self._late = None

    def _too_late(self) -> None:
        self.transport.close()
        self._must_be_read()

    def _must_be_read(self) -> None:
        """Closing alone would wait until what is written has been read."""
        cancel(self._unread)
        self._unread = self.loop.call_later(self.unread_seconds, self.transport.abort)


def cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
