"""The blocking client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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


class Client:
    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: httpx.Timeout = protocol.TIMEOUT,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=self.url,
            headers=protocol.make_headers(token),
            timeout=timeout,
            transport=transport,
            follow_redirects=False,
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
        return self._send(protocol.make_health_call())

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
        """Yield every matching task; pages are fetched as needed."""
        query = {"repo": repo, "prd": prd, "column": column, "kind": kind, "text": text, "limit": str(page_size)}
        cursor: str | None = ""
        while cursor is not None:
            page = self._send(protocol.make_tasks_call(**query, cursor=cursor))
            yield from page.items
            cursor = page.next

    def task(self, key: str) -> TaskDetail:
        return self._send(protocol.make_task_call(key))

    def workers(self) -> tuple[Worker, ...]:
        return self._send(protocol.make_workers_call()).items

    def circuits(self, *, repo: str = "", state: CircuitState | str = "") -> tuple[Circuit, ...]:
        return self._send(protocol.make_circuits_call(repo, state)).items

    def runs(self, *, repo: str = "", prd: str = "", page_size: int = 100) -> Iterator[Run]:
        """Yield runs, newest first."""
        cursor: str | None = ""
        while cursor is not None:
            page = self._send(protocol.make_runs_call(repo, prd, page_size, cursor))
            yield from page.items
            cursor = page.next

    def projects(self) -> tuple[Project, ...]:
        return self.overview().items

    def overview(self) -> Projects:
        """Return the projects and the other servers they come from."""
        return self._send(protocol.make_projects_call())

    # --- asking for a change ------------------------------------------------------------------------------------------

    def retry(self, key: str, *, why: str = "", idempotency_key: str = "") -> Asked:
        return self._send(protocol.make_retry_call(key, why, idempotency_key))

    def reset(self, circuit: str, *, why: str = "", idempotency_key: str = "") -> Asked:
        return self._send(protocol.make_reset_call(circuit, why, idempotency_key))

    def orders(self, *, repo: str = "", subject: str = "", most: int = 100) -> tuple[Asked, ...]:
        """Return orders, newest first, each with its outcome."""
        return self._send(protocol.make_orders_call(repo, subject, most)).items

    def order(self, number: str) -> Asked:
        return self._send(protocol.make_order_call(number))

    # --- events -------------------------------------------------------------------------------------------------------

    def events(self, *, after: str = "", repo: str = "", patience: float | None = None) -> Iterator[Event]:
        """Yield events from now on, or after the event with this id, without end.

        A lost connection is resumed: no event is missed or repeated. `patience`: seconds without a connection after
        which it gives up; None: never.
        """
        subscription = EventSubscription(self.url, after, patience)
        while True:
            try:
                with self._http.stream("GET", subscription.path, **subscription.make_request(repo)) as response:
                    if not response.is_success:
                        response.read()
                    subscription.handle_response(response)
                    if response.is_success:
                        yield from subscription.parse_events(response.iter_lines())
            except httpx.HTTPError as error:
                subscription.handle_error(error)
            self._sleep(subscription.compute_wait())

    # --- transport ----------------------------------------------------------------------------------------------------

    def _send(self, call: ApiCall[M]) -> M:
        tries = 0
        while True:
            tries += 1
            response: httpx.Response | None = None
            try:
                response = self._http.request(
                    call.method, call.path, params=call.query, json=call.body, headers=call.headers
                )
            except httpx.TransportError as error:
                error_result = protocol.make_unreachable(self.url, error)
            wait = protocol.compute_retry_wait(call, tries, response)
            if wait is not None:
                self._sleep(wait)
            elif response is None:
                raise error_result
            else:
                return protocol.parse_answer(call, response)
