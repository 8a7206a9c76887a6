"""The dashboard's routes. Each page is what `Reading` answers, cut down to what its visitor may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from prd2pr.client.models import LONGEST_WHY, Asked
from prd2pr.core.board.view import CircuitView, Column, StoryCard, StoryView
from prd2pr.server.disk import now
from prd2pr.server.pages import rendering, static_files
from prd2pr.server.pages.access import COOKIE, LONGEST_TOKEN, Access, Visitor, form_mark, is_mark, is_our_own, is_place
from prd2pr.server.pages.links import ROOT, ServerLinks
from prd2pr.server.pages.rendering import Page
from prd2pr.server.reading import Reading, Repos

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, browsers would not say where a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FOR_A_YEAR = "public, max-age=31536000, immutable"
LARGEST_FORM = 16 * 1024
NOT_HERE = "There is no such page, or this token may not see it."


class Refused(Exception):
    """A request that ends with a page of its own."""

    def __init__(self, status: int, title: str, what: str) -> None:
        super().__init__(what)
        self.status, self.title, self.what = status, title, what


class OrderDesk(Protocol):
    """Takes orders for the visitor with this token, and says why not where it does not."""

    def reset(self, token: str, circuit: CircuitView) -> str: ...

    def retry(self, token: str, card: StoryCard, why: str) -> str: ...

    def about(self, *subjects: str) -> tuple[Asked, ...]:
        """What was ordered for these, the newest first."""
        ...


@dataclass(frozen=True)
class Desk:
    """All that the pages need. `reading` and `orders` are asked for each time: they may come after the routes."""

    reading: Callable[[], Reading]
    access: Access
    orders: Callable[[], OrderDesk | None] = lambda: None  # None: nobody carries anything out
    events: bool = True  # whether /events is served
    public_host: str = ""
    secure: bool = False  # people come by https, maybe through a proxy
    clock: Callable[[], str] = now


@dataclass(frozen=True)
class Visit:
    """One request: who it is, what may be seen, where links lead."""

    desk: Desk
    links: ServerLinks
    visitor: Visitor
    token: str
    notice: str = ""

    @property
    def reading(self) -> Reading:
        return self.desk.reading()

    @property
    def page(self) -> Page:
        mark = form_mark(self.token) if self.token else ""
        name, at = self.visitor.name or "?", self.desk.clock()
        return Page(visitor=name, csrf=mark, notice=self.notice, now=at, log_in="" if mark else self.links.log_in)

    @property
    def repos(self) -> Repos:
        if self.visitor.sees_all:
            return None
        return frozenset(each.repo for each in self.reading.projects() if self.visitor.sees(each.repo))

    def resettable(self, circuits: tuple[CircuitView, ...]) -> frozenset[str]:
        if self.desk.orders() is None or not self.token:
            return frozenset()
        return frozenset(each.id for each in circuits if each.state != "closed" and self.visitor.operates(each.repo))

    def may_retry(self, card: StoryCard) -> bool:
        takes = self.desk.orders() is not None and bool(self.token) and self.visitor.operates(card.repo)
        return takes and bool(card.phase) and card.column is not Column.COMPLETE

    def ordered(self, *subjects: str) -> tuple[Asked, ...]:
        desk = self.desk.orders()
        return desk.about(*subjects) if desk is not None else ()


View = Callable[[Visit, Request], str]


def dashboard(desk: Desk) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    for path, view in VIEWS:
        router.add_api_route(f"{ROOT}{path}", shown(desk, view), methods=["GET", "HEAD"], response_model=None)
    for path, handler in FORMS:
        router.add_api_route(f"{ROOT}{path}", taken(desk, handler), methods=["POST"], response_model=None)
    router.add_api_route(f"{ROOT}/log-in", asking_for_token(desk), methods=["GET", "HEAD"], response_model=None)
    router.add_api_route(f"{ROOT}/static/{{name}}", static_file, methods=["GET", "HEAD"], response_model=None)
    return router


# --- pages ------------------------------------------------------------------------------------------------------------


def projects(visit: Visit, _: Request) -> str:
    return rendering.projects_page(visit.links, visit.page, visit.reading.projects(visit.repos))


def board(visit: Visit, request: Request) -> str:
    repo = request.path_params["repo"]
    found = visit.reading.project(repo) if visit.visitor.sees(repo) else None
    if found is None:
        raise Refused(404, "Not found", NOT_HERE)
    return rendering.board_page(visit.links, visit.page, found)


def story(visit: Visit, request: Request) -> str:
    repo, key = request.path_params["repo"], request.path_params["story"]
    found = visit.reading.story(repo, key) if visit.visitor.sees(repo) else None
    if found is None:
        raise Refused(404, "Not found", NOT_HERE)
    return told_story(visit, found)


def told_story(visit: Visit, found: StoryView) -> str:
    orders = rendering.Orders(visit.ordered(found.card.key), may_order=visit.may_retry(found.card))
    return rendering.story_page(visit.links, visit.page, found, orders)


def runs(visit: Visit, _: Request) -> str:
    return rendering.runs_page(visit.links, visit.page, visit.reading.runs(visit.repos))


def workers(visit: Visit, _: Request) -> str:
    return rendering.workers_page(visit.links, visit.page, visit.reading.workers(visit.repos))


def circuits(visit: Visit, _: Request) -> str:
    found = visit.reading.circuits(visit.repos)
    orders = visit.ordered(*(each.id for each in found))
    return rendering.circuits_page(visit.links, visit.page, found, visit.resettable(found), orders)


def metrics(visit: Visit, _: Request) -> str:
    repos = visit.repos
    return rendering.metrics_page(visit.links, visit.page, visit.reading.metrics(repos), visit.reading.projects(repos))


def costs(visit: Visit, _: Request) -> str:
    repos = visit.repos
    replays = any(run.replayed for run in visit.reading.runs(repos))
    return rendering.costs_page(visit.links, visit.page, visit.reading.costs(repos), replays=replays)


# A story before a board: a repository's name may hold a slash.
VIEWS: tuple[tuple[str, View], ...] = (
    ("", projects),
    ("/projects/{repo:path}/stories/{story}", story),
    ("/projects/{repo:path}", board),
    ("/runs", runs),
    ("/workers", workers),
    ("/circuits", circuits),
    ("/metrics", metrics),
    ("/costs", costs),
)


def shown(desk: Desk, view: View) -> Callable[[Request], Response]:
    """Not a coroutine: whoever reads from disk or a database does so in a thread of its own."""

    def answer(request: Request) -> Response:
        visit = visit_of(desk, request)
        if visit is None:
            return to_log_in(desk, request)
        try:
            return page(view(visit, request))
        except Refused as refused:
            return refusal(visit.links, visit.page, refused)

    return answer


# --- forms ------------------------------------------------------------------------------------------------------------

Form = dict[str, str]
Handler = Callable[[Desk, Request, Form], Response]


def taken(desk: Desk, handler: Handler) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            form = await read_form(desk, request)
            return await run_in_threadpool(handler, desk, request, form)
        except Refused as refused:
            return refusal(links_of(desk, request), Page(visitor="", now=desk.clock()), refused)

    return answer


async def read_form(desk: Desk, request: Request) -> Form:
    if not is_our_own(request.headers, desk.public_host):
        raise Refused(403, "Not taken", "This form was not sent from a page of this server.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            raise Refused(413, "Not taken", "This form is larger than any of ours.")
    return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=20))


def log_in(desk: Desk, request: Request, form: Form) -> Response:
    token, wanted = form.get("token", "").strip(), form.get("next", "")
    links = links_of(desk, request)
    visitor = desk.access.visitor(token) if 0 < len(token) <= LONGEST_TOKEN else None
    if visitor is None:
        problem = "This token does not hold. Tokens can run out, and can be taken back."
        text = rendering.log_in_page(links, Page(now=desk.clock()), problem=problem, wanted=wanted)
        return page(text, 401)
    start = links.section("projects")
    answer = redirected(wanted if is_place(wanted, start) else start)
    answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=is_secure(desk, request), path="/")
    return answer


def log_out(desk: Desk, request: Request, form: Form) -> Response:
    known_visit(desk, request, form)
    answer = redirected(links_of(desk, request).log_in)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=is_secure(desk, request), path="/")
    return answer


def reset_circuit(desk: Desk, request: Request, form: Form) -> Response:
    """What happens is the command's part, on the branch; nothing is changed here."""
    visit = known_visit(desk, request, form)
    found = {each.id: each for each in visit.reading.circuits(visit.repos)}.get(form.get("circuit", ""))
    if found is None or not visit.visitor.sees(found.repo):
        raise Refused(404, "Not found", NOT_HERE)
    if not visit.visitor.operates(found.repo):
        raise Refused(403, "Not taken", "This token may look, and may not ask for a reset.")
    refused = order_desk(desk).reset(visit.token, found)
    if refused:
        return page(circuits(replace(visit, notice=refused), request))
    return redirected(f"{visit.links.section('circuits')}#orders")


def retry_story(desk: Desk, request: Request, form: Form) -> Response:
    """Then the story's own page is shown, with the order on it: loading it anew asks for nothing."""
    visit = known_visit(desk, request, form)
    repo, name = form.get("repo", ""), form.get("story", "")
    found = visit.reading.story(repo, name) if visit.visitor.sees(repo) else None
    if found is None:
        raise Refused(404, "Not found", NOT_HERE)
    if not visit.visitor.operates(repo):
        raise Refused(403, "Not taken", "This token may look, and may not ask for a retry.")
    why = form.get("why", "")[:LONGEST_WHY]
    refused = order_desk(desk).retry(visit.token, found.card, why)
    if refused:
        return page(told_story(replace(visit, notice=refused), found))
    return redirected(f"{visit.links.story(found.card.repo, found.card.id)}#orders")


def order_desk(desk: Desk) -> OrderDesk:
    orders = desk.orders()
    if orders is None:
        raise Refused(503, "Not taken", "This server shows, and has nobody to do the work. Comment the command.")
    return orders


def known_visit(desk: Desk, request: Request, form: Form) -> Visit:
    visit = visit_of(desk, request)
    if visit is None or not is_mark(form.get("csrf", ""), visit.token):
        raise Refused(403, "Not taken", "This form is from another time. Load the page again, then send it.")
    return visit


FORMS: tuple[tuple[str, Handler], ...] = (
    ("/log-in", log_in),
    ("/log-out", log_out),
    ("/circuits/reset", reset_circuit),
    ("/stories/retry", retry_story),
)


# --- who asks, and what is answered -----------------------------------------------------------------------------------


def visit_of(desk: Desk, request: Request) -> Visit | None:
    token = request.cookies.get(COOKIE, "")
    visitor = desk.access.visitor(token) if 0 < len(token) <= LONGEST_TOKEN else None
    if visitor is not None:
        return Visit(desk, links_of(desk, request), visitor, token)
    guest = desk.access.guest
    return Visit(desk, links_of(desk, request), guest, "") if guest else None


def to_log_in(desk: Desk, request: Request) -> Response:
    """Who follows a link from elsewhere comes without a cookie. The same page asked for by ourselves comes with it."""
    if request.headers.get("sec-fetch-site") == "cross-site":
        return page(rendering.again_page(request.url.path))
    links = links_of(desk, request)
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return redirected(f"{links.log_in}?next={quote(here, safe='/')}")


def asking_for_token(desk: Desk) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        links = links_of(desk, request)
        visit = visit_of(desk, request)
        if visit is not None and visit.token:
            return redirected(links.section("projects"))
        wanted = request.query_params.get("next", "")
        return page(rendering.log_in_page(links, Page(now=desk.clock()), wanted=wanted))

    return answer


def static_file(name: str) -> Response:
    if name not in static_files.KINDS:
        return Response("Not found\n", 404, media_type="text/plain", headers=HEADERS)
    headers = {**HEADERS, "Cache-Control": FOR_A_YEAR}
    return Response(static_files.content(name), media_type=static_files.KINDS[name], headers=headers)


def links_of(desk: Desk, request: Request) -> ServerLinks:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return ServerLinks(root, static_files.version(), has_events=desk.events)


def is_secure(desk: Desk, request: Request) -> bool:
    return desk.secure or request.url.scheme == "https"


def page(text: str, status: int = 200) -> Response:
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers=HEADERS)


def refusal(links: ServerLinks, common: Page, refused: Refused) -> Response:
    return page(rendering.problem_page(links, common, refused.title, refused.what), refused.status)


def redirected(to: str) -> Response:
    return RedirectResponse(to, 303, headers=HEADERS)
