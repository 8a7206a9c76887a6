"""The dashboard's routes. Each page shows only what its visitor may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from prd2pr.client.models import MAX_WHY_LENGTH, Asked, Source
from prd2pr.server.dashboard import rendering, static_files
from prd2pr.server.dashboard.access import (
    COOKIE,
    MAX_TOKEN_LENGTH,
    Access,
    Visitor,
    is_csrf_token,
    is_dashboard_path,
    is_same_origin,
    make_csrf_token,
)
from prd2pr.server.dashboard.links import ROOT, ServerLinks
from prd2pr.server.dashboard.rendering import PageContext
from prd2pr.server.disk_reader import format_utc_now
from prd2pr.server.reader import RepoFilter, ViewReader
from prd2pr.views.models import CircuitView, Column, StoryCard, StoryView

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers would not send the Origin header with a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
IMMUTABLE_CACHE = "public, max-age=31536000, immutable"
MAX_FORM_BYTES = 16 * 1024
NOT_FOUND_TEXT = "The page does not exist, or this token has no access to it."


class PageError(Exception):
    """An error that is answered with an HTML page."""

    def __init__(self, status: int, title: str, what: str) -> None:
        super().__init__(what)
        self.status, self.title, self.what = status, title, what


class OrderService(Protocol):
    """Submits orders for a token's holder. Each method returns the reason for a refusal, or an empty string."""

    def reset(self, token: str, circuit: CircuitView) -> str: ...

    def retry(self, token: str, card: StoryCard, why: str) -> str: ...

    def list_orders_about(self, *subjects: str) -> tuple[Asked, ...]:
        """Return the orders about these subjects, newest first."""
        ...


@dataclass(frozen=True)
class DashboardContext:
    """Dependencies of the pages. `get_reader` and `get_orders` are called per request, since they may be set later."""

    get_reader: Callable[[], ViewReader]
    access: Access
    get_orders: Callable[[], OrderService | None] = lambda: None  # returns None if no worker is configured
    list_servers: Callable[[], tuple[Source, ...]] = tuple  # servers whose projects are also shown
    events: bool = True  # whether `/events` is served
    public_host: str = ""
    is_secure: bool = False  # whether the public address uses HTTPS, possibly through a proxy
    clock: Callable[[], str] = format_utc_now


@dataclass(frozen=True)
class Visit:
    """One request: its visitor, the repositories the visitor may see, and the links."""

    context: DashboardContext
    links: ServerLinks
    visitor: Visitor
    token: str
    notice: str = ""

    @property
    def reader(self) -> ViewReader:
        return self.context.get_reader()

    @property
    def page(self) -> PageContext:
        mark = make_csrf_token(self.token) if self.token else ""
        name, at = self.visitor.name or "?", self.context.clock()
        return PageContext(
            visitor=name, csrf=mark, notice=self.notice, now=at, log_in="" if mark else self.links.log_in
        )

    @property
    def repos(self) -> RepoFilter:
        if self.visitor.sees_all:
            return None
        return frozenset(each.repo for each in self.reader.projects() if self.visitor.sees(each.repo))

    def list_resettable(self, circuits: tuple[CircuitView, ...]) -> frozenset[str]:
        if self.context.get_orders() is None or not self.token:
            return frozenset()
        return frozenset(each.id for each in circuits if each.state != "closed" and self.visitor.operates(each.repo))

    def can_retry(self, card: StoryCard) -> bool:
        takes = self.context.get_orders() is not None and bool(self.token) and self.visitor.operates(card.repo)
        return takes and bool(card.phase) and card.column is not Column.COMPLETE

    def list_orders(self, *subjects: str) -> tuple[Asked, ...]:
        context = self.context.get_orders()
        return context.list_orders_about(*subjects) if context is not None else ()


PageRenderer = Callable[[Visit, Request], str]


def make_dashboard_router(context: DashboardContext) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    for path, view in VIEWS:
        router.add_api_route(
            f"{ROOT}{path}", make_page_handler(context, view), methods=["GET", "HEAD"], response_model=None
        )
    for path, handler in FORMS:
        router.add_api_route(
            f"{ROOT}{path}", make_form_handler(context, handler), methods=["POST"], response_model=None
        )
    router.add_api_route(f"{ROOT}/log-in", make_log_in_handler(context), methods=["GET", "HEAD"], response_model=None)
    router.add_api_route(f"{ROOT}/static/{{name}}", serve_static_file, methods=["GET", "HEAD"], response_model=None)
    return router


# --- pages ------------------------------------------------------------------------------------------------------------


def view_projects(visit: Visit, _: Request) -> str:
    projects, servers = visit.reader.projects(visit.repos), visit.context.list_servers()
    return rendering.render_projects_page(visit.links, visit.page, projects, servers)


def view_board(visit: Visit, request: Request) -> str:
    repo = request.path_params["repo"]
    found = visit.reader.project(repo) if visit.visitor.sees(repo) else None
    if found is None:
        raise PageError(404, "Not found", NOT_FOUND_TEXT)
    return rendering.render_board_page(visit.links, visit.page, found)


def view_story(visit: Visit, request: Request) -> str:
    repo, key = request.path_params["repo"], request.path_params["story"]
    found = visit.reader.story(repo, key) if visit.visitor.sees(repo) else None
    if found is None:
        raise PageError(404, "Not found", NOT_FOUND_TEXT)
    return render_visited_story(visit, found)


def render_visited_story(visit: Visit, found: StoryView) -> str:
    orders = rendering.OrderPanel(visit.list_orders(found.key), can_order=visit.can_retry(found))
    return rendering.render_story_page(visit.links, visit.page, found, orders)


def view_runs(visit: Visit, _: Request) -> str:
    return rendering.render_runs_page(visit.links, visit.page, visit.reader.runs(visit.repos))


def view_workers(visit: Visit, _: Request) -> str:
    return rendering.render_workers_page(visit.links, visit.page, visit.reader.workers(visit.repos))


def view_circuits(visit: Visit, _: Request) -> str:
    found = visit.reader.circuits(visit.repos)
    orders = visit.list_orders(*(each.id for each in found))
    return rendering.render_circuits_page(visit.links, visit.page, found, visit.list_resettable(found), orders)


def view_metrics(visit: Visit, _: Request) -> str:
    repos = visit.repos
    return rendering.render_metrics_page(
        visit.links, visit.page, visit.reader.metrics(repos), visit.reader.projects(repos)
    )


def view_costs(visit: Visit, _: Request) -> str:
    repos = visit.repos
    replays = any(run.replayed for run in visit.reader.runs(repos))
    return rendering.render_costs_page(visit.links, visit.page, visit.reader.costs(repos), replays=replays)


# The story's route comes before the board's, because the board's path also matches it.
VIEWS: tuple[tuple[str, PageRenderer], ...] = (
    ("", view_projects),
    ("/projects/{repo:path}/stories/{story}", view_story),
    ("/projects/{repo:path}", view_board),
    ("/runs", view_runs),
    ("/workers", view_workers),
    ("/circuits", view_circuits),
    ("/metrics", view_metrics),
    ("/costs", view_costs),
)


def make_page_handler(context: DashboardContext, view: PageRenderer) -> Callable[[Request], Response]:
    """Return a synchronous handler, which FastAPI runs in a thread, because readers block."""

    def answer(request: Request) -> Response:
        visit = find_visit(context, request)
        if visit is None:
            return redirect_to_log_in(context, request)
        try:
            return make_html_response(view(visit, request))
        except PageError as refused:
            return make_page_error_response(visit.links, visit.page, refused)

    return answer


# --- forms ------------------------------------------------------------------------------------------------------------

Form = dict[str, str]
FormHandler = Callable[[DashboardContext, Request, Form], Response]


def make_form_handler(context: DashboardContext, handler: FormHandler) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            form = await read_posted_form(context, request)
            return await run_in_threadpool(handler, context, request, form)
        except PageError as refused:
            return make_page_error_response(
                make_server_links(context, request), PageContext(visitor="", now=context.clock()), refused
            )

    return answer


async def read_posted_form(context: DashboardContext, request: Request) -> Form:
    if not is_same_origin(request.headers, context.public_host):
        raise PageError(403, "Refused", "The form was not sent from a page of this server.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_FORM_BYTES:
            raise PageError(413, "Refused", f"The form exceeds {MAX_FORM_BYTES} bytes.")
    return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=20))


def handle_log_in(context: DashboardContext, request: Request, form: Form) -> Response:
    token, next_path = form.get("token", "").strip(), form.get("next", "")
    links = make_server_links(context, request)
    visitor = context.access.visitor(token) if 0 < len(token) <= MAX_TOKEN_LENGTH else None
    if visitor is None:
        problem = "The token is invalid, expired or revoked."
        text = rendering.render_log_in_page(links, PageContext(now=context.clock()), problem=problem, wanted=next_path)
        return make_html_response(text, 401)
    start = links.section("projects")
    answer = redirect_response(next_path if is_dashboard_path(next_path, start) else start)
    answer.set_cookie(
        COOKIE, token, httponly=True, samesite="strict", secure=is_secure_request(context, request), path="/"
    )
    return answer


def handle_log_out(context: DashboardContext, request: Request, form: Form) -> Response:
    require_verified_visit(context, request, form)
    answer = redirect_response(make_server_links(context, request).log_in)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=is_secure_request(context, request), path="/")
    return answer


def handle_circuit_reset(context: DashboardContext, request: Request, form: Form) -> Response:
    """Submit the order to reset a circuit breaker. A run on the branch executes it."""
    visit = require_verified_visit(context, request, form)
    found = {each.id: each for each in visit.reader.circuits(visit.repos)}.get(form.get("circuit", ""))
    if found is None or not visit.visitor.sees(found.repo):
        raise PageError(404, "Not found", NOT_FOUND_TEXT)
    if not visit.visitor.operates(found.repo):
        raise PageError(403, "Refused", "This token may read, but not reset circuits.")
    refused = require_order_service(context).reset(visit.token, found)
    if refused:
        return make_html_response(view_circuits(replace(visit, notice=refused), request))
    return redirect_response(f"{visit.links.section('circuits')}#orders")


def handle_story_retry(context: DashboardContext, request: Request, form: Form) -> Response:
    """Submit the order, then redirect to the story's page, so that a reload does not submit it again."""
    visit = require_verified_visit(context, request, form)
    repo, name = form.get("repo", ""), form.get("story", "")
    found = visit.reader.story(repo, name) if visit.visitor.sees(repo) else None
    if found is None:
        raise PageError(404, "Not found", NOT_FOUND_TEXT)
    if not visit.visitor.operates(repo):
        raise PageError(403, "Refused", "This token may read, but not retry stories.")
    why = form.get("why", "")[:MAX_WHY_LENGTH]
    refused = require_order_service(context).retry(visit.token, found, why)
    if refused:
        return make_html_response(render_visited_story(replace(visit, notice=refused), found))
    return redirect_response(f"{visit.links.story(found.repo, found.id)}#orders")


def require_order_service(context: DashboardContext) -> OrderService:
    orders = context.get_orders()
    if orders is None:
        raise PageError(
            503,
            "Refused",
            "This server is read-only: no worker is configured. Post the command as a comment on the pull request.",
        )
    return orders


def require_verified_visit(context: DashboardContext, request: Request, form: Form) -> Visit:
    visit = find_visit(context, request)
    if visit is None or not is_csrf_token(form.get("csrf", ""), visit.token):
        raise PageError(403, "Refused", "The form has expired. Reload the page, then send it again.")
    return visit


FORMS: tuple[tuple[str, FormHandler], ...] = (
    ("/log-in", handle_log_in),
    ("/log-out", handle_log_out),
    ("/circuits/reset", handle_circuit_reset),
    ("/stories/retry", handle_story_retry),
)


# --- visits and answers -----------------------------------------------------------------------------------


def find_visit(context: DashboardContext, request: Request) -> Visit | None:
    token = request.cookies.get(COOKIE, "")
    visitor = context.access.visitor(token) if 0 < len(token) <= MAX_TOKEN_LENGTH else None
    if visitor is not None:
        return Visit(context, make_server_links(context, request), visitor, token)
    guest = context.access.guest
    return Visit(context, make_server_links(context, request), guest, "") if guest else None


def redirect_to_log_in(context: DashboardContext, request: Request) -> Response:
    """Redirect to the login page.

    A request that follows a link from another site has no cookie, so the page first reloads itself.
    """
    if request.headers.get("sec-fetch-site") == "cross-site":
        return make_html_response(rendering.render_reload_page(request.url.path))
    links = make_server_links(context, request)
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return redirect_response(f"{links.log_in}?next={quote(here, safe='/')}")


def make_log_in_handler(context: DashboardContext) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        links = make_server_links(context, request)
        visit = find_visit(context, request)
        if visit is not None and visit.token:
            return redirect_response(links.section("projects"))
        next_path = request.query_params.get("next", "")
        return make_html_response(
            rendering.render_log_in_page(links, PageContext(now=context.clock()), wanted=next_path)
        )

    return answer


def serve_static_file(name: str) -> Response:
    if name not in static_files.MEDIA_TYPES:
        return Response("Not found\n", 404, media_type="text/plain", headers=HEADERS)
    headers = {**HEADERS, "Cache-Control": IMMUTABLE_CACHE}
    return Response(static_files.read_static_file(name), media_type=static_files.MEDIA_TYPES[name], headers=headers)


def make_server_links(context: DashboardContext, request: Request) -> ServerLinks:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return ServerLinks(root, static_files.compute_static_version(), has_events=context.events)


def is_secure_request(context: DashboardContext, request: Request) -> bool:
    return context.is_secure or request.url.scheme == "https"


def make_html_response(text: str, status: int = 200) -> Response:
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers=HEADERS)


def make_page_error_response(links: ServerLinks, common: PageContext, refused: PageError) -> Response:
    return make_html_response(rendering.render_problem_page(links, common, refused.title, refused.what), refused.status)


def redirect_response(to: str) -> Response:
    return RedirectResponse(to, 303, headers=HEADERS)
