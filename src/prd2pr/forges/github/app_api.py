"""What a GitHub App asks for in its own name: who it is, tokens of its installations. And how an App is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prd2pr.errors import HubProblem
from prd2pr.forges.github.exchange import Answer, Call, path
from prd2pr.forges.github.open import API_URL
from prd2pr.forges.github.tokens import AppKey

if TYPE_CHECKING:
    import httpx

CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class AppApi:
    """The connection is kept; `close` ends it."""

    def __init__(self, key: AppKey, api_url: str = API_URL, transport: httpx.BaseTransport | None = None) -> None:
        from githubkit import AppAuthStrategy

        from prd2pr.forges.github.client import Client

        self._client = Client(AppAuthStrategy(key.app_id, key.private_key), api_url, transport=transport)

    def close(self) -> None:
        self._client.close()

    def about(self) -> Mapping[str, Any]:
        """`slug`, `permissions`, `events` …"""
        return self._ask(Call("GET", path("app")))

    def installation_of(self, owner: str, name: str) -> int:
        return int(self._ask(Call("GET", path("repos", owner, name, "installation")))["id"])

    def mint(
        self, installation: int, repositories: tuple[str, ...], permissions: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """`repositories`: names without their owner."""
        body = {"repositories": list(repositories), "permissions": dict(permissions)}
        return self._ask(Call("POST", path("app", "installations", installation, "access_tokens"), body=body))

    def _ask(self, call: Call) -> Mapping[str, Any]:
        from prd2pr.forges.github.client import ask_as_app

        return ask_as_app(self._client, call)


def convert_manifest(
    code: str, api_url: str = API_URL, transport: httpx.BaseTransport | None = None
) -> Mapping[str, Any]:
    """What GitHub gives for the code of a manifest, once: `id`, `slug`, `pem`, `webhook_secret`, `html_url` …"""
    from githubkit import UnauthAuthStrategy

    from prd2pr.forges.github.client import Client, answered

    if not CODE.fullmatch(code):
        raise _used_up("this is no code of GitHub's")
    call = Call("POST", path("app-manifests", code, "conversions"))
    client = Client(UnauthAuthStrategy(), api_url, transport=transport)
    try:
        outcome = client.send(call)  # once: a code whose answer was lost is used up all the same
    finally:
        client.close()
    if isinstance(outcome, Answer) and outcome.status in (404, 422):
        raise _used_up("GitHub does not know this code")
    return answered(call, outcome)


def _used_up(what: str) -> HubProblem:
    return HubProblem(
        what,
        where="POST /app-manifests/…/conversions",
        remedy="A code counts once, and for an hour. Begin again; delete the App on GitHub if it was created already.",
    )
