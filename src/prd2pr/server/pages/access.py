"""Who looks at the pages. Tokens belong to the API; here a browser keeps one in a cookie that no script can read.

The cookie is sent only by our own pages (`SameSite=Strict`), and a form counts only with a mark that follows from the
cookie: who does not know the token cannot make it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol
from urllib.parse import urlsplit

from starlette.datastructures import Headers

COOKIE = "prd2pr_session"
LONGEST_TOKEN = 500


@dataclass(frozen=True)
class Visitor:
    """What one may see, and where one may ask for something."""

    name: str
    sees: Callable[[str], bool]
    operates: Callable[[str], bool]
    sees_all: bool = False


class Access(Protocol):
    def visitor(self, token: str) -> Visitor | None:
        """Who holds this token; None: it does not hold (any more)."""
        ...

    @property
    def guest(self) -> Visitor | None:
        """Who looks without a token; None: nobody may."""
        ...


def everywhere(_: str) -> bool:
    return True


def nowhere(_: str) -> bool:
    return False


READER = Visitor("everybody", everywhere, nowhere, sees_all=True)


@dataclass(frozen=True)
class OpenToRead:
    """Everybody may look, and nobody may ask for anything: for the demo, on one's own machine."""

    guest: Visitor | None = field(default=READER)

    def visitor(self, _: str) -> Visitor | None:
        return None


def form_mark(token: str) -> str:
    """Stands in every form; it tells nothing of the token."""
    return hmac.new(token.encode(), b"prd2pr: a form of the dashboard", sha256).hexdigest()


def is_mark(mark: str, token: str) -> bool:
    return bool(token) and hmac.compare_digest(mark.encode(), form_mark(token).encode())


def is_our_own(headers: Headers, public_host: str) -> bool:
    """A form that was sent from a page of ours. Browsers say so; who says nothing has the mark to show."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    ours = {headers.get("host", "").lower(), public_host.lower()} - {""}
    return origin is None or urlsplit(origin).netloc.lower() in ours


def is_place(path: str, root: str) -> bool:
    """A page of ours, to go on to after logging in: nothing that leads to another server."""
    inside = path == root or path.startswith((f"{root}/", f"{root}?"))
    return inside and not any(character in path for character in "\\\r\n\t") and "//" not in path
