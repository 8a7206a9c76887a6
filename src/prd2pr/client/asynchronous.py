"""The client for programs that do other things meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Self, TypeVar

import httpx
from pydantic import BaseModel

from prd2pr.client import calls
from prd2pr.client.calls import Call
from prd2pr.client.following import Following
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

M = TypeVar("M", bound=BaseModel)


class AsyncClient:
    """As `Client`, word for word."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: httpx.Timeout = calls.TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(
            base_url=self.url, headers=calls.signed(token), timeout=timeout, transport=transport, follow_redirects=False
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
        return await self._ask(calls.health())

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
        asked = {"repo": repo, "prd": prd, "column": column, "kind": kind, "text": text, "limit": str(page_size)}
        cursor: str | None = ""
        while cursor is not None:
            page = await self._ask(calls.tasks(**asked, cursor=cursor))
            for task in page.items:
                yield task
            cursor = page.next

    async def task(self, key: str) -> TaskDetail:
        return await self._ask(calls.task(key))

    async def workers(self) -> tuple[Worker, ...]:
        return (await self._ask(calls.workers())).items

    async def circuits(self, *, repo: str = "", state: CircuitState | str = "") -> tuple[Circuit, ...]:
        return (await self._ask(calls.circuits(repo, state))).items

    async def runs(self, *, repo: str = "", prd: str = "", page_size: int = 100) -> AsyncIterator[Run]:
        cursor: str | None = ""
        while cursor is not None:
            page = await self._ask(calls.runs(repo, prd, page_size, cursor))
            for run in page.items:
                yield run
            cursor = page.next

    async def projects(self) -> tuple[Project, ...]:
        return (await self.overview()).items

    async def overview(self) -> Projects:
        return await self._ask(calls.projects())

    # --- asking for a change ------------------------------------------------------------------------------------------

    async def retry(self, key: str, *, why: str = "", idempotency_key: str = "") -> Asked:
        return await self._ask(calls.retry(key, why, idempotency_key))

    async def reset(self, circuit: str, *, why: str = "", idempotency_key: str = "") -> Asked:
        return await self._ask(calls.reset(circuit, why, idempotency_key))

    async def orders(self, *, repo: str = "", subject: str = "", most: int = 100) -> tuple[Asked, ...]:
        return (await self._ask(calls.orders(repo, subject, most))).items

    async def order(self, number: str) -> Asked:
        return await self._ask(calls.order(number))

    # --- following ----------------------------------------------------------------------------------------------------

    async def events(self, *, after: str = "", repo: str = "", patience: float | None = None) -> AsyncIterator[Event]:
        following = Following(self.url, after, patience)
        while True:
            try:
                async with self._http.stream("GET", following.path, **following.request(repo)) as response:
                    if not response.is_success:
                        await response.aread()
                    following.connected(response)
                    if response.is_success:
                        async for line in response.aiter_lines():
                            for event in following.events(iter((line,))):
                                yield event
            except httpx.HTTPError as error:
                following.cut(error)
            await self._sleep(following.wait())

    # --- how ----------------------------------------------------------------------------------------------------------

    async def _ask(self, call: Call[M]) -> M:
        tried = 0
        while True:
            tried += 1
            response: httpx.Response | None = None
            try:
                response = await self._http.request(
                    call.method, call.path, params=call.query, json=call.body, headers=call.headers
                )
            except httpx.TransportError as error:
                failed = calls.unreachable(self.url, error)
            wait = calls.wait_before_retry(call, tried, response)
            if wait is not None:
                await self._sleep(wait)
            elif response is None:
                raise failed
            else:
                return calls.understood(call, response)
