"""Access to the pages: the browser keeps an API token in an HttpOnly cookie.

The cookie is `SameSite=Strict`, and forms require a CSRF token that is derived from the API token.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol
from urllib.parse import urlsplit

from starlette.datastructures import Headers

COOKIE = "prd2pr_session"
MAX_TOKEN_LENGTH = 500


@dataclass(frozen=True)
class Visitor:
    """A visitor, with the repositories that it may read and those for which it may give orders."""

    name: str
    sees: Callable[[str], bool]
    operates: Callable[[str], bool]
    sees_all: bool = False


class Access(Protocol):
    def visitor(self, token: str) -> Visitor | None:
        """Return the token's holder, or None if the token is invalid."""
        ...

    @property
    def guest(self) -> Visitor | None:
        """The visitor without a token, or None if a token is required."""
        ...


def allow_all(_: str) -> bool:
    return True


def allow_none(_: str) -> bool:
    return False


PUBLIC_VISITOR = Visitor("everybody", allow_all, allow_none, sees_all=True)


def make_csrf_token(token: str) -> str:
    """Return the CSRF token for forms. The API token cannot be derived from it."""
    return hmac.new(token.encode(), b"prd2pr: a form of the dashboard", sha256).hexdigest()


def is_csrf_token(mark: str, token: str) -> bool:
    return bool(token) and hmac.compare_digest(mark.encode(), make_csrf_token(token).encode())


def is_same_origin(headers: Headers, public_host: str) -> bool:
    """Return whether the form was sent from one of our own pages.

    Clients that send none of these headers are checked by the CSRF token alone.
    """
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    ours = {headers.get("host", "").lower(), public_host.lower()} - {""}
    return origin is None or urlsplit(origin).netloc.lower() in ours


def is_dashboard_path(path: str, root: str) -> bool:
    """Return whether the path is a dashboard page, and therefore a safe redirect target after login."""
    inside = path == root or path.startswith((f"{root}/", f"{root}?"))
    return inside and not any(character in path for character in "\\\r\n\t") and "//" not in path
