"""`prd2pr serve --setup`: a page that creates the App, and the address that GitHub leads back to.

Whoever creates the App holds the server's key afterwards, so the page opens only with the word that the terminal shows.
The way back is accepted once, with the state that this page gave to this very browser.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response

from prd2pr.core.app_needs import EVENTS, PERMISSIONS, lacking_permissions
from prd2pr.errors import Prd2prError
from prd2pr.forges.github.app_api import convert_manifest
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.keeping import NewApp, keep, read_new_app
from prd2pr.server.setup.manifest import (
    CALLBACK,
    creation_url,
    github_pages,
    hook_warning,
    installation_url,
    manifest,
    return_base,
)
from prd2pr.templating import render, template_root

COOKIE = "prd2pr_setup"
HOUR = 3600.0
# Said before GitHub makes the App: its key would be lost on the way back.
NO_WAY_BACK = (
    "GitHub would not find the way back to this address. Open the page as http://127.0.0.1:{port}, from another "
    "machine through ssh -L {port}:127.0.0.1:{port}, or at the address of --public-url, with the same word."
)
MOST_STATES = 16  # pages that were opened and not come back from


@dataclass
class States:
    """One for each opened page; each counts once, for an hour."""

    now: Callable[[], float] = time.time
    given: dict[str, float] = field(default_factory=dict)

    def new(self) -> str:
        while len(self.given) >= MOST_STATES:
            del self.given[next(iter(self.given))]
        state = secrets.token_urlsafe(32)
        self.given[state] = self.now() + HOUR
        return state

    def take(self, state: str, cookie: str) -> bool:
        """Whether the way back is this browser's own; it is used up either way."""
        ends = self.given.pop(state, 0.0)
        return ends > self.now() and compare_digest(state.encode(), cookie.encode())


@dataclass(frozen=True)
class Setup:
    """`kept` hears of the App once its key is on the disk."""

    settings: ServerSettings
    place: Path
    word: str
    port: int
    kept: Callable[[NewApp, Path], None]
    organization: str = ""
    convert: Callable[[str, str], Mapping[str, Any]] = convert_manifest
    states: States = field(default_factory=States)


def setup_app(setup: Setup) -> FastAPI:
    app = FastAPI(title="prd2pr set-up", docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/setup")
    def begin(request: Request, word: str = "") -> Response:
        if not compare_digest(word.encode(), setup.word.encode()):
            return shown(setup, "refused", 403, what="This address is not the whole one: open what the terminal shows.")
        base = return_base(setup.settings, request.headers.get("host", ""), setup.port)
        if not base:
            return shown(setup, "refused", 403, what=NO_WAY_BACK.format(port=setup.port))
        return creating(setup, base)

    @app.get(CALLBACK)
    async def back(request: Request, code: str = "", state: str = "") -> Response:
        if not setup.states.take(state, request.cookies.get(COOKIE, "")):
            what = "This was not begun on the page of this set-up, or it was used already. Open the page again."
            return shown(setup, "refused", 403, what=what)
        try:
            made, file = await run_in_threadpool(exchanged, setup, code)
        except Prd2prError as problem:
            return shown(setup, "refused", 502, what=f"{problem.what}. {problem.remedy}")
        return created(setup, made, file)

    @app.get("/setup/style.css")
    def style() -> Response:
        return Response((template_root() / "setup" / "style.css").read_bytes(), media_type="text/css")

    return app


def creating(setup: Setup, base: str) -> Response:
    """The page that leads to GitHub; its browser is known again by a cookie when it comes back to `base`."""
    state = setup.states.new()
    page = shown(
        setup,
        "create",
        target=creation_url(setup.settings, setup.organization, state),
        manifest=json.dumps(manifest(setup.settings, base)),
        warning=hook_warning(setup.settings),
        permissions=PERMISSIONS,
        events=EVENTS,
        owner=setup.organization or "your own account",
    )
    secure = base.startswith("https:")
    page.set_cookie(COOKIE, state, max_age=int(HOUR), path="/setup", httponly=True, samesite="lax", secure=secure)
    return page


def created(setup: Setup, made: NewApp, file: Path) -> Response:
    lacking = [f"{each.title} ({each.access})" for each in lacking_permissions(made.permissions)]
    install = installation_url(setup.settings, made.slug)
    page = shown(setup, "done", app=made.slug, file=str(file), install=install, lacking=lacking)
    page.delete_cookie(COOKIE, path="/setup")
    setup.kept(made, file)
    return page


def exchanged(setup: Setup, code: str) -> tuple[NewApp, Path]:
    settings = setup.settings
    made = read_new_app(setup.convert(code, settings.github_api_url))
    file = keep(
        setup.place,
        made,
        api_url=settings.github_api_url,
        github_url=github_pages(settings),
        public_url=settings.public_url,
    )
    return made, file


def shown(setup: Setup, name: str, status: int = 200, **values: object) -> HTMLResponse:
    """Nothing but our own style, and a form that leads to GitHub."""
    github = urlsplit(github_pages(setup.settings))
    headers = {
        "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action {github.scheme}://{github.netloc}",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return HTMLResponse(render(f"setup/{name}.html.j2", values), status, headers)
