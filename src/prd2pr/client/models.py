"""The API's own models: pages, orders, events, health and problems. What it shows of a branch is in `views.models`."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from prd2pr.views.models import ProjectView, View

EventKind = Literal[
    "task_status_changed", "worker_heartbeat", "circuit_state_changed", "run_completed", "order_state_changed"
]
OrderState = Literal["waiting", "given", "done", "refused", "failed"]

REPO_PATTERN = r"^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$"
KEY_PATTERN = r"^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}:[A-Za-z0-9._-]{1,100}$"
MAX_WHY_LENGTH = 500


# --- other servers ---------------------------------------------------------------------------------------------------


class Source(View):
    """Another server whose projects are shown."""

    name: str
    url: str
    stale: bool
    age_seconds: float | None = Field(description="Since its last answer; null: it never answered.")
    problem: str = ""


# --- orders -----------------------------------------------------------------------------------------------


class Why(BaseModel):
    """The optional body of a request that changes something."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    why: str = Field(default="", max_length=MAX_WHY_LENGTH, description="Recorded with the command.")


class Asked(View):
    """An order. It is carried out on the branch, in the same way as a comment."""

    id: str
    command: str = Field(description="As in a comment: /tdd retry loyalty-2.")
    repo: str
    subject: str = Field(description="The task's key or the circuit's id.")
    by: str = Field(description="The name of the token that gave the order.")
    at: str
    why: str = ""
    state: OrderState = Field(
        default="waiting",
        description="waiting: no run has it yet; given: a run has it; done: it is on the branch; refused: `answer` has "
        "the reason, as for a comment; failed: no run could carry it out, `answer` has the reason.",
    )
    answer: str = Field(default="", description="Markdown, as on the pull request.")
    url: str = Field(default="", description="The address of the answer, or of the run that gave none.")
    settled_at: str = Field(default="", description="When the outcome became known.")
    repeated: bool = Field(default=False, description="The same order existed already; it is not carried out twice.")


# --- events, health, problems -----------------------------------------------------------------------------------------


class Event(View):
    id: str = Field(description="To resume from, as Last-Event-ID.")
    kind: str = Field(description="One of the five kinds, or `missed` if events were dropped before this one.")
    at: str = ""
    repo: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


class Check(View):
    name: str
    ok: bool
    detail: str = ""


class Health(View):
    status: Literal["ok", "degraded"]
    checks: tuple[Check, ...] = ()


class WrongField(View):
    where: str
    what: str


class Problem(View):
    """application/problem+json (RFC 9457), with a remedy."""

    type: str = "about:blank"
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    remedy: str = Field(default="", description="What to do about it.")
    errors: tuple[WrongField, ...] = Field(default=(), description="The invalid fields of the request.")


T = TypeVar("T")


class Page(View, Generic[T]):
    items: tuple[T, ...]
    next: str | None = Field(default=None, description="The cursor of the next page; null: this is the last one.")


class Listed(View, Generic[T]):
    items: tuple[T, ...]


class Projects(Listed[ProjectView]):
    sources: tuple[Source, ...] = Field(default=(), description="Other servers whose projects are included.")
