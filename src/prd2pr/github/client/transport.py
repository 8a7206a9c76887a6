"""The githubkit client that sends the calls.

Only `factory` imports this module, when called, because it imports githubkit.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx
from githubkit import AppAuthStrategy, GitHub
from githubkit.auth import BaseAuthStrategy
from githubkit.cache import MemCacheStrategy
from githubkit.exception import RequestError, RequestFailed
from jwt import PyJWTError

from prd2pr.errors import BadCredentials, HubUnreachable, Stopped
from prd2pr.github.client.errors import classify_error
from prd2pr.github.client.exchange import ApiOutcome, ApiResponse, NoResponse, RestCall, join_path
from prd2pr.github.client.tokens import AppKey, TokenSource

if TYPE_CHECKING:
    import ssl

    from githubkit import GitHubCore

API_VERSION = "2022-11-28"  # API version whose responses `json_reader` can read
TIMEOUT = httpx.Timeout(30.0, connect=10.0)
NOT_SENT_ERRORS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@cache
def get_tls_context() -> ssl.SSLContext:
    """Return the TLS context of this process. It is cached because loading the certificate authorities takes 50 ms."""
    return httpx.create_ssl_context()


class TokenAuth(httpx.Auth):
    """Adds a token to each call. After a rejection, it retries once if there is another token."""

    def __init__(self, source: TokenSource) -> None:
        self.source = source

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        token = self.source.token()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        # GitHub checks the token before it executes anything, so even a write can be sent again after a 401.
        if response.status_code == 401 and self.source.invalidate(token):
            request.headers["Authorization"] = f"Bearer {self.source.token()}"
            yield request


class TokenAuthStrategy(BaseAuthStrategy):
    def __init__(self, source: TokenSource) -> None:
        self.source = source

    def get_auth_flow(self, github: GitHubCore[Any]) -> httpx.Auth:  # noqa: ARG002 - githubkit's signature
        return TokenAuth(self.source)


class GitHubConnection:
    """One connection pool for the whole run. By default, `graphql_url` is derived from the API's URL."""

    def __init__(
        self, auth: BaseAuthStrategy, api_url: str, graphql_url: str = "", transport: httpx.BaseTransport | None = None
    ) -> None:
        self._graphql = graphql_url or make_default_graphql_url(api_url)
        self._github = GitHub(
            auth,
            base_url=api_url,
            user_agent="prd2pr",
            follow_redirects=False,  # report a moved repository instead of silently writing to it
            timeout=TIMEOUT,
            transport=transport,
            ssl_verify=get_tls_context(),
            http_cache=False,
            cache_strategy=MemCacheStrategy(),  # the default cache is shared and would outlive a changed key
            auto_retry=False,  # `retry.py` decides, because a write must not be repeated blindly
        )
        self._known: dict[tuple[str, str], ApiResponse] = {}
        # Outside of its context, githubkit opens a new connection for each call.
        self._open = ExitStack()
        self._open.enter_context(self._github)

    def close(self) -> None:
        self._open.close()

    def send(self, call: RestCall) -> ApiOutcome:
        """Send a call. Reads use ETags, because unchanged responses do not count towards GitHub's rate limit."""
        known = None if call.writes else self._known.get(_cache_key(call))
        outcome = self._ask(call, {"If-None-Match": known.headers["etag"]} if known else {})
        if isinstance(outcome, NoResponse):
            return outcome
        if known is not None and outcome.status == 304:
            return known
        if not call.writes and outcome.status == 200 and "etag" in outcome.headers:
            self._known[_cache_key(call)] = outcome
        return outcome

    def _ask(self, call: RestCall, headers: dict[str, str]) -> ApiOutcome:
        url = self._graphql if call.path == "/graphql" else call.path
        try:
            response = self._github.request(
                call.method,
                url,
                params=dict(call.params) or None,
                json=call.body,
                headers={"X-GitHub-Api-Version": API_VERSION, **headers},
            )
        except RequestFailed as failure:
            return _read_response(failure.response.raw_response)
        except RequestError as failure:
            if isinstance(failure.exc, Stopped):  # a signal during the wait is not a network error
                raise failure.exc from None
            return _read_failure(failure.exc)
        return _read_response(response.raw_response)


def _cache_key(call: RestCall) -> tuple[str, str]:
    return call.path, repr(sorted(call.params.items()))


def make_default_graphql_url(api_url: str) -> str:
    plain = api_url.rstrip("/")
    return f"{plain.removesuffix('/v3')}/graphql" if plain.endswith("/api/v3") else f"{plain}/graphql"


def _read_response(response: httpx.Response) -> ApiResponse:
    headers = {name.lower(): value for name, value in response.headers.items()}
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None  # a proxy's page; the status is sufficient
    return ApiResponse(response.status_code, headers, body)


def _read_failure(failure: Exception) -> NoResponse:
    if not isinstance(failure, httpx.TransportError):
        raise failure
    return NoResponse(f"{type(failure).__name__}: {failure}".rstrip(": "), not isinstance(failure, NOT_SENT_ERRORS))


class AppMint:
    """Mints installation tokens for one repository and the permissions of one job, authenticated as the App."""

    def __init__(
        self,
        key: AppKey,
        repository: str,
        permissions: Mapping[str, str],
        api_url: str,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._client = GitHubConnection(AppAuthStrategy(key.app_id, key.private_key), api_url, transport=transport)
        self._owner, _, self._name = repository.partition("/")
        self._installation = key.installation
        self._permissions = permissions

    def mint(self) -> Mapping[str, Any]:
        owner = ("repos", self._owner, self._name, "installation")
        known = ("app", "installations", self._installation)
        installation = self._ask(RestCall("GET", join_path(*(known if self._installation else owner))))
        self._installation = int(installation["id"])
        # GitHub refuses to mint a token with a permission that the installation lacks; its use fails later, by name.
        granted: Mapping[str, str] = installation.get("permissions") or self._permissions
        wanted = {"metadata": "read"} | {
            name: access if granted[name] != "read" else "read"
            for name, access in self._permissions.items()
            if name in granted
        }
        address = join_path("app", "installations", self._installation, "access_tokens")
        return self._ask(RestCall("POST", address, body={"repositories": [self._name], "permissions": wanted}))

    def slug(self) -> str:
        return str(self._ask(RestCall("GET", join_path("app")))["slug"])

    def _ask(self, call: RestCall) -> Mapping[str, Any]:
        return send_as_app(self._client, call)


def send_as_app(client: GitHubConnection, call: RestCall) -> Mapping[str, Any]:
    """Send a call as the App, with retries. An additional token that is never used does no harm."""
    try:
        outcome = client.send(call)
        if isinstance(outcome, NoResponse) or outcome.status >= 500:
            outcome = client.send(call)
    except (ValueError, PyJWTError) as error:  # the key cannot be read
        raise _bad_key_error() from error
    return parse_json_body(call, outcome)


def parse_json_body(call: RestCall, outcome: ApiOutcome) -> Mapping[str, Any]:
    if isinstance(outcome, NoResponse):
        raise HubUnreachable(f"GitHub could not be reached: {outcome.why}", where=str(call), remedy="Try again later.")
    if outcome.status >= 300 or not isinstance(outcome.body, dict):
        raise classify_error(call, outcome)
    return outcome.body


def _bad_key_error() -> BadCredentials:
    return BadCredentials(
        "the App's private key cannot be read",
        where="PRD2PR_APP_PRIVATE_KEY",
        remedy="Put the whole PEM file into the secret, from BEGIN to END, line breaks included.",
    )
