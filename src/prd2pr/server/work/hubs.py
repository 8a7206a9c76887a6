"""A pool of GitHub clients, with one client and one token per repository, reused by later batches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

import httpx

from prd2pr.github.client.factory import check_repository_name, open_hub
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.setup.app_permissions import DISPATCH_ACCESS, AccessLevel
from prd2pr.retry import RetryPolicy
from prd2pr.server.installations import open_installations, read_app_key
from prd2pr.server.settings import ServerSettings

MAX_OPEN_HUBS = 256
# Short, since the batch itself is retried later.
RETRY_POLICY = RetryPolicy(tries=3, first_wait=0.3, longest_wait=5.0, longest_request=10.0)


class SharedTransport(httpx.BaseTransport):
    """One connection pool and TLS context for all repositories, because creating a context takes longer than a call."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Do nothing when a client is closed, since other clients still use the pool."""

    def close_pool(self) -> None:
        self._inner.close()


class HubPool:
    def __init__(self, settings: ServerSettings, permissions: Mapping[str, AccessLevel] | None = None) -> None:
        """Create the pool. `permissions` of the tokens default to those that starting a workflow needs."""
        self.key, self.settings = read_app_key(settings), settings
        self.installations = open_installations(settings)
        self._permissions = permissions or DISPATCH_ACCESS
        self._transport = SharedTransport()
        self._open: OrderedDict[str, GitHubHub] = OrderedDict()
        self._lock = threading.Lock()

    def get_hub(self, repository: str) -> GitHubHub:
        """Return the repository's client. Batches of a repository run one at a time, so only one thread uses it."""
        with self._lock:
            hub = self._open.pop(repository, None) or self._open_hub(check_repository_name(repository))
            self._open[repository] = hub
            while len(self._open) > MAX_OPEN_HUBS:
                self._open.popitem(last=False)[1].close()
            return hub

    def _open_hub(self, repository: str) -> GitHubHub:
        api_url = self.settings.github_api_url
        tokens = self.installations.source_for(repository, self._permissions)
        return open_hub(repository, token=tokens, api_url=api_url, policy=RETRY_POLICY, transport=self._transport)

    def close(self) -> None:
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()
            self._transport.close_pool()
        self.installations.close()
