"""Repositories as the App sees them: one connection and one token for each, kept for the next claim."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

import httpx

from prd2pr.core.app_needs import DISPATCHING, WORKING, Access
from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.open import checked, open_hub
from prd2pr.forges.github.retry import Patience
from prd2pr.forges.github.tokens import TokenSource
from prd2pr.server.installations import app_key, open_installations
from prd2pr.server.settings import ServerSettings

KEPT = 256
# The claim itself is tried again, later and longer.
PATIENCE = Patience(tries=3, first_wait=0.3, longest_wait=5.0, longest_limit=10.0)


class Shared(httpx.BaseTransport):
    """One pool of connections and one TLS context for all repositories: making a context takes longer than a call."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Whoever is done with his client closes it; the others go on."""

    def shut(self) -> None:
        self._inner.close()


class Hubs:
    def __init__(self, settings: ServerSettings, permissions: Mapping[str, Access] | None = None) -> None:
        """`permissions`: of its tokens; without them, those that whoever does the work needs."""
        self.key, self.settings = app_key(settings), settings
        self.installations = open_installations(settings)
        # The local pool does what a workflow's job does; else the workflow has a token of its own.
        self._permissions = permissions or (WORKING if settings.workers == "local" else DISPATCHING)
        self._transport = Shared()
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
        tokens = self.installations.source_for(repository, self._permissions)
        hub = open_hub(repository, token=tokens, api_url=api_url, patience=PATIENCE, transport=self._transport)
        return hub, tokens

    def close(self) -> None:
        with self._lock:
            while self._open:
                self._open.popitem()[1][0].close()
            self._transport.shut()
        self.installations.close()
