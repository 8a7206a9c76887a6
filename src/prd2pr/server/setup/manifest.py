"""The manifest from which GitHub creates the App, and the addresses used in it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from prd2pr.build_info import PROJECT_URL
from prd2pr.errors import UsageProblem
from prd2pr.github.setup.app_permissions import get_requested_events, get_requested_permissions
from prd2pr.server.settings import ServerSettings

DEFAULT_API, DEFAULT_WEB = "https://api.github.com", "https://github.com"
WEBHOOK_PATH, CALLBACK_PATH = "/webhook", "/setup/callback"
NAME_LIMIT = 34  # GitHub's limit for the name of an App
ORGANIZATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "0.0.0.0", "::"})  # noqa: S104 - only compared, not bound


def build_app_manifest(settings: ServerSettings, base: str) -> dict[str, Any]:
    """Build the manifest. `base` is the address to which GitHub redirects the browser."""
    public = settings.public_url.rstrip("/")
    return {
        "name": make_app_name(settings),
        "url": PROJECT_URL,
        "description": "Push a PRD, get a pull request in which every commit proves itself.",
        "public": False,
        "hook_attributes": {"url": f"{public}{WEBHOOK_PATH}", "active": True},
        "redirect_url": f"{base}{CALLBACK_PATH}",
        "default_permissions": get_requested_permissions(),
        "default_events": get_requested_events(),
    }


def make_app_name(settings: ServerSettings) -> str:
    """Return an App name that includes the server's host, because App names are unique on GitHub.

    People can change it on GitHub's page.
    """
    host = urlsplit(settings.public_url).hostname or ""
    return f"prd2pr {host}"[:NAME_LIMIT].strip()


def make_github_web_url(settings: ServerSettings) -> str:
    """Return the address of GitHub's web pages.

    For GitHub Enterprise, it is derived from the API's address unless set.
    """
    api, pages = settings.github_api_url.rstrip("/"), settings.github_url.rstrip("/")
    if pages != DEFAULT_WEB or api == DEFAULT_API:
        return pages
    if api.endswith("/api/v3"):
        return api.removesuffix("/api/v3")
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


def make_creation_url(settings: ServerSettings, organization: str, state: str) -> str:
    """Return the URL to which the form is posted, in the settings of the account or organization."""
    if organization and not ORGANIZATION.fullmatch(organization):
        raise UsageProblem(
            f"{organization!r} is not a valid organization", where="--organization", remedy="Write its login."
        )
    below = f"/organizations/{quote(organization)}" if organization else ""
    return f"{make_github_web_url(settings)}{below}/settings/apps/new?{urlencode({'state': state})}"


def make_installation_url(settings: ServerSettings, slug: str) -> str:
    return (
        f"{make_github_web_url(settings)}/apps/{slug}/installations/new"
        if SLUG.fullmatch(slug)
        else make_github_web_url(settings)
    )


def find_return_address(settings: ServerSettings, asked_host: str, port: int) -> str:
    """Return the known address of this server that matches the request's `Host`, or "" if none does.

    The address must be the one that the browser used, because the state is stored in a cookie of that host.
    """
    public = settings.public_url.rstrip("/")
    own = {f"{name}:{port}": f"http://{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    return {**own, urlsplit(public).netloc.lower(): public}.get(asked_host.lower(), "")


def check_public_url(settings: ServerSettings) -> str:
    """Return a warning if GitHub cannot deliver to the public address. GitHub would then refuse to create the App."""
    parts = urlsplit(settings.public_url)
    if (parts.hostname or "") in LOOPBACK:
        return (
            f"GitHub cannot deliver to {settings.public_url}. Set PRD2PR_PUBLIC_URL, or --public-url, to the address "
            "under which GitHub reaches this server."
        )
    if parts.scheme != "https":
        return f"{settings.public_url} is not https: deliveries and their signatures would be sent unencrypted."
    return ""
