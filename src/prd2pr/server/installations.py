"""Tokens of the App's installations, minted for the repositories and permissions of one job and cached until expiry.

    installations.token(4711, ["octo/calc"], DISPATCHING)
    open_hub("octo/calc", token=installations.source(4711, ["octo/calc"], WORKING))

Concurrent requests for the same scope share one token.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prd2pr.errors import TokenMissing, UsageProblem
from prd2pr.github.client.app import AppApi
from prd2pr.github.client.factory import check_repository_name
from prd2pr.github.client.tokens import AppKey, AppTokens, TokenSource
from prd2pr.server.settings import ServerSettings

MAX_TOKEN_SOURCES = 2_000  # beyond this, the least recently used source is dropped; using it again mints a new token
MAX_REPOSITORIES = 500  # GitHub's limit per token


@dataclass(frozen=True)
class TokenScope:
    installation: int
    repositories: tuple[str, ...]  # repository names without the owner
    permissions: tuple[tuple[str, str], ...]


class Installations:
    """Token sources, one for each set of repositories and permissions.

    `on_minted` is called with each token before its use, so that logs can mask it.
    """

    def __init__(
        self,
        api: AppApi,
        on_minted: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._on_minted = on_minted
        self._now = now
        self._lock = threading.Lock()
        self._sources: OrderedDict[TokenScope, AppTokens] = OrderedDict()
        self._installation_ids: dict[str, int] = {}  # installation ids by repository
        self._slug = ""

    def token(self, installation: int, repositories: Iterable[str], permissions: Mapping[str, str]) -> str:
        return self.source(installation, repositories, permissions).token()

    def source(self, installation: int, repositories: Iterable[str], permissions: Mapping[str, str]) -> TokenSource:
        """Return a source that refreshes its token before it expires.

        `repositories` must contain at least one `owner/name`.
        """
        scope = make_token_scope(installation, repositories, permissions)
        with self._lock:
            found = self._sources.get(scope)
            if found is None:
                minter = ScopedMinter(self._api, scope, self.slug)
                found = self._sources[scope] = AppTokens(minter, self._on_minted, self._now)
                while len(self._sources) > MAX_TOKEN_SOURCES:
                    self._sources.popitem(last=False)
            self._sources.move_to_end(scope)
        return found

    def source_for(self, repository: str, permissions: Mapping[str, str]) -> TokenSource:
        """Return a token source for a repository. Its installation is looked up when the first token is requested."""
        return RepositoryTokenSource(self, check_repository_name(repository), permissions)

    def installation_of(self, repository: str) -> int:
        with self._lock:
            known = self._installation_ids.get(repository.lower())
        if known is None:
            owner, _, name = repository.partition("/")
            known = self._api.installation_of(owner, name)
            with self._lock:
                self._installation_ids[repository.lower()] = known
        return known

    def slug(self) -> str:
        """Return the App's slug; the author of its comments is `slug[bot]`."""
        self._slug = self._slug or str(self._api.about()["slug"])
        return self._slug

    def forget(self, installation: int) -> None:
        """Drop the cached tokens of an installation that was deleted or suspended."""
        with self._lock:
            for scope in [each for each in self._sources if each.installation == installation]:
                del self._sources[scope]
            for name in [each for each, known in self._installation_ids.items() if known == installation]:
                del self._installation_ids[name]

    def close(self) -> None:
        self._api.close()


def open_installations(settings: ServerSettings, on_minted: Callable[[str], None] = lambda _: None) -> Installations:
    return Installations(AppApi(read_app_key(settings), settings.github_api_url), on_minted)


def read_app_key(settings: ServerSettings) -> AppKey:
    key = settings.app_private_key.get_secret_value().replace("\\n", "\n").strip()
    if not settings.app_id or not key:
        raise TokenMissing(
            "no GitHub App is configured",
            where="PRD2PR_APP_ID, PRD2PR_APP_PRIVATE_KEY",
            remedy="run `prd2pr serve --setup`: it creates the App and prints the variables to set",
        )
    return AppKey(settings.app_id, key)


def make_token_scope(installation: int, repositories: Iterable[str], permissions: Mapping[str, str]) -> TokenScope:
    full = sorted({check_repository_name(each) for each in repositories})
    owners = {each.partition("/")[0].lower() for each in full}
    if not full or len(owners) != 1 or len(full) > MAX_REPOSITORIES or not permissions:
        # Without names, GitHub mints a token for all repositories; without permissions, one with all of the App's.
        raise UsageProblem(
            f"a token needs 1 to {MAX_REPOSITORIES} repositories of one owner and at least one permission",
            where=f"installation {installation}: {len(full)} repositories, {len(permissions)} permissions",
        )
    names = tuple(each.partition("/")[2] for each in full)
    return TokenScope(installation, names, tuple(sorted(permissions.items())))


@dataclass(frozen=True)
class ScopedMinter:
    """Mints tokens for one set of repositories and permissions; implements `tokens.TokenMint`."""

    api: AppApi
    scope: TokenScope
    app: Callable[[], str]

    def mint(self) -> Mapping[str, Any]:
        return self.api.mint(self.scope.installation, self.scope.repositories, dict(self.scope.permissions))

    def slug(self) -> str:
        return self.app()


@dataclass(frozen=True)
class RepositoryTokenSource:
    """A `TokenSource` for one repository that looks up its installation when a token is requested."""

    installations: Installations
    repository: str
    permissions: Mapping[str, str]

    def token(self) -> str:
        return self._get_source().token()

    def invalidate(self, token: str) -> bool:
        return self._get_source().invalidate(token)

    def login(self) -> str:
        return self._get_source().login()

    def _get_source(self) -> TokenSource:
        installation = self.installations.installation_of(self.repository)
        return self.installations.source(installation, [self.repository], self.permissions)
