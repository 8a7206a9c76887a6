"""The asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Self, TypeVar

import httpx
from pydantic import BaseModel

from prd2pr.client import protocol
from prd2pr.client.models import (
    Asked,
    Circuit,
    CircuitState,
    Column,
    Event,
    Health,
    Project,
    Projects,
    Run,
    Task,
    TaskDetail,
    Worker,
)
from prd2pr.client.protocol import ApiCall
from prd2pr.client.reconnect import EventSubscription

M = TypeVar("M", bound=BaseModel)


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
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers=protocol.make_headers(token),
            timeout=timeout,
            transport=transport,
            follow_redirects=False,
        )
        self._sleep = sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"

    async def close(self) -> None:
        await self._http.aclose()

    # --- reading ------------------------------------------------------------------------------------------------------

    async def health(self) -> Health:
        return await self._send(protocol.make_health_call())

    async def tasks(
        self,
        *,
        repo: str = "",
        prd: str = "",
        column: Column | str = "",
        kind: str = "",
        text: str = "",
        page_size: int = 100,
    ) -> AsyncIterator[Task]:
        query = {"repo": repo, "prd": prd, "column": column, "kind": kind, "text": text, "limit": str(page_size)}
        cursor: str | None = ""
        while cursor is not None:
            page = await self._send(protocol.make_tasks_call(**query, cursor=cursor))
            for task in page.items:
                yield task
            cursor = page.next

    async def task(self, key: str) -> TaskDetail:
        return await self._send(protocol.make_task_call(key))

    async def workers(self) -> tuple[Worker, ...]:
        return (await self._send(protocol.make_workers_call())).items

    async def circuits(self, *, repo: str = "", state: CircuitState | str = "") -> tuple[Circuit, ...]:
        return (await self._send(protocol.make_circuits_call(repo, state))).items

    async def runs(self, *, repo: str = "", prd: str = "", page_size: int = 100) -> AsyncIterator[Run]:
        cursor: str | None = ""
        while cursor is not None:
            page = await self._send(protocol.make_runs_call(repo, prd, page_size, cursor))
            for run in page.items:
                yield run
            cursor = page.next

    async def projects(self) -> tuple[Project, ...]:
        return (await self.overview()).items

    async def overview(self) -> Projects:
        return await self._send(protocol.make_projects_call())

    # --- changes ------------------------------------------------------------------------------------------------------

    async def retry(self, key: str, *, why: str = "", idempotency_key: str = "") -> Asked:
        return await self._send(protocol.make_retry_call(key, why, idempotency_key))

    async def reset(self, circuit: str, *, why: str = "", idempotency_key: str = "") -> Asked:
        return await self._send(protocol.make_reset_call(circuit, why, idempotency_key))

    async def orders(self, *, repo: str = "", subject: str = "", most: int = 100) -> tuple[Asked, ...]:
        return (await self._send(protocol.make_orders_call(repo, subject, most))).items

    async def order(self, number: str) -> Asked:
        return await self._send(protocol.make_order_call(number))

    # --- events -------------------------------------------------------------------------------------------------------

    async def events(self, *, after: str = "", repo: str = "", patience: float | None = None) -> AsyncIterator[Event]:
        subscription = EventSubscription(self.url, after, patience)
        while True:
            try:
                async with self._http.stream("GET", subscription.path, **subscription.make_request(repo)) as response:
                    if not response.is_success:
                        await response.aread()
                    subscription.handle_response(response)
                    if response.is_success:
                        async for line in response.aiter_lines():
                            for event in subscription.parse_events(iter((line,))):
                                yield event
            except httpx.HTTPError as error:
                subscription.handle_error(error)
            await self._sleep(subscription.compute_wait())

    # --- transport ----------------------------------------------------------------------------------------------------

    async def _send(self, call: ApiCall[M]) -> M:
        tries = 0
        while True:
            tries += 1
            response: httpx.Response | None = None
            try:
                response = await self._http.request(
                    call.method, call.path, params=call.query, json=call.body, headers=call.headers
                )
            except httpx.TransportError as error:
                error_result = protocol.make_unreachable(self.url, error)
            wait = protocol.compute_retry_wait(call, tries, response)
            if wait is not None:
                await self._sleep(wait)
            elif response is None:
                raise error_result
            else:
                return protocol.parse_answer(call, response)
