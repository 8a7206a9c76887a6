"""Token sources. A given token is used as is; App tokens are minted and renewed before they expire."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from prd2pr.errors import BadCredentials, TokenMissing

MIN_TOKEN_SECONDS = 600.0  # a token with less time left could expire during a push

GITHUB_TOKEN = "GITHUB_TOKEN"  # noqa: S105 - the variable's name
APP_ID, APP_KEY, APP_INSTALLATION = "PRD2PR_APP_ID", "PRD2PR_APP_PRIVATE_KEY", "PRD2PR_APP_INSTALLATION_ID"
BOT_LOGIN = "PRD2PR_BOT_LOGIN"


class TokenSource(Protocol):
    def token(self) -> str:
        """Return a token that is valid long enough for the next call or push. Call it before each one."""
        ...

    def invalidate(self, token: str) -> bool:
        """Discard a token that GitHub rejected. Return whether the next `token()` may be a different one."""
        ...

    def login(self) -> str:
        """Return the bot's login, such as `name[bot]`, or an empty string if the source does not know it."""
        ...


@dataclass(frozen=True)
class StaticToken:
    """The workflow's GITHUB_TOKEN, a personal token, or one minted by another step."""

    value: str = field(repr=False)
    bot: str = ""

    def token(self) -> str:
        return self.value

    def invalidate(self, token: str) -> bool:
        del token
        return False

    def login(self) -> str:
        return self.bot


@dataclass(frozen=True)
class InstallationToken:
    token: str = field(repr=False)
    expires_at: float


class TokenMint(Protocol):
    """Mints App tokens. `transport.AppMint` requests them from GitHub."""

    def mint(self) -> Mapping[str, Any]:
        """Return GitHub's response: `token` and `expires_at`."""
        ...

    def slug(self) -> str: ...


class AppTokens:
    """Installation tokens of a GitHub App.

    Thread-safe. `on_minted` is called with each new token, to mask it in logs.
    """

    def __init__(self, mint: TokenMint, on_minted: Callable[[str], None], now: Callable[[], float] = time.time) -> None:
        self._mint = mint
        self._on_minted = on_minted
        self._now = now
        self._current: InstallationToken | None = None
        self._slug = ""
        self._lock = threading.Lock()

    def token(self) -> str:
        with self._lock:
            if self._current is None or self._current.expires_at - self._now() < MIN_TOKEN_SECONDS:
                self._current = parse_installation_token(self._mint.mint())
                self._on_minted(self._current.token)
            return self._current.token

    def invalidate(self, token: str) -> bool:
        with self._lock:
            if self._current is not None and self._current.token == token:
                self._current = None
        return True

    def login(self) -> str:
        with self._lock:
            self._slug = self._slug or self._mint.slug()
        return f"{self._slug}[bot]"


def parse_installation_token(answer: Mapping[str, Any]) -> InstallationToken:
    token, expires_at = answer.get("token"), answer.get("expires_at")
    if not isinstance(token, str) or not token:
        raise _missing_token_error()
    try:
        return InstallationToken(token, datetime.fromisoformat(str(expires_at)).timestamp())
    except ValueError:
        raise _missing_token_error() from None


def _missing_token_error() -> BadCredentials:
    return BadCredentials(
        "GitHub's response to the App contains no token",
        where="POST /app/installations/…/access_tokens",
        remedy="Check the App's id, its private key, and that it is installed on this repository.",
    )


@dataclass(frozen=True)
class AppKey:
    app_id: str
    private_key: str = field(repr=False)
    installation: int | None = None


def read_token_config(env: Mapping[str, str]) -> AppKey | StaticToken:
    """Return the App if its id and key are set, otherwise the token. Raises an error if neither is set."""
    app_id, key = env.get(APP_ID, "").strip(), env.get(APP_KEY, "").strip()
    if app_id and key:
        return AppKey(app_id, key.replace("\\n", "\n"), _parse_installation(env.get(APP_INSTALLATION, "").strip()))
    token = env.get(GITHUB_TOKEN, "").strip()
    if token and not app_id and not key:
        return StaticToken(token, env.get(BOT_LOGIN, "").strip())
    half = f"{APP_ID} is set without {APP_KEY}" if app_id else f"{APP_KEY} is set without {APP_ID}"
    raise TokenMissing(
        half if app_id or key else "no token for GitHub is set",
        where="the environment",
        remedy=f"Set {GITHUB_TOKEN}, or both {APP_ID} and {APP_KEY}.",
    )


def _parse_installation(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal():
        raise TokenMissing(
            f"{APP_INSTALLATION} is not a number",
            where="the environment",
            remedy="Set it to the number of the installation. If it is unset, the number is looked up.",
        )
    return int(text)
