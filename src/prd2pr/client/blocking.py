"""The blocking client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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


def call_once(make: Callable[P, ApiCall[M]]) -> Callable[Concatenate[Client, P], M]:
    @wraps(make)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> M:
        return self.send(make(*args, **kwargs))

    return method


def call_list(make: Callable[P, ApiCall[Listed[M]]]) -> Callable[Concatenate[Client, P], tuple[M, ...]]:
    @wraps(make)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> tuple[M, ...]:
        return self.send(make(*args, **kwargs)).items

    return method


def call_pages(make: Callable[P, ApiCall[Page[M]]]) -> Callable[Concatenate[Client, P], Iterator[M]]:
    @wraps(make)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[M]:
        call, cursor = make(*args, **kwargs), ""
        while True:
            page = self.send(call.continue_at(cursor))
            yield from page.items
            if page.next is None:
                return
            cursor = page.next

    return method


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
        self._http = httpx.Client(transport=transport, **protocol.make_http_options(url, token, timeout))
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def close(self) -> None:
        self._http.close()

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
                        for line in response.iter_lines():
                            yield from subscription.parse_line(line)
            except httpx.HTTPError as error:
                subscription.handle_error(error)
            self._sleep(subscription.compute_wait())

    def send(self, call: ApiCall[M]) -> M:
        """Send a call, with retries."""
        tries = protocol.CallTries(call, self.url)
        while True:
            try:
                wait = tries.handle_response(self._http.request(**call.request))
            except httpx.TransportError as error:
                wait = tries.handle_error(error)
            if tries.answer is not None:
                return tries.answer
            self._sleep(wait)
