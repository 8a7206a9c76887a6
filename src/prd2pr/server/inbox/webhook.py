"""`POST /webhook`: 401 unless the delivery has a valid signature, 202 once it is durable.

It is plain ASGI for speed: every delivery passes through here, and most need no work.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.app import WEBHOOK_PATH, ServerContext
from prd2pr.server.inbox.writer import BatchWriter
from prd2pr.server.settings import ServerSettings

GUID_PATTERN = re.compile(rb"[A-Za-z0-9._-]{1,100}")
EVENT_PATTERN = re.compile(rb"[a-z_]{1,64}")
SIGNATURE_PATTERN = re.compile(rb"sha256=[0-9a-f]{64}")
# For bodies that are still arriving and whose signature is therefore not verified yet.
MAX_ARRIVING_BYTES = 128 * 1024 * 1024
# From request to response; GitHub waits ten seconds. A late body still gets MIN_STORE_SECONDS to be stored.
ANSWER_SECONDS = 9.0
MIN_STORE_SECONDS = 1.0


SIGNATURE_PREFIX = b"sha256="


def has_valid_signature(body: bytes, signature: bytes, secrets: Sequence[bytes]) -> bool:
    """Return whether the signature was made with one of the secrets. Two are valid while a secret is being rotated.

    All secrets are tried, in constant time.
    """
    if not signature.startswith(SIGNATURE_PREFIX):
        return False
    given = signature.removeprefix(SIGNATURE_PREFIX)
    found = [hmac.compare_digest(hmac.digest(secret, body, hashlib.sha256).hex().encode(), given) for secret in secrets]
    return any(found)


def add_webhook(app: FastAPI, context: ServerContext) -> AbstractContextManager[Any]:
    writer = BatchWriter(context.database, on_stored=partial(notify_stored, app, context))
    app.router.routes.append(Route(WEBHOOK_PATH, Webhook(context.settings, writer), methods=["POST"]))
    return writer


def notify_stored(app: FastAPI, context: ServerContext, stored: Sequence[DeliverySummary]) -> None:
    """Wake the worker, and refresh the displayed data of repositories whose branches may have moved."""
    if any(not each.ignored for each in stored):
        context.work_available.set()
    updater = getattr(app.state, "projection_updater", None)
    if updater is not None:
        for lane in {each.lane for each in stored if each.moves_branches}:
            updater.request_refresh(lane)


class DeliveryRejected(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Webhook:
    def __init__(self, settings: ServerSettings, writer: BatchWriter) -> None:
        secrets = (settings.webhook_secret, settings.webhook_secret_previous)
        self.secrets = [each.get_secret_value().encode() for each in secrets if each.get_secret_value()]
        self.max_body_bytes, self.body_seconds = settings.max_body_bytes, settings.body_timeout_seconds
        self.writer = writer
        self.arriving_bytes, self.max_arriving_bytes = 0, MAX_ARRIVING_BYTES
        self.answer_seconds = ANSWER_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.accept(dict(scope["headers"]), receive)
        except DeliveryRejected as refused:
            await send_text_response(send, refused.status, refused.why)
        else:
            await send_text_response(send, 202, "stored")

    async def accept(self, headers: dict[bytes, bytes], receive: Receive) -> None:
        signature = headers.get(b"x-hub-signature-256", b"")
        if not SIGNATURE_PATTERN.fullmatch(signature) or not self.secrets:
            raise DeliveryRejected(401, "the delivery is not signed")
        started = asyncio.get_running_loop().time()
        body = await self.read_body(headers, receive)
        if not has_valid_signature(body, signature, self.secrets):
            raise DeliveryRejected(401, "the signature does not match this App's secret")
        guid, event = headers.get(b"x-github-delivery", b""), headers.get(b"x-github-event", b"")
        if not GUID_PATTERN.fullmatch(guid) or not EVENT_PATTERN.fullmatch(event):
            raise DeliveryRejected(400, "X-GitHub-Delivery or X-GitHub-Event is missing or invalid")
        if not await self.store(guid.decode(), event.decode(), body, started):
            raise DeliveryRejected(503, "the delivery cannot be stored now")

    async def store(self, guid: str, event: str, body: bytes, started: float) -> bool:
        """Store the delivery; return False if the database does not respond before GitHub's timeout."""
        ends = max(started + self.answer_seconds, asyncio.get_running_loop().time() + MIN_STORE_SECONDS)
        try:
            async with asyncio.timeout_at(ends):
                return await self.writer.store_delivery(guid, event, body)
        except TimeoutError:
            return False

    async def read_body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.max_body_bytes:
            raise DeliveryRejected(413, "the delivery is too large")
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise DeliveryRejected(400, "the delivery was cut off")
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    self.arriving_bytes += len(pieces[-1])
                    if size > self.max_body_bytes:
                        raise DeliveryRejected(413, "the delivery is too large")
                    if self.arriving_bytes > self.max_arriving_bytes:
                        raise DeliveryRejected(503, "too many bytes are arriving at once")
                    more = message.get("more_body", False)
        except TimeoutError:
            raise DeliveryRejected(408, "the delivery took too long to arrive") from None
        finally:
            self.arriving_bytes -= size
        return b"".join(pieces)


async def send_text_response(send: Send, status: int, message: str) -> None:
    body = message.encode() + b"\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status in (408, 413, 503):  # the rest of the body is not read
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
