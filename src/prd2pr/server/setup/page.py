"""`prd2pr serve --setup`: a page that creates the App, and the callback to which GitHub redirects.

Creating the App yields the server's key, so the page opens only with the code word shown in the terminal. The callback
is accepted once, with the state that this page gave to the same browser.
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

from prd2pr.errors import Prd2prError
from prd2pr.github.client.app import convert_manifest
from prd2pr.github.setup.app_permissions import EVENTS, PERMISSIONS, list_missing_permissions
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.app_credentials import NewApp, parse_new_app, save_credentials
from prd2pr.server.setup.manifest import (
    CALLBACK_PATH,
    build_app_manifest,
    check_public_url,
    find_return_address,
    make_creation_url,
    make_github_web_url,
    make_installation_url,
)
from prd2pr.templating import render_template, template_root

COOKIE = "prd2pr_setup"
STATE_SECONDS = 3600.0
# Shown before GitHub creates the App, because its key would be lost.
NO_RETURN_ADDRESS = (
    "GitHub cannot redirect back to this address. Open the page as http://127.0.0.1:{port}, from another machine "
    "through ssh -L {port}:127.0.0.1:{port}, or at the address of --public-url. Keep `?word=` and its value."
)
MAX_PENDING_STATES = 16  # opened pages whose callback has not arrived


@dataclass
class PendingStates:
    """The states of opened pages, by which the callback is verified. Each is valid once, for an hour."""

    now: Callable[[], float] = time.time
    pending: dict[str, float] = field(default_factory=dict)

    def create(self) -> str:
        while len(self.pending) >= MAX_PENDING_STATES:
            del self.pending[next(iter(self.pending))]
        state = secrets.token_urlsafe(32)
        self.pending[state] = self.now() + STATE_SECONDS
        return state

    def consume(self, state: str, cookie: str) -> bool:
        """Return whether the state is valid and belongs to this browser. The state cannot be used again."""
        ends = self.pending.pop(state, 0.0)
        return ends > self.now() and compare_digest(state.encode(), cookie.encode())


@dataclass(frozen=True)
class SetupFlow:
    """The set-up in progress. `on_created` is called with the App once its key is on disk."""

    settings: ServerSettings
    directory: Path
    word: str
    port: int
    on_created: Callable[[NewApp, Path], None]
    organization: str = ""
    convert: Callable[[str, str], Mapping[str, Any]] = convert_manifest
    states: PendingStates = field(default_factory=PendingStates)


def create_setup_app(setup: SetupFlow) -> FastAPI:
    app = FastAPI(title="prd2pr setup", docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/setup")
    def begin(request: Request, word: str = "") -> Response:
        if not compare_digest(word.encode(), setup.word.encode()):
            return render_setup_page(
                setup, "refused", 403, what="The address is incomplete. Open the one that the terminal shows."
            )
        base = find_return_address(setup.settings, request.headers.get("host", ""), setup.port)
        if not base:
            return render_setup_page(setup, "refused", 403, what=NO_RETURN_ADDRESS.format(port=setup.port))
        return render_create_page(setup, base)

    @app.get(CALLBACK_PATH)
    async def back(request: Request, code: str = "", state: str = "") -> Response:
        if not setup.states.consume(state, request.cookies.get(COOKIE, "")):
            what = "This setup was not started in this browser, or the link was already used. Open the page again."
            return render_setup_page(setup, "refused", 403, what=what)
        try:
            made, file = await run_in_threadpool(exchange_code, setup, code)
        except Prd2prError as problem:
            return render_setup_page(setup, "refused", 502, what=f"{problem.what}. {problem.remedy}")
        return render_done_page(setup, made, file)

    @app.get("/setup/style.css")
    def style() -> Response:
        return Response((template_root() / "setup" / "style.css").read_bytes(), media_type="text/css")

    return app


def render_create_page(setup: SetupFlow, base: str) -> Response:
    """Return the page that posts to GitHub.

    A cookie identifies the browser when GitHub redirects it to `base`.
    """
    state = setup.states.create()
    page = render_setup_page(
        setup,
        "create",
        target=make_creation_url(setup.settings, setup.organization, state),
        manifest=json.dumps(build_app_manifest(setup.settings, base)),
        warning=check_public_url(setup.settings),
        permissions=PERMISSIONS,
        events=EVENTS,
        owner=setup.organization or "your own account",
    )
    secure = base.startswith("https:")
    page.set_cookie(
        COOKIE, state, max_age=int(STATE_SECONDS), path="/setup", httponly=True, samesite="lax", secure=secure
    )
    return page


def render_done_page(setup: SetupFlow, made: NewApp, file: Path) -> Response:
    lacking = [f"{each.title} ({each.access})" for each in list_missing_permissions(made.permissions)]
    install = make_installation_url(setup.settings, made.slug)
    page = render_setup_page(setup, "done", app=made.slug, file=str(file), install=install, lacking=lacking)
    page.delete_cookie(COOKIE, path="/setup")
    setup.on_created(made, file)
    return page


def exchange_code(setup: SetupFlow, code: str) -> tuple[NewApp, Path]:
    settings = setup.settings
    made = parse_new_app(setup.convert(code, settings.github_api_url))
    file = save_credentials(
        setup.directory,
        made,
        api_url=settings.github_api_url,
        github_url=make_github_web_url(settings),
        public_url=settings.public_url,
    )
    return made, file


def render_setup_page(setup: SetupFlow, name: str, status: int = 200, **values: object) -> HTMLResponse:
    """Render a page whose security policy allows only our style sheet and a form that posts to GitHub."""
    github = urlsplit(make_github_web_url(setup.settings))
    headers = {
        "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action {github.scheme}://{github.netloc}",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return HTMLResponse(render_template(f"setup/{name}.html.j2", values), status, headers)
