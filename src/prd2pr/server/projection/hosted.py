"""Which repositories the App is installed in, and how they may be read: with tokens that can do nothing else."""

from __future__ import annotations

from functools import partial
from typing import Self

from prd2pr.core.app_needs import READING
from prd2pr.forges.github.app_log import open_app_log
from prd2pr.forges.github.exchange import path
from prd2pr.forges.github.open import open_hub
from prd2pr.forges.github.tokens import GivenToken
from prd2pr.server.installations import Installations, app_key, open_installations
from prd2pr.server.projection.mirrors import Hosted
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.manifest import github_pages
from prd2pr.server.work.hubs import PATIENCE


class HostedRepositories:
    """Asked by one thread, which keeps the answer: GitHub counts. What it does not answer is raised: an empty list
    would say that all are gone."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._installations: Installations | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._installations is not None:
            self._installations.close()

    def __call__(self) -> tuple[Hosted, ...]:
        """Without an App there are none."""
        return self._ask() if self._settings.app_id else ()

    def _ask(self) -> tuple[Hosted, ...]:
        if self._installations is None:  # not at the start: githubkit takes a while to load
            self._installations = open_installations(self._settings)
        found: list[Hosted] = []
        with open_app_log(app_key(self._settings), self._settings.github_api_url, PATIENCE) as app:
            for installation in app.installations():
                found += self._of(installation, app.token(installation), self._installations)
        return tuple(found)

    def _of(self, installation: int, token: str, installations: Installations) -> list[Hosted]:
        api_url = self._settings.github_api_url
        with open_hub("app/app", token=GivenToken(token), api_url=api_url, patience=PATIENCE) as hub:
            rows = list(hub.wire.pages(path("installation", "repositories"), "repositories"))
        pages = github_pages(self._settings)
        return [
            Hosted(
                name,
                f"{pages}/{name}.git",
                str(row["default_branch"]),
                partial(installations.token, installation, [name], READING),
            )
            for row in rows
            if not row.get("archived")
            for name in [str(row["full_name"])]
        ]
