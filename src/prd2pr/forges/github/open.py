"""Opening a hub: the one place where githubkit is imported, and only when it is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from prd2pr.errors import UsageProblem
from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.retry import Patience
from prd2pr.forges.github.tokens import AppTokens, GivenToken, TokenSource, configured
from prd2pr.forges.github.wire import Wire

if TYPE_CHECKING:
    import httpx

API_URL = "https://api.github.com"
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9._-]{1,100}")


def open_hub(
    repository: str,
    *,
    token: TokenSource,
    api_url: str = API_URL,
    graphql_url: str = "",
    patience: Patience | None = None,
    transport: httpx.BaseTransport | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> GitHubHub:
    """`repository` is `owner/name`. The connection is kept until `close`. `say` hears what belongs into the log."""
    from prd2pr.forges.github.client import Client, SourceAuth

    client = Client(SourceAuth(token), api_url, graphql_url, transport)
    return GitHubHub(Wire(client.send, checked(repository), patience or Patience()), token, client.close, say)


def token_source(
    env: Mapping[str, str],
    repository: str,
    *,
    api_url: str = API_URL,
    on_minted: Callable[[str], None],
    transport: httpx.BaseTransport | None = None,
) -> TokenSource:
    """By what is configured. `on_minted` hears of each token that an App mints, before it is used: mask it there."""
    chosen = configured(env)
    if isinstance(chosen, GivenToken):
        return chosen
    from prd2pr.forges.github.client import AppMint

    return AppTokens(AppMint(chosen, checked(repository), api_url, transport), on_minted)


def checked(repository: str) -> str:
    owner, _, name = repository.partition("/")
    if REPOSITORY.fullmatch(repository) and owner and name not in {".", ".."}:
        return repository
    raise UsageProblem(
        f"{repository!r} is not the name of a repository", where="GITHUB_REPOSITORY", remedy="Write OWNER/NAME."
    )
