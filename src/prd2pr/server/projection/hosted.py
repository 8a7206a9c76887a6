"""Which repositories the App is installed in, and how they may be read: with tokens that can do nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
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

LISTED_SECONDS = 60.0  # each event makes somebody ask, and GitHub counts


class HostedRepositories:
    """Asked by one thread. What GitHub does not answer is raised: an empty list would say that all are gone."""

    def __init__(self, settings: ServerSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._now = now
        self._installations: Installations | None = None
        self._listed: tuple[Hosted, ...] = ()
        self._until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._installations is not None:
            self._installations.close()

    def __call__(self) -> tuple[Hosted, ...]:
        """Without an App there are none."""
        if self._settings.app_id and self._now() >= self._until:
            self._listed = self._ask()
            self._until = self._now() + LISTED_SECONDS
        return self._listed

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
