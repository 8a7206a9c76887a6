"""Read-only routes. For resources that a token may not see, the response is the same as for missing ones."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, TypeVar, get_args

from fastapi import FastAPI, Header, Path, Query, Request, Response
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.client import models as api
from prd2pr.client.models import Check
from prd2pr.domain.breakers.records import CircuitState
from prd2pr.domain.records import StoryKind
from prd2pr.server.api.authentication import ForAdmin, ForReading, ForReadingAll, find_session_bearer, get_authenticator
from prd2pr.server.api.change_requests import make_order_response
from prd2pr.server.api.metrics import CONTENT_TYPE_LATEST
from prd2pr.server.api.problems import RequestDenied
from prd2pr.server.api.stream import EventStream, Listener
from prd2pr.server.federation import FederatedReader, Federation
from prd2pr.server.orders.store import find_order, list_orders
from prd2pr.server.reader import ViewReader
from prd2pr.server.token_scopes import Bearer
from prd2pr.views.models import CircuitView, Column, RunView, StoryCard, StoryProof, WorkerView, split_task_key

MAX_LIMIT = 500
MAX_TEXT = 200

NO_NUL_PATTERN = r"^[^\x00]*$"  # PostgreSQL rejects NUL in text
Repo = Annotated[str, Query(max_length=201, pattern=NO_NUL_PATTERN, description="Only this repository: owner/name.")]
PrdName = Annotated[str, Query(max_length=100, description="Only this PRD.")]
PageCursor = Annotated[str, Query(max_length=1000, description="`next` of the previous page.")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The maximum number of items.")]
TaskKey = Annotated[
    str,
    Path(
        description="owner/repo:story. The slash may be written as %2F.",
        pattern=api.KEY_PATTERN,
        examples=["octo/shop:loyalty-2"],
    ),
]


OrderId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="The id from the answer to the request.")]


ShownPhase = Literal["design", "red", "green", "refactor", "integrated"]
TASK_FILTERS = {"repo", "prd", "column", "status", "phase", "kind", "text", "cursor", "limit"}

T = TypeVar("T")
SortKey = tuple[str, ...]  # the sort position of an item


LOG = logging.getLogger("prd2pr.server.health")


def run_health_checks(app: FastAPI) -> tuple[Check, ...]:
    """Run the health checks, including those that other parts have added to `app.state.checks` by name."""
    more: dict[str, Callable[[], bool]] = getattr(app.state, "checks", {})
    return (
        Check(name="database", ok=is_database_up(app)),
        *(Check(name=name, ok=is_ok()) for name, is_ok in more.items()),
    )


def is_database_up(app: FastAPI) -> bool:
    try:
        with app.state.context.database.reading() as connection:
            return bool(connection.execute(text("SELECT 1")).scalar())
    except SQLAlchemyError:
        LOG.warning("the database does not answer", exc_info=True)
        return False


def paginate(
    items: Iterable[T], place: Callable[[T], SortKey], cursor: str, limit: int, *, newest_first: bool = False
) -> tuple[tuple[T, ...], str | None]:
    ordered = sorted(items, key=place, reverse=newest_first)
    if cursor:
        last = read_cursor(cursor)
        ordered = [each for each in ordered if (place(each) < last if newest_first else place(each) > last)]
    kept = tuple(ordered[:limit])
    return kept, (write_cursor(place(kept[-1])) if len(ordered) > limit else None)


def write_cursor(place: SortKey) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> SortKey:
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = json.loads(data)
    except (binascii.Error, ValueError, RecursionError):
        raise make_invalid_cursor_problem() from None
    if not isinstance(place, list) or not all(isinstance(part, str) for part in place):
        raise make_invalid_cursor_problem()
    return tuple(place)


def make_invalid_cursor_problem() -> RequestDenied:
    return RequestDenied(422, "`cursor` is invalid.", remedy="Send `next` of the previous page, or omit it.")


def get_reader(request: Request) -> ViewReader:
    reader: ViewReader = request.app.state.reader
    return reader.own if isinstance(reader, FederatedReader) else reader


def list_visible_repos(request: Request, bearer: Bearer, repo: str = "") -> list[str]:
    """Return the repositories that this request may see, limited to `repo` if given."""
    names = [project.repo for project in get_reader(request).projects()]
    return [name for name in names if bearer.sees(name) and (not repo or name.lower() == repo.lower())]


def not_found(what: str) -> RequestDenied:
    return RequestDenied(404, f"The {what} does not exist, or this token has no access to it.", remedy=f"See /{what}s.")


def get_orders(
    request: Request,
    bearer: ForReading,
    *,
    repo: Repo = "",
    subject: Annotated[
        str, Query(max_length=500, pattern=NO_NUL_PATTERN, description="Only orders about this task or circuit.")
    ] = "",
    limit: Limit = 100,
) -> api.Listed[api.Asked]:
    """Return the newest orders that this token may see."""
    found = list_orders(
        request.app.state.context.database, MAX_LIMIT, repo=repo, subjects=(subject,) if subject else ()
    )
    seen = [each for each in found if bearer.sees(each.repo)][:limit]
    return api.Listed[api.Asked](items=tuple(map(make_order_response, seen)))


def get_order(request: Request, bearer: ForReading, order_id: OrderId) -> api.Asked:
    with request.app.state.context.database.reading() as connection:
        found = find_order(connection, order_id)
    if found is None or not bearer.sees(found.repo):
        raise not_found("order")
    return make_order_response(found)


# --- health -----------------------------------------------------------------------------------------------------------


def get_health(request: Request) -> api.Health:
    found = run_health_checks(request.app)
    status: Literal["ok", "degraded"] = "ok" if all(each.ok for each in found) else "degraded"
    return api.Health(status=status, checks=found, circuits=count_circuits(request))


def count_circuits(request: Request) -> dict[str, int]:
    """Count the circuit breakers by state. Repositories and names are left out, since anyone may read the health."""
    try:
        found = [each.state for each in get_reader(request).circuits()]
    except SQLAlchemyError:
        return {}
    return {state: found.count(state) for state in get_args(CircuitState)}


async def get_liveness() -> api.Health:
    """Respond without running any check: a response proves that the server is running."""
    return api.Health(status="ok")


def get_readiness(request: Request) -> api.Health:
    found = run_health_checks(request.app)
    wrong = [each for each in found if not each.ok]
    if wrong:
        names = ", ".join(each.name for each in wrong)
        raise RequestDenied(503, f"Not ready: {names}.", headers={"Retry-After": "5"})
    return api.Health(status="ok", checks=found)


# --- tasks ------------------------------------------------------------------------------------------------------------


def get_tasks(
    request: Request,
    bearer: ForReading,
    *,
    repo: Repo = "",
    prd: PrdName = "",
    column: Annotated[Column | None, Query(description="Only this column of the board.")] = None,
    status: Annotated[Column | None, Query(description="The same as `column`.")] = None,
    phase: Annotated[ShownPhase | None, Query(description="Only this next phase, or last phase if complete.")] = None,
    kind: Annotated[StoryKind | None, Query(description="Only this kind.")] = None,
    text: Annotated[str, Query(max_length=MAX_TEXT, description="Only tasks with this text in id or title.")] = "",
    cursor: PageCursor = "",
    limit: Limit = 100,
) -> api.Page[StoryCard]:
    unknown = sorted(set(request.query_params) - TASK_FILTERS)
    if unknown:
        known = ", ".join(sorted(TASK_FILTERS))
        raise RequestDenied(422, f"Unknown filter: {unknown[0][:MAX_TEXT]}.", remedy=f"Filters: {known}.")
    wanted = {"prd": prd, "kind": kind, "phase": phase}
    columns = {each for each in (column, status) if each is not None}
    words = text.lower()

    def fits(card: StoryCard) -> bool:
        if columns - {card.column}:
            return False
        if any(value and getattr(card, name) != value for name, value in wanted.items()):
            return False
        return not words or words in f"{card.id} {card.title}".lower()

    cards = (card for card in list_cards(request, bearer, repo) if fits(card))
    items, next_cursor = paginate(cards, lambda card: (card.repo, card.prd, card.id), cursor, limit)
    return api.Page[StoryCard](items=items, next=next_cursor)


def list_cards(request: Request, bearer: Bearer, repo: str) -> list[StoryCard]:
    reader = get_reader(request)
    boards = (reader.project(name) for name in list_visible_repos(request, bearer, repo))
    return [card for board in boards if board for card in board.cards]


def get_task(request: Request, bearer: ForReading, key: TaskKey) -> StoryProof:
    repo, story = split_task_key(key)
    names = list_visible_repos(request, bearer, repo)
    found = get_reader(request).story(names[0], story) if names else None
    if found is None:
        raise not_found("task")
    return found


# --- workers, circuits, runs, projects --------------------------------------------------------------------------------


def get_workers(request: Request, bearer: ForReading) -> api.Listed[WorkerView]:
    names = list_visible_repos(request, bearer)
    found = get_reader(request).workers(None if bearer.sees_all else names)
    seen = set(names)
    return api.Listed[WorkerView](items=tuple(limit_worker(each, seen, all_seen=bearer.sees_all) for each in found))


def limit_worker(worker: WorkerView, seen: set[str], *, all_seen: bool) -> WorkerView:
    """Hide repositories that the token may not see, and clear `working_on` if its repository is hidden."""
    repos = tuple(repo for repo in worker.repos if repo in seen)
    is_visible = all_seen or any(worker.working_on.startswith(f"{repo}:") for repo in repos)
    return worker.model_copy(update={"repos": repos, "working_on": worker.working_on if is_visible else ""})


def get_circuits(
    request: Request,
    bearer: ForReading,
    repo: Repo = "",
    state: Annotated[CircuitState | None, Query(description="Only this state.")] = None,
) -> api.Listed[CircuitView]:
    found = get_reader(request).circuits(list_visible_repos(request, bearer, repo))
    return api.Listed[CircuitView](items=tuple(each for each in found if state is None or each.state == state))


def get_runs(
    request: Request,
    bearer: ForReading,
    *,
    repo: Repo = "",
    prd: PrdName = "",
    cursor: PageCursor = "",
    limit: Limit = 100,
) -> api.Page[RunView]:
    found = get_reader(request).runs(list_visible_repos(request, bearer, repo))
    kept = (run for run in found if not prd or run.prd == prd)
    items, next_cursor = paginate(kept, run_sort_key, cursor, limit, newest_first=True)
    return api.Page[RunView](items=items, next=next_cursor)


def run_sort_key(run: RunView) -> tuple[str, ...]:
    return (run.started_at, run.repo, run.prd, run.id)


def get_projects(request: Request, bearer: ForReading) -> api.Projects:
    """Return the projects of this server and of its federated servers."""
    own = [project for project in get_reader(request).projects() if bearer.sees(project.repo)]
    federation = getattr(request.app.state, "federation", None)
    others = [project for project in (federation.projects() if federation else ()) if bearer.sees(project.repo)]
    items = sorted((*own, *others), key=lambda each: (each.repo, each.server))
    return api.Projects(items=tuple(items), sources=list_servers(request.app))


def list_servers(app: FastAPI) -> tuple[api.Source, ...]:
    """Return the servers whose projects are also shown."""
    federation: Federation | None = getattr(app.state, "federation", None)
    return federation.list_sources() if federation is not None else ()


# --- for operators ----------------------------------------------------------------------------------------------------


def get_metrics(request: Request, _: ForReadingAll) -> Response:
    return Response(request.app.state.metrics_registry.text(), media_type=CONTENT_TYPE_LATEST)


def get_audit_log(request: Request, _: ForAdmin, limit: Limit = 100) -> api.Listed[api.Asked]:
    found = list_orders(request.app.state.context.database, limit)
    return api.Listed[api.Asked](items=tuple(map(make_order_response, found)))


# --- events -----------------------------------------------------------------------------------------------------------


async def stream_events(
    request: Request,
    bearer: ForReading,
    repo: Repo = "",
    last_event_id: Annotated[
        str, Header(max_length=100, description="The id of the last event received; the stream resumes after it.")
    ] = "",
) -> Any:
    state = request.app.state
    state.connection_limit.acquire(bearer.id)
    return EventStream(
        state.event_feed,
        Listener(bearer, repo, make_token_check(request)),
        state.connection_limit,
        last_event_id,
        heartbeat=state.heartbeat,
    )


def make_token_check(request: Request) -> Any:
    """Return a function, called with each heartbeat, that checks whether the token is still valid."""
    authenticator = get_authenticator(request)
    scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return lambda: find_session_bearer(request) is not None
    return lambda: authenticator.bearer(presented.strip()) is not None
