"""The App's webhook deliveries, their results, and its installations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prd2pr.github.client.calls import GitHubApi, check_response
from prd2pr.github.client.exchange import RestCall, SendCall, join_path
from prd2pr.github.client.tokens import AppKey
from prd2pr.retry import RetryPolicy

# Only the cursor is taken from the response; the path of the next page is built here.
NEXT_CURSOR = re.compile(r'[?&]cursor=([A-Za-z0-9_%=.-]{1,200})[^>]*>; rel="next"')
PAGE_SIZE = 100


@dataclass(frozen=True)
class DeliveryAttempt:
    """One attempt by GitHub to deliver an event. A delivery can have several attempts."""

    id: int
    guid: str
    at: float
    arrived: bool


class DeliveryLog:
    def __init__(self, send: SendCall, policy: RetryPolicy) -> None:
        self._api = GitHubApi(send, policy)

    def attempts(self, since: float) -> Iterator[DeliveryAttempt]:
        """Yield the attempts since `since`, newest first."""
        cursor = ""
        while True:
            params: dict[str, str | int] = {"per_page": PAGE_SIZE, **({"cursor": cursor} if cursor else {})}
            answer = self._api.get_response(join_path("app", "hook", "deliveries"), **params)
            rows = check_response(RestCall("GET", "/app/hook/deliveries"), answer).body
            for row in rows:
                attempt = read_attempt(row)
                if attempt.at < since:
                    return
                yield attempt
            following = NEXT_CURSOR.search(answer.headers.get("link", ""))
            if following is None:
                return
            cursor = following[1]

    def redeliver(self, attempt: int) -> None:
        """Request a redelivery. Duplicates do no harm, because the receiver recognizes the delivery by its id."""
        self._api.send_idempotent(RestCall("POST", join_path("app", "hook", "deliveries", attempt, "attempts")))

    def installations(self) -> tuple[int, ...]:
        """Return the ids of the installations that are not suspended."""
        rows = self._api.pages(join_path("app", "installations"))
        return tuple(int(row["id"]) for row in rows if not row.get("suspended_at"))

    def token(self, installation: int) -> str:
        """Return a read-only token for all repositories of the installation."""
        body = {"permissions": {"contents": "read", "actions": "read", "metadata": "read"}}
        minted = self._api.send_idempotent(
            RestCall("POST", join_path("app", "installations", installation, "access_tokens"), body=body)
        )
        return str(minted["token"])


def read_attempt(row: dict[str, Any]) -> DeliveryAttempt:
    status = int(row.get("status_code") or 0)
    at = datetime.fromisoformat(str(row["delivered_at"])).timestamp()
    return DeliveryAttempt(int(row["id"]), str(row["guid"]), at, 200 <= status < 300)


def open_delivery_log(key: AppKey, api_url: str, policy: RetryPolicy) -> AbstractContextManager[ConnectedDeliveryLog]:
    return closing(ConnectedDeliveryLog(key, api_url, policy))


class ConnectedDeliveryLog(DeliveryLog):
    """A delivery log with its own connection, which stays open until `close`."""

    def __init__(self, key: AppKey, api_url: str, policy: RetryPolicy) -> None:
        from githubkit import AppAuthStrategy

        from prd2pr.github.client.transport import GitHubConnection

        client = GitHubConnection(AppAuthStrategy(key.app_id, key.private_key), api_url)
        super().__init__(client.send, policy)
        self.close: Callable[[], None] = client.close


def list_failed_deliveries(attempts: Iterable[DeliveryAttempt], most: int) -> list[DeliveryAttempt]:
    """Return the newest attempt of each delivery that never arrived, oldest delivery first.

    Deliveries with `most` or more attempts are left out.
    """
    by_guid: dict[str, list[DeliveryAttempt]] = {}
    for each in attempts:
        by_guid.setdefault(each.guid, []).append(each)
    lost = [tries[0] for tries in by_guid.values() if len(tries) < most and not any(each.arrived for each in tries)]
    return sorted(lost, key=lambda each: each.at)
