"""What the API answers to whoever only reads. Of what a token may not see, nothing is said, not even that it exists."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Path, Query, Request, Response

from prd2pr.client import models as said
from prd2pr.client.models import CircuitState, Column
from prd2pr.core.access import Bearer
from prd2pr.core.board.view import RunView, StoryCard, split_key
from prd2pr.server.api import answers
from prd2pr.server.api.asking import record
from prd2pr.server.api.asking import said as told
from prd2pr.server.api.door import ForAdmin, ForReading, ForReadingAll, door_of, seated
from prd2pr.server.api.listing import page_of
from prd2pr.server.api.measures import CONTENT_TYPE_LATEST
from prd2pr.server.api.problems import Denied
from prd2pr.server.api.readiness import checks
from prd2pr.server.api.stream import EventStream, Listener
from prd2pr.server.federation import Federated
from prd2pr.server.orders.record import newest, one
from prd2pr.server.reading import Reading

MOST = 500
TEXT = 200

WORDS = r"^[^\x00]*$"  # PostgreSQL takes no text with a NUL in it
Repo = Annotated[str, Query(max_length=201, pattern=WORDS, description="Only of this repository: owner/name.")]
Prd = Annotated[str, Query(max_length=100, description="Only of this PRD.")]
Cursor = Annotated[str, Query(max_length=1000, description="`next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]
TaskKey = Annotated[
    str,
    Path(
        description="owner/repo:story. The slash may stand as it is or as %2F.",
        pattern=said.KEY_PATTERN,
        examples=["octo/shop:loyalty-2"],
    ),
]


OrderId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="As the answer to the request gave it.")]


def reading_of(request: Request) -> Reading:
    reading: Reading = request.app.state.reading
    return reading.own if isinstance(reading, Federated) else reading


def visible(request: Request, bearer: Bearer, repo: str = "") -> list[str]:
    """The repositories that count for this request."""
    names = [project.repo for project in reading_of(request).projects()]
    return [name for name in names if bearer.sees(name) and (not repo or name.lower() == repo.lower())]


def not_there(what: str) -> Denied:
    return Denied(404, f"There is no such {what}, or this token may not see it.", remedy=f"See /{what}s.")


def orders(
    request: Request,
    bearer: ForReading,
    *,
    repo: Repo = "",
    subject: Annotated[str, Query(max_length=500, pattern=WORDS, description="Only about this task or circuit.")] = "",
    limit: Limit = 100,
) -> said.Listed[said.Asked]:
    """Of the newest, those that this token may see."""
    found = newest(request.app.state.parts.database, MOST, repo=repo, subjects=(subject,) if subject else ())
    seen = [each for each in found if bearer.sees(each.repo)][:limit]
    return said.Listed[said.Asked](items=tuple(told(each) for each in seen))


def order(request: Request, bearer: ForReading, order_id: OrderId) -> said.Asked:
    with request.app.state.parts.database.reading() as connection:
        found = one(connection, order_id)
    if found is None or not bearer.sees(found.repo):
        raise not_there("order")
    return told(found)


# --- health -----------------------------------------------------------------------------------------------------------


def health(request: Request) -> said.Health:
    found = checks(request.app)
    return said.Health(status="ok" if all(each.ok for each in found) else "degraded", checks=found)


async def live() -> said.Health:
    """Nothing is looked at: that this is answered at all is the answer."""
    return said.Health(status="ok")


def ready(request: Request) -> said.Health:
    found = checks(request.app)
    wrong = [each for each in found if not each.ok]
    if wrong:
        names = ", ".join(each.name for each in wrong)
        raise Denied(503, f"Not ready: {names}.", headers={"Retry-After": "5"})
    return said.Health(status="ok", checks=found)


# --- tasks ------------------------------------------------------------------------------------------------------------


def tasks(
    request: Request,
    bearer: ForReading,
    *,
    repo: Repo = "",
    prd: Prd = "",
    column: Annotated[Column | None, Query(description="Only in this column of the board.")] = None,
    kind: Annotated[str, Query(max_length=40, description="Only of this kind: feature, bug, docs …")] = "",
    text: Annotated[str, Query(max_length=TEXT, description="Only with these words in id or title.")] = "",
    cursor: Cursor = "",
    limit: Limit = 100,
) -> said.Page[said.Task]:
    wanted = {"prd": prd, "kind": kind}
    words = text.lower()

    def fits(card: StoryCard) -> bool:
        if column is not None and card.column.value != column:
            return False
        if any(value and getattr(card, name) != value for name, value in wanted.items()):
            return False
        return not words or words in f"{card.id} {card.title}".lower()

    cards = (card for card in cards_of(request, bearer, repo) if fits(card))
    items, following = page_of(cards, lambda card: (card.repo, card.prd, card.id), cursor, limit)
    return said.Page[said.Task](items=tuple(map(answers.task, items)), next=following)


def cards_of(request: Request, bearer: Bearer, repo: str) -> list[StoryCard]:
    reading = reading_of(request)
    boards = (reading.project(name) for name in visible(request, bearer, repo))
    return [card for board in boards if board for card in board.cards]


def task(request: Request, bearer: ForReading, key: TaskKey) -> said.TaskDetail:
    repo, story = split_key(key)
    names = visible(request, bearer, repo)
    found = reading_of(request).story(names[0], story) if names else None
    if found is None:
        raise not_there("task")
    return answers.task_detail(found)


# --- workers, circuits, runs, projects --------------------------------------------------------------------------------


def workers(request: Request, bearer: ForReading) -> said.Listed[said.Worker]:
    names = visible(request, bearer)
    found = reading_of(request).workers(None if bearer.sees_all else names)
    seen = set(names)
    return said.Listed[said.Worker](
        items=tuple(
            answers.worker(each, tuple(repo for repo in each.repos if repo in seen), all_seen=bearer.sees_all)
            for each in found
        )
    )


def circuits(
    request: Request,
    bearer: ForReading,
    repo: Repo = "",
    state: Annotated[CircuitState | None, Query(description="Only in this state.")] = None,
) -> said.Listed[said.Circuit]:
    found = reading_of(request).circuits(visible(request, bearer, repo))
    return said.Listed[said.Circuit](
        items=tuple(answers.circuit(each) for each in found if state is None or each.state == state)
    )


def runs(
    request: Request, bearer: ForReading, *, repo: Repo = "", prd: Prd = "", cursor: Cursor = "", limit: Limit = 100
) -> said.Page[said.Run]:
    found = reading_of(request).runs(visible(request, bearer, repo))
    kept = (run for run in found if not prd or run.prd == prd)
    items, following = page_of(kept, run_place, cursor, limit, newest_first=True)
    return said.Page[said.Run](items=tuple(map(answers.run, items)), next=following)


def run_place(run: RunView) -> tuple[str, ...]:
    return (run.started_at, run.repo, run.prd, run.id)


def projects(request: Request, bearer: ForReading) -> said.Projects:
    """This server's own, and those of the servers that it reads."""
    own = [project for project in reading_of(request).projects() if bearer.sees(project.repo)]
    federation = getattr(request.app.state, "federation", None)
    others = [project for project in (federation.projects() if federation else ()) if bearer.sees(project.repo)]
    items = sorted((*map(answers.project, own), *others), key=lambda each: (each.repo, each.server))
    return said.Projects(items=tuple(items), sources=federation.standing() if federation else ())


# --- for operators ----------------------------------------------------------------------------------------------------


def metrics(request: Request, _: ForReadingAll) -> Response:
    return Response(request.app.state.measures.text(), media_type=CONTENT_TYPE_LATEST)


def audit(request: Request, _: ForAdmin, limit: Limit = 100) -> said.Listed[said.Asked]:
    return said.Listed[said.Asked](items=record(request.app.state.parts.database, limit))


# --- events -----------------------------------------------------------------------------------------------------------


async def events(
    request: Request,
    bearer: ForReading,
    repo: Repo = "",
    last_event_id: Annotated[
        str, Header(max_length=100, description="The id of the last event that was seen; it goes on after that.")
    ] = "",
) -> Any:
    state = request.app.state
    state.seats.take(bearer.id)
    return EventStream(
        state.announcements,
        Listener(bearer, repo, still_valid_of(request)),
        state.seats,
        last_event_id,
        heartbeat=state.heartbeat,
    )


def still_valid_of(request: Request) -> Any:
    """Asked with each heartbeat: a token that was revoked hears no more."""
    door = door_of(request)
    scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return lambda: seated(request) is not None
    return lambda: door.bearer(presented.strip()) is not None
