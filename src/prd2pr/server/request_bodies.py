"""Middleware that limits how long a request body may take to arrive."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)
BODYLESS_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
TIMEOUT_TEXT = b"The request body took too long to arrive.\n"


@dataclass
class BodyTimeoutMiddleware:
    """Answers 408 and logs a message if a client disconnects or stalls while sending the body."""

    app: ASGIApp
    seconds: float
    exempt_paths: frozenset[str] = field(default=frozenset())  # paths that have their own limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in BODYLESS_METHODS or scope["path"] in self.exempt_paths:
            await self.app(scope, receive, send)
            return
        sent: list[Message] = []

        async def send_and_note(message: Message) -> None:
            sent.append(message)
            await send(message)

        try:
            await self.app(scope, limit_receive_time(receive, self.seconds), send_and_note)
        except ClientDisconnect:
            log.info("a request body did not arrive in time", extra={"path": scope["path"]})
            if not sent:
                await send_timeout_response(send)


def limit_receive_time(receive: Receive, seconds: float) -> Receive:
    """Wrap `receive` so that it reports a disconnect if the body has not arrived after `seconds`."""
    ends = asyncio.get_running_loop().time() + seconds
    arrived: list[bool] = []

    async def within() -> Message:
        if arrived:  # after the body, `receive` waits for the disconnect without a time limit
            return await receive()
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        if not message.get("more_body", False):
            arrived.append(True)
        return message

    return within


async def send_timeout_response(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    headers.append((b"content-length", str(len(TIMEOUT_TEXT)).encode()))
    await send({"type": "http.response.start", "status": 408, "headers": headers})
    await send({"type": "http.response.body", "body": TIMEOUT_TEXT})
