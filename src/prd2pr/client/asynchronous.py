"""The asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Self, TypeVar

import httpx
from pydantic import BaseModel

from prd2pr.client import protocol
from prd2pr.client.models import Event, Listed, Page
from prd2pr.client.protocol import ApiCall
from prd2pr.client.reconnect import EventSubscription

M = TypeVar("M", bound=BaseModel)
P = ParamSpec("P")


def call_once(make: Callable[P, ApiCall[M]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[M]]:
    @wraps(make)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> M:
        return await self.send(make(*args, **kwargs))

    return method


def call_list(make: Callable[P, ApiCall[Listed[M]]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[tuple[M, ...]]]:
    @wraps(make)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> tuple[M, ...]:
        return (await self.send(make(*args, **kwargs))).items

    return method


def call_pages(make: Callable[P, ApiCall[Page[M]]]) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[M]]:
    @wraps(make)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[M]:
        call, cursor = make(*args, **kwargs), ""
        while True:
            page = await self.send(call.continue_at(cursor))
            for item in page.items:
                yield item
            if page.next is None:
                return
            cursor = page.next

    return method


class AsyncClient:
    """The same methods as `Client`, asynchronous."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: httpx.Timeout = protocol.TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(transport=transport, **protocol.make_http_options(url, token, timeout))
        self._sleep = sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"

    async def close(self) -> None:
        await self._http.aclose()

    health = call_once(protocol.make_health_call)
    tasks = call_pages(protocol.make_tasks_call)
    task = call_once(protocol.make_task_call)
    workers = call_list(protocol.make_workers_call)
    circuits = call_list(protocol.make_circuits_call)
    runs = call_pages(protocol.make_runs_call)
    projects = call_list(protocol.make_overview_call)
    overview = call_once(protocol.make_overview_call)
    retry = call_once(protocol.make_retry_call)
    reset = call_once(protocol.make_reset_call)
    orders = call_list(protocol.make_orders_call)
    order = call_once(protocol.make_order_call)

    async def events(self, *, after: str = "", repo: str = "", patience: float | None = None) -> AsyncIterator[Event]:
        """Yield events like `Client.events`."""
        subscription = EventSubscription(self.url, after, patience)
        while True:
            try:
                async with self._http.stream("GET", subscription.path, **subscription.make_request(repo)) as response:
                    if not response.is_success:
                        await response.aread()
                    subscription.handle_response(response)
                    if response.is_success:
                        async for line in response.aiter_lines():
                            for event in subscription.parse_line(line):
                                yield event
            except httpx.HTTPError as error:
                subscription.handle_error(error)
            await self._sleep(subscription.compute_wait())

    async def send(self, call: ApiCall[M]) -> M:
        """Send a call, with retries."""
        tries = protocol.CallTries(call, self.url)
        while True:
            try:
                wait = tries.handle_response(await self._http.request(**call.request))
            except httpx.TransportError as error:
                wait = tries.handle_error(error)
            if tries.answer is not None:
                return tries.answer
            await self._sleep(wait)
