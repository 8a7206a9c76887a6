"""Which repositories the App is installed in, and how they may be read. Nothing but reading is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prd2pr.forges.github.app_log import open_app_log
from prd2pr.forges.github.exchange import path
from prd2pr.forges.github.open import open_hub
from prd2pr.forges.github.tokens import GivenToken
from prd2pr.server.installations import app_key
from prd2pr.server.projection.mirrors import Hosted
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.hubs import PATIENCE


def hosted_repositories(settings: ServerSettings) -> Iterator[Hosted]:
    """With a token each that was minted just now, and lasts an hour. Without an App there are none."""
    if not settings.app_id:
        return
    with open_app_log(app_key(settings), settings.github_api_url, PATIENCE) as app:
        for installation in app.installations():
            token = GivenToken(app.token(installation))
            for row in rows_of(settings, token):
                if not row.get("archived"):
                    name = str(row["full_name"])
                    url = f"{settings.github_url.rstrip('/')}/{name}.git"
                    yield Hosted(name, url, str(row["default_branch"]), token.token)


def rows_of(settings: ServerSettings, token: GivenToken) -> list[dict[str, Any]]:
    hub = open_hub("app/app", token=token, api_url=settings.github_api_url, patience=PATIENCE)
    try:
        return list(hub.wire.pages(path("installation", "repositories"), "repositories"))
    finally:
        hub.close()
