"""Tokens of the App's installations: minted for the repositories and permissions of one job, and kept while they last.

    installations.token(4711, ["octo/calc"], DISPATCHING)
    open_hub("octo/calc", token=installations.source(4711, ["octo/calc"], WORKING))

Whoever asks for the same at once waits for one token instead of minting two.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from prd2pr.errors import TokenMissing, UsageProblem
from prd2pr.forges.github.app_api import AppApi
from prd2pr.forges.github.open import checked
from prd2pr.forges.github.tokens import AppKey, AppTokens, TokenSource
from prd2pr.server.settings import ServerSettings

KEPT = 2_000  # sources; one that is used again after it was dropped mints anew
MOST_REPOSITORIES = 500  # GitHub's limit for one token


class Minting(Protocol):
    """`AppApi`, or what stands in for it."""

    def mint(
        self, installation: int, repositories: tuple[str, ...], permissions: Mapping[str, str]
    ) -> Mapping[str, Any]: ...

    def about(self) -> Mapping[str, Any]: ...

    def installation_of(self, owner: str, name: str) -> int: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Scope:
    installation: int
    repositories: tuple[str, ...]  # names without their owner
    permissions: tuple[tuple[str, str], ...]


class Installations:
    """`on_minted` hears of each token before it is used, so that a log can mask it."""

    def __init__(
        self, api: Minting, on_minted: Callable[[str], None] = lambda _: None, now: Callable[[], float] = time.time
    ) -> None:
        self._api = api
        self._on_minted = on_minted
        self._now = now
        self._lock = threading.Lock()
        self._sources: OrderedDict[Scope, OneAtATime] = OrderedDict()
        self._known: dict[str, int] = {}  # installations by repository
        self._slug = ""

    def token(self, installation: int, repositories: Iterable[str], permissions: Mapping[str, str]) -> str:
        return self.source(installation, repositories, permissions).token()

    def source(self, installation: int, repositories: Iterable[str], permissions: Mapping[str, str]) -> TokenSource:
        """For `open_hub`: asks for a new token before the old one ends. `repositories`: `owner/name`, at least one."""
        scope = scope_of(installation, repositories, permissions)
        with self._lock:
            found = self._sources.get(scope)
            if found is None:
                found = self._sources[scope] = OneAtATime(
                    AppTokens(ScopedMint(self._api, scope, self.slug), self._on_minted, self._now)
                )
                while len(self._sources) > KEPT:
                    self._sources.popitem(last=False)
            self._sources.move_to_end(scope)
        return found

    def source_for(self, repository: str, permissions: Mapping[str, str]) -> TokenSource:
        """The same where nobody knows the installation yet: GitHub is asked with the first token."""
        return LookedUp(self, checked(repository), permissions)

    def installation_of(self, repository: str) -> int:
        with self._lock:
            known = self._known.get(repository.lower())
        if known is None:
            owner, _, name = repository.partition("/")
            known = self._api.installation_of(owner, name)
            with self._lock:
                self._known[repository.lower()] = known
        return known

    def slug(self) -> str:
        """Of the App; what it writes is by `slug[bot]`."""
        self._slug = self._slug or str(self._api.about()["slug"])
        return self._slug

    def forget(self, installation: int) -> None:
        """It was deleted or suspended: its tokens end with it."""
        with self._lock:
            for scope in [each for each in self._sources if each.installation == installation]:
                del self._sources[scope]
            for name in [each for each, known in self._known.items() if known == installation]:
                del self._known[name]

    def close(self) -> None:
        self._api.close()


def open_installations(settings: ServerSettings, on_minted: Callable[[str], None] = lambda _: None) -> Installations:
    return Installations(AppApi(app_key(settings), settings.github_api_url), on_minted)


def app_key(settings: ServerSettings) -> AppKey:
    key = settings.app_private_key.get_secret_value().replace("\\n", "\n").strip()
    if not settings.app_id or not key:
        raise TokenMissing(
            "the server does not know its App",
            where="PRD2PR_APP_ID, PRD2PR_APP_PRIVATE_KEY",
            remedy="prd2pr serve --setup creates the App, and says what to set",
        )
    return AppKey(settings.app_id, key)


def scope_of(installation: int, repositories: Iterable[str], permissions: Mapping[str, str]) -> Scope:
    full = sorted({checked(each) for each in repositories})
    owners = {each.partition("/")[0].lower() for each in full}
    if not full or len(owners) != 1 or len(full) > MOST_REPOSITORIES or not permissions:
        # Without names GitHub would give a token for all repositories, and without permissions all of the App's.
        raise UsageProblem(
            f"a token is for 1 to {MOST_REPOSITORIES} repositories of one owner, with named permissions",
            where=f"installation {installation}: {len(full)} repositories, {len(permissions)} permissions",
        )
    names = tuple(each.partition("/")[2] for each in full)
    return Scope(installation, names, tuple(sorted(permissions.items())))


@dataclass(frozen=True)
class ScopedMint:
    """`tokens.Mint` of one scope."""

    api: Minting
    scope: Scope
    app: Callable[[], str]

    def mint(self) -> Mapping[str, Any]:
        return self.api.mint(self.scope.installation, self.scope.repositories, dict(self.scope.permissions))

    def slug(self) -> str:
        return self.app()


class OneAtATime:
    """A `TokenSource` for several threads."""

    def __init__(self, tokens: AppTokens) -> None:
        self._tokens = tokens
        self._lock = threading.Lock()

    def token(self) -> str:
        with self._lock:
            return self._tokens.token()

    def refused(self, token: str) -> bool:
        with self._lock:
            return self._tokens.refused(token)

    def login(self) -> str:
        with self._lock:
            return self._tokens.login()


@dataclass(frozen=True)
class LookedUp:
    """A `TokenSource` of one repository, whose installation is looked up when a token is asked for."""

    installations: Installations
    repository: str
    permissions: Mapping[str, str]

    def token(self) -> str:
        return self._source().token()

    def refused(self, token: str) -> bool:
        return self._source().refused(token)

    def login(self) -> str:
        return self._source().login()

    def _source(self) -> TokenSource:
        installation = self.installations.installation_of(self.repository)
        return self.installations.source(installation, [self.repository], self.permissions)
