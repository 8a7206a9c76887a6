"""How the dashboard is put into the server: tokens and orders are the API's, what is shown is the reading's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse

from prd2pr.server.app import Parts
from prd2pr.server.pages.access import COOKIE, LONGEST_TOKEN, Access, Visitor
from prd2pr.server.pages.links import ROOT
from prd2pr.server.pages.router import Desk, OrderDesk, dashboard
from prd2pr.server.reading import Reading


@dataclass(frozen=True)
class Tokens:
    """Whoever `app.state.door` knows. `app.state.guest`, if somebody sets it, looks without a token."""

    app: FastAPI

    @property
    def guest(self) -> Visitor | None:
        return cast("Visitor | None", getattr(self.app.state, "guest", None))

    def visitor(self, token: str) -> Visitor | None:
        door = getattr(self.app.state, "door", None)
        bearer = door.bearer(token) if door is not None else None
        if bearer is None:
            return None
        return Visitor(bearer.name, bearer.sees, lambda repo: bearer.may("operate", repo), sees_all=bearer.sees_all)


def add_to(app: FastAPI, parts: Parts) -> None:
    """`app.state.reading` is read, `app.state.order_desk` takes orders where `app.state.orders` hands them on."""
    public = urlsplit(parts.settings.public_url)
    access: Access = Tokens(app)
    desk = Desk(
        reading=lambda: cast(Reading, app.state.reading),
        access=access,
        orders=lambda: order_desk(app),
        public_host=public.netloc,
        secure=public.scheme == "https",
    )
    app.include_router(dashboard(desk))
    app.state.session_bearer = lambda request: session_bearer(app, request)
    app.add_api_route("/", to_dashboard, include_in_schema=False, response_model=None)


def order_desk(app: FastAPI) -> OrderDesk | None:
    if getattr(app.state, "orders", None) is None:
        return None
    return cast("OrderDesk | None", getattr(app.state, "order_desk", None))


def session_bearer(app: FastAPI, request: Request) -> Any:
    """For the API: whose cookie it is. Events are listened to by pages, and pages have nothing else."""
    token = request.cookies.get(COOKIE, "")
    door = getattr(app.state, "door", None)
    return door.bearer(token) if door is not None and 0 < len(token) <= LONGEST_TOKEN else None


def to_dashboard(request: Request) -> RedirectResponse:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return RedirectResponse(f"{root}{ROOT}", 307)
