"""Repositories as the App sees them: one connection and one token for each, kept for the next claim."""

from __future__ import annotations

import threading
from collections import OrderedDict

from prd2pr.errors import TokenMissing
from prd2pr.forges.github.client import AppMint
from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.open import checked, open_hub
from prd2pr.forges.github.retry import Patience
from prd2pr.forges.github.tokens import AppKey, AppTokens, TokenSource
from prd2pr.server.settings import ServerSettings

KEPT = 64
# The claim itself is tried again, later and longer.
PATIENCE = Patience(tries=3, first_wait=0.3, longest_wait=5.0, longest_limit=10.0)


def app_key(settings: ServerSettings) -> AppKey:
    key = settings.app_private_key.get_secret_value().replace("\\n", "\n").strip()
    if not settings.app_id or not key:
        raise TokenMissing(
            "the server does not know its App",
            where="PRD2PR_APP_ID, PRD2PR_APP_PRIVATE_KEY",
            remedy="set both; the App's page on GitHub has them",
        )
    return AppKey(settings.app_id, key)


class Hubs:
    def __init__(self, settings: ServerSettings) -> None:
        self.key, self.settings = app_key(settings), settings
        self._open: OrderedDict[str, tuple[GitHubHub, TokenSource]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, repository: str) -> GitHubHub:
        """One repository is worked on by one claim at a time, so one thread uses it."""
        return self._both(repository)[0]

    def tokens_of(self, repository: str) -> TokenSource:
        return self._both(repository)[1]

    def _both(self, repository: str) -> tuple[GitHubHub, TokenSource]:
        with self._lock:
            both = self._open.pop(repository, None) or self._opened(checked(repository))
            self._open[repository] = both
            while len(self._open) > KEPT:
                self._open.popitem(last=False)[1][0].close()
            return both

    def _opened(self, repository: str) -> tuple[GitHubHub, TokenSource]:
        api_url = self.settings.github_api_url
        tokens = AppTokens(AppMint(self.key, repository, api_url), on_minted=lambda _: None)
        return open_hub(repository, token=tokens, api_url=api_url, patience=PATIENCE), tokens

    def close(self) -> None:
        with self._lock:
            while self._open:
                self._open.popitem()[1][0].close()
