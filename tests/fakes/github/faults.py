"""Scripted faults: which fault hits which call, and how often.

fake.faults.add(Broken(502), "POST */issues/*/comments")      # the next such call
fake.faults.add(DropAfter(), "*/pulls", skip=1, times=2)      # the second and the third
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from fakes.github.wire import Refusal, Request

SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID."
)
SECONDARY_DOCS = (
    "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"
)


@dataclass(frozen=True)
class Broken:
    """A 5xx before the call took effect."""

    status: int = 502


@dataclass(frozen=True)
class SecondaryLimit:
    retry_after: int | None = 1
    status: int = 403


@dataclass(frozen=True)
class PrimaryLimit:
    reset_in: float = 1.0
    status: int = 403


@dataclass(frozen=True)
class DropBefore:
    """The call had no effect, and no answer came."""


@dataclass(frozen=True)
class DropAfter:
    """The call took effect, and no answer came."""


@dataclass(frozen=True)
class BrokenAfter:
    """The call took effect, and a 5xx came: a gateway timeout."""

    status: int = 502


@dataclass(frozen=True)
class Stale:
    """A read of the state that many writes ago (git itself is never stale)."""

    writes: int = 1


@dataclass(frozen=True)
class Expired:
    """The token is not valid any more, for this call."""


@dataclass(frozen=True)
class Slow:
    seconds: float


@dataclass(frozen=True)
class Refused:
    """Any other error."""

    status: int
    message: str


@dataclass(frozen=True)
class Calls:
    """A callback before or after the call takes effect: to change the state, or to end the client."""

    before: Callable[[], None] | None = None
    after: Callable[[], None] | None = None


Fault = (
    Broken
    | SecondaryLimit
    | PrimaryLimit
    | DropBefore
    | DropAfter
    | BrokenAfter
    | Stale
    | Expired
    | Slow
    | Refused
    | Calls
)


@dataclass
class Scripted:
    fault: Fault
    pattern: str
    skip: int
    times: int
    met: int = 0

    def meets(self, request: Request) -> bool:
        if self.met >= self.skip + self.times or not matches(self.pattern, request):
            return False
        self.met += 1
        return self.met > self.skip


@dataclass
class Faults:
    scripted: list[Scripted] = field(default_factory=list)

    def add(self, fault: Fault, pattern: str = "*", *, skip: int = 0, times: int = 1) -> Scripted:
        """`pattern`: a glob over `METHOD /path`, or over the path alone. The result counts how often it was `met`."""
        scripted = Scripted(fault, pattern, skip, times)
        self.scripted.append(scripted)
        return scripted

    def clear(self) -> None:
        self.scripted.clear()

    def for_request(self, request: Request) -> list[Fault]:
        return [each.fault for each in self.scripted if each.meets(request)]

    @property
    def unmet(self) -> list[Scripted]:
        """Faults that did not happen: a test that scripts a fault wants it to happen."""
        return [each for each in self.scripted if each.met < each.skip + each.times]


def matches(pattern: str, request: Request) -> bool:
    return fnmatchcase(f"{request.method} {request.path}", pattern) or fnmatchcase(request.path, pattern)


def refusal_of(fault: Fault, now: float) -> Refusal | None:
    """The error answer that replaces the call, if this is such a fault."""
    match fault:
        case Broken(status=status):
            return Refusal(status, "Server Error")
        case SecondaryLimit(retry_after=seconds, status=status):
            headers = {} if seconds is None else {"retry-after": str(seconds)}
            return Refusal(status, SECONDARY, headers=headers, docs=SECONDARY_DOCS)
        case PrimaryLimit(reset_in=seconds, status=status):
            return rate_limited(now + seconds, status)
        case Expired():
            return Refusal(401, "Bad credentials")
        case Refused(status=status, message=message):
            return Refusal(status, message)
    return None


def rate_limited(reset: float, status: int = 403) -> Refusal:
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(reset) + 1), "x-ratelimit-limit": "1000"}
    return Refusal(status, "API rate limit exceeded for installation.", headers=headers)


def pause(fault: Fault) -> None:
    if isinstance(fault, Slow):
        time.sleep(fault.seconds)
