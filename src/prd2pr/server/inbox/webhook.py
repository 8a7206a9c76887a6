"""`POST /webhook`: 401 unless it is signed, 202 once it is on the disk, and nothing in between is believed.

It is plain ASGI: every delivery goes through here, and most of them are nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from prd2pr.core.intake import Intake
from prd2pr.server.app import WEBHOOK, Parts
from prd2pr.server.inbox.signature import is_signed
from prd2pr.server.inbox.writer import GroupWriter
from prd2pr.server.settings import ServerSettings

GUID = re.compile(rb"[A-Za-z0-9._-]{1,100}")
EVENT = re.compile(rb"[a-z_]{1,64}")
SIGNATURE = re.compile(rb"sha256=[0-9a-f]{64}")
# Of bodies that are still arriving, and that nobody has signed as far as is known.
MOST_ARRIVING_BYTES = 128 * 1024 * 1024
# From head to answer; GitHub waits for ten seconds. However late its body was, a delivery has a moment to be stored.
ANSWER_SECONDS = 9.0
A_MOMENT = 1.0


def add_to(app: FastAPI, parts: Parts) -> AbstractContextManager[Any]:
    writer = GroupWriter(parts.database, after=partial(tell, app, parts))
    app.router.routes.append(Route(WEBHOOK, Webhook(parts.settings, writer), methods=["POST"]))
    return writer


def tell(app: FastAPI, parts: Parts, stored: Sequence[Intake]) -> None:
    """Whoever does the work is woken, and whoever shows the branches is told whose may have moved."""
    if any(not each.ignored for each in stored):
        parts.news.set()
    refreshing = getattr(app.state, "refreshing", None)
    if refreshing is not None:
        for lane in {each.lane for each in stored if each.stirs}:
            refreshing.ask(lane)


class Refused(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Webhook:
    def __init__(self, settings: ServerSettings, writer: GroupWriter) -> None:
        secrets = (settings.webhook_secret, settings.webhook_secret_previous)
        self.secrets = [each.get_secret_value().encode() for each in secrets if each.get_secret_value()]
        self.most, self.seconds = settings.max_body_bytes, settings.body_timeout_seconds
        self.writer = writer
        self.arriving, self.most_arriving = 0, MOST_ARRIVING_BYTES
        self.answer_seconds = ANSWER_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.take(dict(scope["headers"]), receive)
        except Refused as refused:
            await answer(send, refused.status, refused.why)
        else:
            await answer(send, 202, "stored")

    async def take(self, headers: dict[bytes, bytes], receive: Receive) -> None:
        signature = headers.get(b"x-hub-signature-256", b"")
        if not SIGNATURE.fullmatch(signature) or not self.secrets:
            raise Refused(401, "the delivery is not signed")
        begun = asyncio.get_running_loop().time()
        body = await self.body(headers, receive)
        if not is_signed(body, signature, self.secrets):
            raise Refused(401, "the signature is not that of this App's secret")
        guid, event = headers.get(b"x-github-delivery", b""), headers.get(b"x-github-event", b"")
        if not GUID.fullmatch(guid) or not EVENT.fullmatch(event):
            raise Refused(400, "X-GitHub-Delivery or X-GitHub-Event is missing")
        if not await self.stored(guid.decode(), event.decode(), body, begun):
            raise Refused(503, "the delivery cannot be stored now")

    async def stored(self, guid: str, event: str, body: bytes, begun: float) -> bool:
        """A database that gives no answer, not even a bad one, is not waited for any longer than GitHub waits."""
        ends = max(begun + self.answer_seconds, asyncio.get_running_loop().time() + A_MOMENT)
        try:
            async with asyncio.timeout_at(ends):
                return await self.writer.put(guid, event, body)
        except TimeoutError:
            return False

    async def body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.most:
            raise Refused(413, "the delivery is too large")
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the delivery was cut off")
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    self.arriving += len(pieces[-1])
                    if size > self.most:
                        raise Refused(413, "the delivery is too large")
                    if self.arriving > self.most_arriving:
                        raise Refused(503, "too much is arriving at once")
                    more = message.get("more_body", False)
        except TimeoutError:
            raise Refused(408, "the delivery took too long") from None
        finally:
            self.arriving -= size
        return b"".join(pieces)


async def answer(send: Send, status: int, said: str) -> None:
    body = said.encode() + b"\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status in (408, 413, 503):  # whatever still comes is not read
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
