"""The blocking and the asynchronous client, both generated from one table of methods."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx
from httpx_sse import EventSource
from pydantic import BaseModel

from prd2pr.client import protocol
from prd2pr.client.models import Event, Listed, Page
from prd2pr.client.protocol import ApiCall
from prd2pr.client.reconnect import EventSubscription

M = TypeVar("M", bound=BaseModel)
P = ParamSpec("P")
Blocking = TypeVar("Blocking")
Asynchronous = TypeVar("Asynchronous")


class ApiMethod(Generic[P, Blocking, Asynchronous]):
    """Descriptor that turns a `make_*_call` function into a client method with the same parameters and docstring."""

    def __init__(self, make: Callable[P, ApiCall[Any]], sender: str) -> None:
        self.__doc__ = make.__doc__
        self._make, self._sender = make, sender

    @overload
    def __get__(self, client: None, owner: object) -> Self: ...

    @overload
    def __get__(self, client: Client, owner: object) -> Callable[P, Blocking]: ...

    @overload
    def __get__(self, client: AsyncClient, owner: object) -> Callable[P, Asynchronous]: ...

    def __get__(self, client: Client | AsyncClient | None, owner: object) -> Any:
        if client is None:
            return self
        send = getattr(client, self._sender)

        @wraps(self._make)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return send(self._make(*args, **kwargs))

        return method


def call_once(make: Callable[P, ApiCall[M]]) -> ApiMethod[P, M, Awaitable[M]]:
    return ApiMethod(make, "send")


def call_list(make: Callable[P, ApiCall[Listed[M]]]) -> ApiMethod[P, tuple[M, ...], Awaitable[tuple[M, ...]]]:
    return ApiMethod(make, "_send_list")


def call_pages(make: Callable[P, ApiCall[Page[M]]]) -> ApiMethod[P, Iterator[M], AsyncIterator[M]]:
    return ApiMethod(make, "_send_pages")


class ApiMethods:
    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    health = call_once(protocol.make_health_call)
    tasks = call_pages(protocol.make_tasks_call)
    task = call_once(protocol.make_task_call)
    workers = call_list(protocol.make_workers_call)
    circuits = call_list(protocol.make_circuits_call)
    runs = call_pages(protocol.make_runs_call)
    projects = call_list(protocol.make_overview_call)
    overview = call_once(protocol.make_overview_call)
    register = call_once(protocol.make_register_call)
    retry = call_once(protocol.make_retry_call)
    reset = call_once(protocol.make_reset_call)
    command = call_once(protocol.make_command_call)
    orders = call_list(protocol.make_orders_call)
    order = call_once(protocol.make_order_call)


class Client(ApiMethods):
    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: httpx.Timeout = protocol.TIMEOUT,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url)
        self._http = httpx.Client(transport=transport, **protocol.make_http_options(url, token, timeout))
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def events(self, *, after: str = "", repo: str = "", patience: float | None = None) -> Iterator[Event]:
        """Yield events from now on, or those after the event with the id `after`, without end.

        After a lost connection the stream resumes without losing or repeating events. After `patience` seconds without
        a connection it raises the last error; with None it keeps trying.
        """
        subscription = EventSubscription(self.url, after, patience)
        while True:
            try:
                with self._http.stream("GET", subscription.path, **subscription.make_request(repo)) as response:
                    if not response.is_success:
                        response.read()
                    subscription.handle_response(response)
                    if response.is_success:
                        for message in EventSource(response).iter_sse():
                            yield from subscription.parse_message(message)
            except httpx.HTTPError as error:
                subscription.handle_error(error)
            self._sleep(subscription.compute_wait())

    def send(self, call: ApiCall[M]) -> M:
        """Send a call and retry transient failures."""
        tries = protocol.CallTries(call, self.url)
        while True:
            try:
                wait = tries.handle_response(self._http.request(**call.request))
            except httpx.TransportError as error:
                wait = tries.handle_error(error)
            if tries.answer is not None:
                return tries.answer
            self._sleep(wait)

    def _send_list(self, call: ApiCall[Listed[M]]) -> tuple[M, ...]:
        return self.send(call).items

    def _send_pages(self, call: ApiCall[Page[M]]) -> Iterator[M]:
        cursor: str | None = ""
        while cursor is not None:
            page = self.send(call.continue_at(cursor))
            yield from page.items
            cursor = page.next


class AsyncClient(ApiMethods):
    """Asynchronous version of `Client`, with the same methods."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: httpx.Timeout = protocol.TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(url)
        self._http = httpx.AsyncClient(transport=transport, **protocol.make_http_options(url, token, timeout))
        self._sleep = sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def events(self, *, after: str = "", repo: str = "", patience: float | None = None) -> AsyncIterator[Event]:
        """Yield events in the same way as `Client.events`."""
        subscription = EventSubscription(self.url, after, patience)
        while True:
            try:
                async with self._http.stream("GET", subscription.path, **subscription.make_request(repo)) as response:
                    if not response.is_success:
                        await response.aread()
                    subscription.handle_response(response)
                    if response.is_success:
                        async for message in EventSource(response).aiter_sse():
                            for event in subscription.parse_message(message):
                                yield event
            except httpx.HTTPError as error:
                subscription.handle_error(error)
            await self._sleep(subscription.compute_wait())

    async def send(self, call: ApiCall[M]) -> M:
        """Send a call and retry transient failures."""
        tries = protocol.CallTries(call, self.url)
        while True:
            try:
                wait = tries.handle_response(await self._http.request(**call.request))
            except httpx.TransportError as error:
                wait = tries.handle_error(error)
            if tries.answer is not None:
                return tries.answer
            await self._sleep(wait)

    async def _send_list(self, call: ApiCall[Listed[M]]) -> tuple[M, ...]:
        return (await self.send(call)).items

    async def _send_pages(self, call: ApiCall[Page[M]]) -> AsyncIterator[M]:
        cursor: str | None = ""
        while cursor is not None:
            page = await self.send(call.continue_at(cursor))
            for item in page.items:
                yield item
            cursor = page.next
