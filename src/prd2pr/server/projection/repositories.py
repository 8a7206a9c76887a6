"""List the repositories in which the App is installed, each with a read-only token."""

from __future__ import annotations

from functools import partial
from typing import Self

from prd2pr.github.client.app_deliveries import open_delivery_log
from prd2pr.github.client.exchange import join_path
from prd2pr.github.client.factory import open_hub
from prd2pr.github.client.tokens import StaticToken
from prd2pr.github.setup.app_permissions import READ_ACCESS
from prd2pr.server.installations import Installations, open_installations, read_app_key
from prd2pr.server.projection.mirrors import HostedRepository
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.manifest import make_github_web_url
from prd2pr.server.work.hubs import RETRY_POLICY


class HostedRepositories:
    """Lists repositories and caches the result to save API calls. Use it from one thread only.

    Errors are raised, because an empty list would mean that all repositories are gone.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._installations: Installations | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._installations is not None:
            self._installations.close()

    def __call__(self) -> tuple[HostedRepository, ...]:
        """Return all repositories, or none if no App is configured."""
        return self._list_all() if self._settings.app_id else ()

    def _list_all(self) -> tuple[HostedRepository, ...]:
        if self._installations is None:  # imported lazily because githubkit is slow to load
            self._installations = open_installations(self._settings)
        found: list[HostedRepository] = []
        with open_delivery_log(read_app_key(self._settings), self._settings.github_api_url, RETRY_POLICY) as app:
            for installation in app.installations():
                found += self._list_installation(installation, app.token(installation), self._installations)
        return tuple(found)

    def _list_installation(self, installation: int, token: str, installations: Installations) -> list[HostedRepository]:
        api_url = self._settings.github_api_url
        with open_hub("app/app", token=StaticToken(token), api_url=api_url, policy=RETRY_POLICY) as hub:
            rows = list(hub.api.pages(join_path("installation", "repositories"), "repositories"))
        pages = make_github_web_url(self._settings)
        return [
            HostedRepository(
                name,
                f"{pages}/{name}.git",
                str(row["default_branch"]),
                partial(installations.token, installation, [name], READ_ACCESS),
            )
            for row in rows
            if not row.get("archived")
            for name in [str(row["full_name"])]
        ]
