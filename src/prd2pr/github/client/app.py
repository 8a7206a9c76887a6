"""Calls that a GitHub App makes as itself: its identity, installation tokens, and its creation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prd2pr.errors import HubProblem
from prd2pr.github.client.exchange import ApiResponse, RestCall, join_path
from prd2pr.github.client.factory import API_URL
from prd2pr.github.client.tokens import AppKey

if TYPE_CHECKING:
    import httpx

MANIFEST_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class AppApi:
    """API calls as the App, over a connection that is kept open until `close`."""

    def __init__(self, key: AppKey, api_url: str = API_URL, transport: httpx.BaseTransport | None = None) -> None:
        from githubkit import AppAuthStrategy

        from prd2pr.github.client.transport import GitHubConnection

        self._client = GitHubConnection(AppAuthStrategy(key.app_id, key.private_key), api_url, transport=transport)

    def close(self) -> None:
        self._client.close()

    def about(self) -> Mapping[str, Any]:
        """Return the App's `slug`, `permissions`, `events` and other attributes."""
        return self._ask(RestCall("GET", join_path("app")))

    def installation_of(self, owner: str, name: str) -> int:
        return int(self._ask(RestCall("GET", join_path("repos", owner, name, "installation")))["id"])

    def mint(
        self, installation: int, repositories: tuple[str, ...], permissions: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """Mint an installation token. `repositories` are names without their owner."""
        body = {"repositories": list(repositories), "permissions": dict(permissions)}
        return self._ask(RestCall("POST", join_path("app", "installations", installation, "access_tokens"), body=body))

    def _ask(self, call: RestCall) -> Mapping[str, Any]:
        from prd2pr.github.client.transport import send_as_app

        return send_as_app(self._client, call)


def convert_manifest(
    code: str, api_url: str = API_URL, transport: httpx.BaseTransport | None = None
) -> Mapping[str, Any]:
    """Exchange a manifest code for the App's `id`, `slug`, `pem`, `webhook_secret`, `html_url` and other attributes.

    A code can be used only once.
    """
    from githubkit import UnauthAuthStrategy

    from prd2pr.github.client.transport import GitHubConnection, parse_json_body

    if not MANIFEST_CODE.fullmatch(code):
        raise _invalid_code_error("this is not a code from GitHub")
    call = RestCall("POST", join_path("app-manifests", code, "conversions"))
    client = GitHubConnection(UnauthAuthStrategy(), api_url, transport=transport)
    try:
        outcome = client.send(call)  # not retried: a code is used up even if the response was lost
    finally:
        client.close()
    if isinstance(outcome, ApiResponse) and outcome.status in (404, 422):
        raise _invalid_code_error("GitHub does not recognize this code")
    return parse_json_body(call, outcome)


def _invalid_code_error(what: str) -> HubProblem:
    return HubProblem(
        what,
        where="POST /app-manifests/…/conversions",
        remedy="A code works once and expires after an hour. Start again; delete the App on GitHub if it exists.",
    )
