"""HTTP connection limits that uvicorn's fast parser does not have.

They cover the size and time of request headers and trailers, the time for the rest of a body that was already answered,
and the time a response may remain unread. Without them, a client without a token could hold connections indefinitely.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits for headers, trailers, bodies and unread responses."""

    head_seconds = 10.0
    rest_seconds = 10.0
    unread_seconds = 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_size = 0
        self._head_timer: asyncio.TimerHandle | None = None  # set while waiting for the request headers
        self._rest_timer: asyncio.TimerHandle | None = None  # runs while waiting for the rest of an answered body
        self._unread_timer: asyncio.TimerHandle | None = None  # runs while the client does not read the response

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        cancel_timer(self._rest_timer)
        cancel_timer(self._unread_timer)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._start_head_timer()

    def on_headers_complete(self) -> None:
        self._stop_head_timer()
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """Start the timer, since the last chunk may be followed by trailers, which have the same limits as headers."""
        self._start_head_timer()

    def on_body(self, body: bytes) -> None:
        self._stop_head_timer()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_head_timer()
        cancel_timer(self._rest_timer)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.transport.is_closing():
            self._abort_if_unread()
        elif self.cycle.response_complete and self.cycle.more_body:
            self._rest_timer = self.loop.call_later(self.rest_seconds, self._close_late)
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._abort_if_unread()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._abort_if_unread()

    def resume_writing(self) -> None:
        cancel_timer(self._unread_timer)
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Parse the data. Then count its bytes, if all of them belong to the request headers."""
        before = self._head_timer
        super().data_received(data)
        if self._head_timer is not None and self._head_timer is before and not self.transport.is_closing():
            self._head_size += len(data)
            if self._head_size > MAX_HEAD_BYTES:
                self.send_400_response("The request head is too large.")

    def _start_head_timer(self) -> None:
        self._stop_head_timer()
        self._head_size = 0
        self._head_timer = self.loop.call_later(self.head_seconds, self._close_late)

    def _stop_head_timer(self) -> None:
        cancel_timer(self._head_timer)
        self._head_timer = None

    def _close_late(self) -> None:
        self.transport.close()
        self._abort_if_unread()

    def _abort_if_unread(self) -> None:
        """Abort the connection after a while; closing alone would wait until the client has read everything."""
        cancel_timer(self._unread_timer)
        self._unread_timer = self.loop.call_later(self.unread_seconds, self.transport.abort)


def cancel_timer(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
