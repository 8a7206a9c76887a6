"""Whose token is used. One that was given is used as it is; an App's is minted, and minted anew before it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from prd2pr.errors import BadCredentials, TokenMissing

ENOUGH_SECONDS = 600.0  # one that ends sooner might end in the middle of a push

GITHUB_TOKEN = "GITHUB_TOKEN"  # noqa: S105 - the variable's name
APP_ID, APP_KEY, APP_INSTALLATION = "PRD2PR_APP_ID", "PRD2PR_APP_PRIVATE_KEY", "PRD2PR_APP_INSTALLATION_ID"
BOT_LOGIN = "PRD2PR_BOT_LOGIN"


class TokenSource(Protocol):
    def token(self) -> str:
        """One that lasts long enough for the next call or push; ask again before each."""
        ...

    def refused(self, token: str) -> bool:
        """GitHub did not accept `token`. True: the next `token()` is another one."""
        ...

    def login(self) -> str:
        """Of the bot whose token this is, `name[bot]`, where the source knows it; else empty."""
        ...


@dataclass(frozen=True)
class GivenToken:
    """The workflow's GITHUB_TOKEN, a personal token, or one that another step minted."""

    value: str = field(repr=False)
    bot: str = ""

    def token(self) -> str:
        return self.value

    def refused(self, token: str) -> bool:
        del token
        return False

    def login(self) -> str:
        return self.bot


@dataclass(frozen=True)
class Minted:
    token: str = field(repr=False)
    ends: float


class Mint(Protocol):
    """Where App tokens come from; `client.AppMint` asks GitHub."""

    def mint(self) -> Mapping[str, Any]:
        """GitHub's answer: `token` and `expires_at`."""
        ...

    def slug(self) -> str: ...


class AppTokens:
    """Installation tokens of a GitHub App. `on_minted` hears of each, so that a log can mask it."""

    def __init__(self, mint: Mint, on_minted: Callable[[str], None], now: Callable[[], float] = time.time) -> None:
        self._mint = mint
        self._on_minted = on_minted
        self._now = now
        self._current: Minted | None = None
        self._slug = ""

    def token(self) -> str:
        if self._current is None or self._current.ends - self._now() < ENOUGH_SECONDS:
            self._current = read_minted(self._mint.mint())
            self._on_minted(self._current.token)
        return self._current.token

    def refused(self, token: str) -> bool:
        if self._current is not None and self._current.token == token:
            self._current = None
        return True

    def login(self) -> str:
        self._slug = self._slug or self._mint.slug()
        return f"{self._slug}[bot]"


def read_minted(answer: Mapping[str, Any]) -> Minted:
    token, ends = answer.get("token"), answer.get("expires_at")
    if not isinstance(token, str) or not token:
        raise _no_token()
    try:
        return Minted(token, datetime.fromisoformat(str(ends)).timestamp())
    except ValueError:
        raise _no_token() from None


def _no_token() -> BadCredentials:
    return BadCredentials(
        "GitHub's answer to the App holds no token",
        where="POST /app/installations/…/access_tokens",
        remedy="Check the App's id, its private key, and that it is installed on this repository.",
    )


@dataclass(frozen=True)
class AppKey:
    app_id: str
    private_key: str = field(repr=False)
    installation: int | None = None


def configured(env: Mapping[str, str]) -> AppKey | GivenToken:
    """An App where its id and key are set, else the token; neither is an error."""
    app_id, key = env.get(APP_ID, "").strip(), env.get(APP_KEY, "").strip()
    if app_id and key:
        return AppKey(app_id, key.replace("\\n", "\n"), _installation(env.get(APP_INSTALLATION, "").strip()))
    token = env.get(GITHUB_TOKEN, "").strip()
    if token and not app_id and not key:
        return GivenToken(token, env.get(BOT_LOGIN, "").strip())
    half = f"{APP_ID} is set without {APP_KEY}" if app_id else f"{APP_KEY} is set without {APP_ID}"
    raise TokenMissing(
        half if app_id or key else "there is no token for GitHub",
        where="the environment",
        remedy=f"Set {GITHUB_TOKEN}, or both {APP_ID} and {APP_KEY}.",
    )


def _installation(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal():
        raise TokenMissing(
            f"{APP_INSTALLATION} is not a number",
            where="the environment",
            remedy="Write the installation's number, or leave it out: it is looked up.",
        )
    return int(text)
