"""The client that waits for each answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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


class Client:
    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: httpx.Timeout = calls.TIMEOUT,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=self.url, headers=calls.signed(token), timeout=timeout, transport=transport, follow_redirects=False
        )
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def close(self) -> None:
        self._http.close()

    # --- reading ------------------------------------------------------------------------------------------------------

    def health(self) -> Health:
        return self._ask(calls.health())

    def tasks(
        self,
        *,
        repo: str = "",
        prd: str = "",
        column: Column | str = "",
        kind: str = "",
        text: str = "",
        page_size: int = 100,
    ) -> Iterator[Task]:
        """Every task that fits, page after page as they are asked for."""
        asked = {"repo": repo, "prd": prd, "column": column, "kind": kind, "text": text, "limit": str(page_size)}
        cursor: str | None = ""
        while cursor is not None:
            page = self._ask(calls.tasks(**asked, cursor=cursor))
            yield from page.items
            cursor = page.next

    def task(self, key: str) -> TaskDetail:
        return self._ask(calls.task(key))

    def workers(self) -> tuple[Worker, ...]:
        return self._ask(calls.workers()).items

    def circuits(self, *, repo: str = "", state: CircuitState | str = "") -> tuple[Circuit, ...]:
        return self._ask(calls.circuits(repo, state)).items

    def runs(self, *, repo: str = "", prd: str = "", page_size: int = 100) -> Iterator[Run]:
        """The newest first."""
        cursor: str | None = ""
        while cursor is not None:
            page = self._ask(calls.runs(repo, prd, page_size, cursor))
            yield from page.items
            cursor = page.next

    def projects(self) -> tuple[Project, ...]:
        return self.overview().items

    def overview(self) -> Projects:
        """The projects, with the other servers that were read for them."""
        return self._ask(calls.projects())

    # --- asking for a change ------------------------------------------------------------------------------------------

    def retry(self, key: str, *, why: str = "", idempotency_key: str = "") -> Asked:
        return self._ask(calls.retry(key, why, idempotency_key))

    def reset(self, circuit: str, *, why: str = "", idempotency_key: str = "") -> Asked:
        return self._ask(calls.reset(circuit, why, idempotency_key))

    def orders(self, *, repo: str = "", subject: str = "", most: int = 100) -> tuple[Asked, ...]:
        """The newest first, each with what came of it."""
        return self._ask(calls.orders(repo, subject, most)).items

    def order(self, number: str) -> Asked:
        return self._ask(calls.order(number))

    # --- following ----------------------------------------------------------------------------------------------------

    def events(self, *, after: str = "", repo: str = "", patience: float | None = None) -> Iterator[Event]:
        """What happens from now on, or after the event with this id, without an end.

        A cut connection is made again where it was cut: nothing is lost, nothing comes twice. `patience`: seconds
        without any connection after which it gives up; None: never.
        """
        following = Following(self.url, after, patience)
        while True:
            try:
                with self._http.stream("GET", following.path, **following.request(repo)) as response:
                    if not response.is_success:
                        response.read()
                    following.connected(response)
                    if response.is_success:
                        yield from following.events(response.iter_lines())
            except httpx.HTTPError as error:
                following.cut(error)
            self._sleep(following.wait())

    # --- how ----------------------------------------------------------------------------------------------------------

    def _ask(self, call: Call[M]) -> M:
        tried = 0
        while True:
            tried += 1
            response: httpx.Response | None = None
            try:
                response = self._http.request(
                    call.method, call.path, params=call.query, json=call.body, headers=call.headers
                )
            except httpx.TransportError as error:
                failed = calls.unreachable(self.url, error)
            wait = calls.wait_before_retry(call, tried, response)
            if wait is not None:
                self._sleep(wait)
            elif response is None:
                raise failed
            else:
                return calls.understood(call, response)
