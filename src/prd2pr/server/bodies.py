"""Bodies of forms and orders: small, and not waited for any longer than a delivery's is."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)
WITHOUT = frozenset({"GET", "HEAD", "OPTIONS"})
LATE = b"The body took too long.\n"


@dataclass
class PatientBodies:
    """Middleware. Whoever hangs up, or does not go on, is no failure of ours: 408, and a line in the log."""

    app: ASGIApp
    seconds: float
    besides: frozenset[str] = field(default=frozenset())  # paths that see to it themselves

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in WITHOUT or scope["path"] in self.besides:
            await self.app(scope, receive, send)
            return
        begun: list[Message] = []

        async def noted(message: Message) -> None:
            begun.append(message)
            await send(message)

        try:
            await self.app(scope, in_time(receive, self.seconds), noted)
        except ClientDisconnect:
            log.info("a body did not arrive", extra={"path": scope["path"]})
            if not begun:
                await tell_late(send)


def in_time(receive: Receive, seconds: float) -> Receive:
    """The same, as if whoever sends had left where its body is not there by then."""
    ends = asyncio.get_running_loop().time() + seconds
    arrived: list[bool] = []

    async def within() -> Message:
        if arrived:  # afterwards it is about who leaves, however late
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


async def tell_late(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    headers.append((b"content-length", str(len(LATE)).encode()))
    await send({"type": "http.response.start", "status": 408, "headers": headers})
    await send({"type": "http.response.body", "body": LATE})
