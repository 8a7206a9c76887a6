"""Open a hub. This is the only place that imports githubkit, and only when it is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from prd2pr.domain.secrets import Secrets
from prd2pr.errors import UsageProblem
from prd2pr.github.client.calls import RepositoryApi
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.tokens import AppTokens, StaticToken, TokenSource, read_token_config
from prd2pr.retry import RetryPolicy

if TYPE_CHECKING:
    import httpx

API_URL = "https://api.github.com"
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}")
API_RETRIES = RetryPolicy()


def open_hub(
    repository: str,
    *,
    token: TokenSource,
    api_url: str = API_URL,
    graphql_url: str = "",
    policy: RetryPolicy = API_RETRIES,
    transport: httpx.BaseTransport | None = None,
    say: Callable[[str], None] = lambda _: None,
    secrets: Secrets | None = None,
) -> GitHubHub:
    """Open the repository `owner/name` until `close`. `say` writes to the log; `secrets` are removed from all texts."""
    from prd2pr.github.client.transport import GitHubConnection, TokenAuthStrategy

    client = GitHubConnection(TokenAuthStrategy(token), api_url, graphql_url, transport)
    return GitHubHub(
        RepositoryApi(client.send, check_repository_name(repository), policy),
        token,
        client.close,
        say,
        secrets or Secrets(),
    )


def make_token_source(
    env: Mapping[str, str],
    repository: str,
    *,
    permissions: Mapping[str, str],
    api_url: str = API_URL,
    on_minted: Callable[[str], None],
    transport: httpx.BaseTransport | None = None,
) -> TokenSource:
    """Return the configured token source. An App's tokens have only these `permissions`.

    `on_minted` is called with each new token before its use, to mask it in logs.
    """
    chosen = read_token_config(env)
    if isinstance(chosen, StaticToken):
        return chosen
    from prd2pr.github.client.transport import AppMint

    return AppTokens(AppMint(chosen, check_repository_name(repository), permissions, api_url, transport), on_minted)


def check_repository_name(repository: str) -> str:
    owner, _, name = repository.partition("/")
    if REPOSITORY.fullmatch(repository) and owner and name not in {".", ".."}:
        return repository
    raise UsageProblem(
        f"{repository!r} is not the name of a repository", where="GITHUB_REPOSITORY", remedy="Write OWNER/NAME."
    )
