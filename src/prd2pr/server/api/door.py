"""Who may come in. Every route names the scope that it needs; without a token nothing is seen."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from prd2pr.core.access import EVERYWHERE, Bearer, Scope
from prd2pr.server.api.problems import Denied
from prd2pr.server.api.tokens import bearer_of
from prd2pr.server.database import Database

PRESENTED = HTTPBearer(
    auto_error=False,
    bearerFormat="prd2pr_…",
    description="A token from `prd2pr serve token create`. What it may not see is answered with 404.",
)
MOST_HOLDERS = 10_000  # whose calls are counted; beyond that the one that was silent longest is forgotten


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Pace:
    """So many calls in a minute for each token, some of them at once. Counted by this process alone."""

    per_minute: int
    clock: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def wait(self, holder: str) -> float:
        """Seconds until the next call is taken; 0: this one is."""
        rate = self.per_minute / 60
        with self._lock:
            at = self.clock()
            left, since = self._left.pop(holder, (float(self.per_minute), at))
            left = min(float(self.per_minute), left + (at - since) * rate)
            taken = left >= 1
            self._left[holder] = (left - 1 if taken else left, at)
            while len(self._left) > MOST_HOLDERS:
                self._left.popitem(last=False)
        return 0 if taken else (1 - left) / rate


@dataclass(frozen=True)
class Door:
    database: Database
    pace: Pace
    clock: Callable[[], datetime] = now

    def bearer(self, presented: str) -> Bearer | None:
        return bearer_of(self.database, presented, self.clock()) if presented else None


def door_of(request: Request) -> Door:
    door = request.app.state.door
    assert isinstance(door, Door)
    return door


Presented = Annotated[HTTPAuthorizationCredentials | None, Depends(PRESENTED)]


def signed_in(request: Request, presented: Presented) -> Bearer:
    door = door_of(request)
    bearer = door.bearer(presented.credentials) if presented else seated(request)
    if bearer is None:
        raise Denied(401, "This token does not hold (any more)." if presented else "This needs a token.")
    wait = door.pace.wait(bearer.id)
    if wait:
        raise Denied(
            429,
            f"This token may ask {door.pace.per_minute} times a minute.",
            remedy="Ask again after the time that Retry-After says, or listen to /events instead of asking often.",
            headers={"Retry-After": str(int(wait) + 1)},
        )
    return bearer


GUEST = Bearer("guest", "everybody", Scope.READ, (EVERYWHERE,))


def seated(request: Request) -> Bearer | None:
    """Who has signed in to the dashboard may read here as well, as its pages do. Nothing is changed by a cookie.

    `app.state.guest` is set where everybody may look, as in the demo.
    """
    if request.method != "GET":
        return None
    state = request.app.state
    of_session: Callable[[Request], Bearer | None] | None = getattr(state, "session_bearer", None)
    bearer = of_session(request) if of_session else None
    return bearer or (GUEST if getattr(state, "guest", None) is not None else None)


def needs(scope: Scope, *, everywhere: bool = False) -> Callable[[Bearer], Bearer]:
    """`everywhere`: of all repositories at once, so that only a token for all may have it."""

    def allowed(bearer: Annotated[Bearer, Depends(signed_in)]) -> Bearer:
        if not bearer.scope.holds(scope):
            raise Denied(403, f"This needs the scope `{scope}`; this token has `{bearer.scope}`.")
        if everywhere and not bearer.sees_all:
            raise Denied(403, "This is about all repositories; this token is for some of them.")
        return bearer

    return allowed


ForReading = Annotated[Bearer, Depends(needs(Scope.READ))]
ForReadingAll = Annotated[Bearer, Depends(needs(Scope.READ, everywhere=True))]
ForOperating = Annotated[Bearer, Depends(signed_in)]  # the scope is asked for after it is known that it may be seen
ForAdmin = Annotated[Bearer, Depends(needs(Scope.ADMIN, everywhere=True))]
