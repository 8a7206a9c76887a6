"""Authentication and rate limits of the API; every route declares the scope it requires."""

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

from prd2pr.server.api.problems import RequestDenied
from prd2pr.server.api.tokens import find_bearer
from prd2pr.server.database import Database
from prd2pr.server.token_scopes import ALL_REPOSITORIES, Bearer, Scope

BEARER_SCHEME = HTTPBearer(
    auto_error=False,
    bearerFormat="prd2pr_…",
    description="A token from `prd2pr serve token create`. Repositories it does not cover are answered with 404.",
)
MAX_TRACKED_TOKENS = 10_000  # beyond this, the least recently used token's bucket is dropped


def get_utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass
class RateLimiter:
    """A token bucket per API token, kept in this process only."""

    per_minute: int
    clock: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def reserve(self, holder: str) -> float:
        """Count one call; return 0 if it is allowed, otherwise the seconds until the next call is."""
        rate = self.per_minute / 60
        with self._lock:
            at = self.clock()
            left, since = self._left.pop(holder, (float(self.per_minute), at))
            left = min(float(self.per_minute), left + (at - since) * rate)
            allowed_now = left >= 1
            self._left[holder] = (left - 1 if allowed_now else left, at)
            while len(self._left) > MAX_TRACKED_TOKENS:
                self._left.popitem(last=False)
        return 0 if allowed_now else (1 - left) / rate


@dataclass(frozen=True)
class Authenticator:
    database: Database
    rate_limiter: RateLimiter
    clock: Callable[[], datetime] = get_utc_now

    def bearer(self, presented: str) -> Bearer | None:
        return find_bearer(self.database, presented, self.clock()) if presented else None


def get_authenticator(request: Request) -> Authenticator:
    authenticator = request.app.state.authenticator
    assert isinstance(authenticator, Authenticator)
    return authenticator


Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER_SCHEME)]


def authenticate(request: Request, presented: Credentials) -> Bearer:
    authenticator = get_authenticator(request)
    bearer = authenticator.bearer(presented.credentials) if presented else find_session_bearer(request)
    if bearer is None:
        raise RequestDenied(401, "The token is invalid, expired or revoked." if presented else "A token is required.")
    wait = authenticator.rate_limiter.reserve(bearer.id)
    if wait:
        raise RequestDenied(
            429,
            f"The token's limit of {authenticator.rate_limiter.per_minute} requests per minute is exceeded.",
            remedy="Wait as long as Retry-After says, or listen to /events instead of polling.",
            headers={"Retry-After": str(int(wait) + 1)},
        )
    return bearer


GUEST = Bearer("guest", "everybody", Scope.READ, (ALL_REPOSITORIES,))


def find_session_bearer(request: Request) -> Bearer | None:
    """Return the bearer of a read-only dashboard session. A cookie never authorizes a change.

    Without a session this is `app.state.guest`, which is set if the server is public, as in the demo.
    """
    if request.method != "GET":
        return None
    state = request.app.state
    of_session: Callable[[Request], Bearer | None] | None = getattr(state, "session_bearer", None)
    bearer = of_session(request) if of_session else None
    return bearer or (GUEST if getattr(state, "guest", None) is not None else None)


def require_scope(scope: Scope, *, everywhere: bool = False) -> Callable[[Bearer], Bearer]:
    """Return a dependency that requires this scope, and with `everywhere` also a token for all repositories."""

    def allowed(bearer: Annotated[Bearer, Depends(authenticate)]) -> Bearer:
        if not bearer.scope.includes(scope):
            raise RequestDenied(403, f"The scope `{scope}` is required; this token has `{bearer.scope}`.")
        if everywhere and not bearer.sees_all:
            raise RequestDenied(403, "A token for all repositories is required; this one covers some of them.")
        return bearer

    return allowed


ForReading = Annotated[Bearer, Depends(require_scope(Scope.READ))]
ForReadingAll = Annotated[Bearer, Depends(require_scope(Scope.READ, everywhere=True))]
# Routes check the `operate` scope themselves, after checking that the token may see the subject.
ForOperating = Annotated[Bearer, Depends(authenticate)]
ForAdmin = Annotated[Bearer, Depends(require_scope(Scope.ADMIN, everywhere=True))]
