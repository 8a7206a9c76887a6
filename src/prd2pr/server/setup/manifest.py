"""The manifest from which GitHub makes the App, and the addresses that it names. Pure."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from prd2pr.core.app_needs import asked_events, asked_permissions
from prd2pr.errors import UsageProblem
from prd2pr.server.settings import ServerSettings

PROJECT = "https://github.com/prd2pr/prd2pr"
DEFAULT_API, DEFAULT_PAGES = "https://api.github.com", "https://github.com"
WEBHOOK, CALLBACK = "/webhook", "/setup/callback"
NAME_LIMIT = 34  # GitHub's, for the name of an App
ORGANIZATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "0.0.0.0", "::"})  # noqa: S104 - recognised, not listened on


def manifest(settings: ServerSettings, base: str) -> dict[str, Any]:
    """`base`: where the person's browser comes back to."""
    public = settings.public_url.rstrip("/")
    return {
        "name": app_name(settings),
        "url": PROJECT,
        "description": "Push a PRD, get a pull request in which every commit proves itself.",
        "public": False,
        "hook_attributes": {"url": f"{public}{WEBHOOK}", "active": True},
        "redirect_url": f"{base}{CALLBACK}",
        "default_permissions": asked_permissions(),
        "default_events": asked_events(),
    }


def app_name(settings: ServerSettings) -> str:
    """Names are unique on all of GitHub, so it says whose server it is; the page lets a person change it."""
    host = urlsplit(settings.public_url).hostname or ""
    return f"prd2pr {host}"[:NAME_LIMIT].strip()


def github_pages(settings: ServerSettings) -> str:
    """Where people see GitHub. Of GitHub Enterprise it follows from the API's address, unless it is set."""
    api, pages = settings.github_api_url.rstrip("/"), settings.github_url.rstrip("/")
    if pages != DEFAULT_PAGES or api == DEFAULT_API:
        return pages
    if api.endswith("/api/v3"):
        return api.removesuffix("/api/v3")
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


def creation_url(settings: ServerSettings, organization: str, state: str) -> str:
    """Where the form is posted to: for an organisation's App its own settings."""
    if organization and not ORGANIZATION.fullmatch(organization):
        raise UsageProblem(
            f"{organization!r} is not the name of an organisation", where="--organization", remedy="Write its login."
        )
    below = f"/organizations/{quote(organization)}" if organization else ""
    return f"{github_pages(settings)}{below}/settings/apps/new?{urlencode({'state': state})}"


def installation_url(settings: ServerSettings, slug: str) -> str:
    return f"{github_pages(settings)}/apps/{slug}/installations/new" if SLUG.fullmatch(slug) else github_pages(settings)


def return_base(settings: ServerSettings, asked_host: str, port: int) -> str:
    """Known addresses lead here, the public one and this machine's own; the request's `Host` chooses among them.

    It has to be the one that the browser is on: the state is in a cookie of that host. Empty: none of them is.
    """
    public = settings.public_url.rstrip("/")
    own = {f"{name}:{port}": f"http://{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    return {**own, urlsplit(public).netloc.lower(): public}.get(asked_host.lower(), "")


def hook_warning(settings: ServerSettings) -> str:
    """GitHub refuses an App whose deliveries could not reach it; better to hear it here."""
    parts = urlsplit(settings.public_url)
    if (parts.hostname or "") in LOOPBACK:
        return (
            f"GitHub cannot deliver to {settings.public_url}: set PRD2PR_PUBLIC_URL, or --public-url, to the address "
            "under which GitHub reaches this server."
        )
    if parts.scheme != "https":
        return f"{settings.public_url} is not https: deliveries and their signatures would travel in the open."
    return ""
