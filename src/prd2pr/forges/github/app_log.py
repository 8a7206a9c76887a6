"""What GitHub says of the App itself: which deliveries it made, what became of them, and where it is installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prd2pr.forges.github.exchange import Call, Send, path
from prd2pr.forges.github.retry import Patience
from prd2pr.forges.github.tokens import AppKey
from prd2pr.forges.github.wire import Wire, good

# The next page's address is made here; of the answer's own only the cursor is taken.
CURSOR = re.compile(r'[?&]cursor=([A-Za-z0-9_%=.-]{1,200})[^>]*>; rel="next"')
PAGE = 100


@dataclass(frozen=True)
class Attempt:
    """One attempt of GitHub's to deliver; the same delivery may have several."""

    id: int
    guid: str
    at: float
    arrived: bool


class AppLog:
    def __init__(self, send: Send, patience: Patience) -> None:
        self._wire = Wire(send, "app/app", patience)  # none of its addresses is below a repository

    def attempts(self, since: float) -> Iterator[Attempt]:
        """The newest first, down to `since`."""
        cursor = ""
        while True:
            params: dict[str, str | int] = {"per_page": PAGE, **({"cursor": cursor} if cursor else {})}
            answer = self._wire.answer(path("app", "hook", "deliveries"), **params)
            rows = good(Call("GET", "/app/hook/deliveries"), answer).body
            for row in rows:
                attempt = read_attempt(row)
                if attempt.at < since:
                    return
                yield attempt
            following = CURSOR.search(answer.headers.get("link", ""))
            if following is None:
                return
            cursor = following[1]

    def redeliver(self, attempt: int) -> None:
        """One too many does no harm: it is known by its id."""
        self._wire.repeat(Call("POST", path("app", "hook", "deliveries", attempt, "attempts")))

    def installations(self) -> tuple[int, ...]:
        """Of those that are not suspended."""
        rows = self._wire.pages(path("app", "installations"))
        return tuple(int(row["id"]) for row in rows if not row.get("suspended_at"))

    def token(self, installation: int) -> str:
        """That may read, and nothing else, in all of its repositories."""
        body = {"permissions": {"contents": "read", "actions": "read", "metadata": "read"}}
        minted = self._wire.repeat(Call("POST", path("app", "installations", installation, "access_tokens"), body=body))
        return str(minted["token"])


def read_attempt(row: dict[str, Any]) -> Attempt:
    status = int(row.get("status_code") or 0)
    at = datetime.fromisoformat(str(row["delivered_at"])).timestamp()
    return Attempt(int(row["id"]), str(row["guid"]), at, 200 <= status < 300)


def open_app_log(key: AppKey, api_url: str, patience: Patience) -> AbstractContextManager[OpenLog]:
    return closing(OpenLog(key, api_url, patience))


class OpenLog(AppLog):
    """With a connection of its own, kept until `close`."""

    def __init__(self, key: AppKey, api_url: str, patience: Patience) -> None:
        from githubkit import AppAuthStrategy

        from prd2pr.forges.github.client import Client

        client = Client(AppAuthStrategy(key.app_id, key.private_key), api_url)
        super().__init__(client.send, patience)
        self.close: Callable[[], None] = client.close


def unanswered(attempts: Iterable[Attempt], most: int) -> list[Attempt]:
    """The newest attempt of each delivery of which none arrived, the oldest delivery first. One that was attempted
    `most` times is left alone: something is wrong with it."""
    by_guid: dict[str, list[Attempt]] = {}
    for each in attempts:
        by_guid.setdefault(each.guid, []).append(each)
    lost = [tries[0] for tries in by_guid.values() if len(tries) < most and not any(each.arrived for each in tries)]
    return sorted(lost, key=lambda each: each.at)
