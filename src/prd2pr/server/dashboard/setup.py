"""Add the dashboard to the server, using the API's tokens and orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse

from prd2pr.server.api.reads import list_servers
from prd2pr.server.app import ServerContext
from prd2pr.server.dashboard.access import COOKIE, MAX_TOKEN_LENGTH, Access, Visitor
from prd2pr.server.dashboard.links import ROOT
from prd2pr.server.dashboard.router import DashboardContext, OrderService, make_dashboard_router
from prd2pr.server.reader import ViewReader


@dataclass(frozen=True)
class TokenAccess:
    """Access with API tokens. Visitors without a token become `app.state.guest` if that is set."""

    app: FastAPI

    @property
    def guest(self) -> Visitor | None:
        return cast("Visitor | None", getattr(self.app.state, "guest", None))

    def visitor(self, token: str) -> Visitor | None:
        authenticator = getattr(self.app.state, "authenticator", None)
        bearer = authenticator.bearer(token) if authenticator is not None else None
        if bearer is None:
            return None
        return Visitor(bearer.name, bearer.sees, lambda repo: bearer.may("operate", repo), sees_all=bearer.sees_all)


def add_dashboard(app: FastAPI, context: ServerContext) -> None:
    """Add the pages.

    They read from `app.state.reader` and, if there is a worker, submit orders to `app.state.order_service`.
    """
    public = urlsplit(context.settings.public_url)
    access: Access = TokenAccess(app)
    dashboard_context = DashboardContext(
        get_reader=lambda: cast(ViewReader, app.state.reader),
        access=access,
        get_orders=lambda: get_order_service(app),
        list_servers=lambda: list_servers(app),
        public_host=public.netloc,
        is_secure=public.scheme == "https",
    )
    app.include_router(make_dashboard_router(dashboard_context))
    app.state.session_bearer = lambda request: find_cookie_bearer(app, request)
    app.add_api_route("/", redirect_to_dashboard, include_in_schema=False, response_model=None)


def get_order_service(app: FastAPI) -> OrderService | None:
    if getattr(app.state, "orders", None) is None:
        return None
    return cast("OrderService | None", getattr(app.state, "order_service", None))


def find_cookie_bearer(app: FastAPI, request: Request) -> Any:
    """Return the bearer that the session cookie identifies. Pages use this cookie to listen to the API's events."""
    token = request.cookies.get(COOKIE, "")
    authenticator = getattr(app.state, "authenticator", None)
    return authenticator.bearer(token) if authenticator is not None and 0 < len(token) <= MAX_TOKEN_LENGTH else None


def redirect_to_dashboard(request: Request) -> RedirectResponse:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return RedirectResponse(f"{root}{ROOT}", 307)
