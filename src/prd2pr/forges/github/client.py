"""The real githubkit client behind `Send`. Importing this imports githubkit, so only `open.py` does, when asked."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
from githubkit import AppAuthStrategy, GitHub
from githubkit.auth import BaseAuthStrategy
from githubkit.cache import MemCacheStrategy
from githubkit.exception import RequestError, RequestFailed
from jwt import PyJWTError

from prd2pr.errors import BadCredentials, HubUnreachable, Stopped
from prd2pr.forges.github.exchange import Answer, Call, Outcome, Silence, path
from prd2pr.forges.github.problems import recognise
from prd2pr.forges.github.tokens import AppKey, TokenSource

if TYPE_CHECKING:
    from githubkit import GitHubCore

API_VERSION = "2022-11-28"  # the shapes of the answers that `reading.py` knows
SECONDS = httpx.Timeout(30.0, connect=10.0)
NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class AskEachTime(httpx.Auth):
    """The token is asked for before each call; one that GitHub refuses is replaced once, where there is another."""

    def __init__(self, source: TokenSource) -> None:
        self.source = source

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        token = self.source.token()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        # 401 comes before anything is carried out, so even a writing call may be sent again.
        if response.status_code == 401 and self.source.refused(token):
            request.headers["Authorization"] = f"Bearer {self.source.token()}"
            yield request


class SourceAuth(BaseAuthStrategy):
    def __init__(self, source: TokenSource) -> None:
        self.source = source

    def get_auth_flow(self, github: GitHubCore[Any]) -> httpx.Auth:  # noqa: ARG002 - githubkit's signature
        return AskEachTime(self.source)


class Client:
    """One connection pool for the whole run. Without `graphql_url` it is the one beside the API."""

    def __init__(
        self, auth: BaseAuthStrategy, api_url: str, graphql_url: str = "", transport: httpx.BaseTransport | None = None
    ) -> None:
        self._graphql = graphql_url or graphql_beside(api_url)
        self._github = GitHub(
            auth,
            base_url=api_url,
            user_agent="prd2pr",
            follow_redirects=False,  # a moved repository is told to a person, not written to behind his back
            timeout=SECONDS,
            transport=transport,
            http_cache=False,
            cache_strategy=MemCacheStrategy(),  # the default one is shared, and would outlive a changed key
            auto_retry=False,  # `retry.py` decides, since a writing call must not be repeated blindly
        )
        self._known: dict[tuple[str, str], Answer] = {}
        # Outside of its context githubkit makes a new connection for each call.
        self._open = ExitStack()
        self._open.enter_context(self._github)

    def close(self) -> None:
        self._open.close()

    def send(self, call: Call) -> Outcome:
        """What is read again is asked for only if it has changed: GitHub does not count the answer that it has not."""
        known = None if call.writes else self._known.get(_name(call))
        outcome = self._ask(call, {"If-None-Match": known.headers["etag"]} if known else {})
        if isinstance(outcome, Silence):
            return outcome
        if known is not None and outcome.status == 304:
            return known
        if not call.writes and outcome.status == 200 and "etag" in outcome.headers:
            self._known[_name(call)] = outcome
        return outcome

    def _ask(self, call: Call, headers: dict[str, str]) -> Outcome:
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
            return _answer(failure.response.raw_response)
        except RequestError as failure:
            if isinstance(failure.exc, Stopped):  # a signal that came while we waited is no weather
                raise failure.exc from None
            return _silence(failure.exc)
        return _answer(response.raw_response)


def _name(call: Call) -> tuple[str, str]:
    return call.path, repr(sorted(call.params.items()))


def graphql_beside(api_url: str) -> str:
    plain = api_url.rstrip("/")
    return f"{plain.removesuffix('/v3')}/graphql" if plain.endswith("/api/v3") else f"{plain}/graphql"


def _answer(response: httpx.Response) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None  # a page of a proxy; the status says enough
    return Answer(response.status_code, headers, body)


def _silence(failure: Exception) -> Silence:
    if not isinstance(failure, httpx.TransportError):
        raise failure
    return Silence(f"{type(failure).__name__}: {failure}".rstrip(": "), not isinstance(failure, NEVER_ARRIVED))


class AppMint:
    """Mints installation tokens for one repository, with the App's own signature."""

    def __init__(
        self, key: AppKey, repository: str, api_url: str, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._client = Client(AppAuthStrategy(key.app_id, key.private_key), api_url, transport=transport)
        self._owner, _, self._name = repository.partition("/")
        self._installation = key.installation

    def mint(self) -> Mapping[str, Any]:
        if self._installation is None:
            found = self._ask(Call("GET", path("repos", self._owner, self._name, "installation")))
            self._installation = int(found["id"])
        address = path("app", "installations", self._installation, "access_tokens")
        return self._ask(Call("POST", address, body={"repositories": [self._name]}))

    def slug(self) -> str:
        return str(self._ask(Call("GET", path("app")))["slug"])

    def _ask(self, call: Call) -> Mapping[str, Any]:
        return ask_as_app(self._client, call)


def ask_as_app(client: Client, call: Call) -> Mapping[str, Any]:
    """What an App asks for in its own name. A token too many does no harm, so these are simply asked again."""
    try:
        outcome = client.send(call)
        if isinstance(outcome, Silence) or outcome.status >= 500:
            outcome = client.send(call)
    except (ValueError, PyJWTError) as error:  # the key cannot be read
        raise _bad_key() from error
    return answered(call, outcome)


def answered(call: Call, outcome: Outcome) -> Mapping[str, Any]:
    if isinstance(outcome, Silence):
        raise HubUnreachable(f"GitHub could not be reached: {outcome.why}", where=str(call), remedy="Try it later.")
    if outcome.status >= 300 or not isinstance(outcome.body, dict):
        raise recognise(call, outcome)
    return outcome.body


def _bad_key() -> BadCredentials:
    return BadCredentials(
        "the App's private key cannot be read",
        where="PRD2PR_APP_PRIVATE_KEY",
        remedy="Put the whole PEM file into the secret, from BEGIN to END, line breaks included.",
    )
