"""The fake as an httpx transport, for githubkit: the same handler, without a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.github.fake import FakeGitHub
from fakes.github.handler import answer
from fakes.github.wire import Dropped, Request

if TYPE_CHECKING:
    import httpx


def transport(fake: FakeGitHub) -> httpx.BaseTransport:
    import httpx

    def handle(request: httpx.Request) -> httpx.Response:
        asked = Request.of(request.method, request.url.raw_path.decode(), dict(request.headers), request.read())
        try:
            outcome = answer(fake, asked)
        except Dropped:
            raise httpx.RemoteProtocolError(
                "Server disconnected without sending a response.", request=request
            ) from None
        headers = {"content-type": "application/json; charset=utf-8", **outcome.headers}
        return httpx.Response(outcome.status, headers=headers, content=outcome.body, request=request)

    return httpx.MockTransport(handle)
