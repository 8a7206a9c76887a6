"""Models that only the API uses: pages, orders, events, health and problems.

Views of a branch are in `views.models`.
"""

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
    """Another server whose projects this server also shows."""

    name: str
    url: str
    stale: bool
    age_seconds: float | None = Field(description="Seconds since its last answer, or null if it never answered.")
    problem: str = ""


class ServerReport(BaseModel):
    """Body of a registration or heartbeat."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    url: str = Field(
        max_length=500, pattern=r"^https?://[^\s/]+(/[^\s]*)?$", description="The server's public address."
    )
    projects: tuple[ProjectView, ...] = Field(default=(), max_length=1000)


# --- orders -----------------------------------------------------------------------------------------------


class Why(BaseModel):
    """The optional reason in the body of a request that changes state."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    why: str = Field(default="", max_length=MAX_WHY_LENGTH, description="Recorded with the command.")


class CommandLine(Why):
    """Body of a command: one line, as in a comment."""

    command: str = Field(min_length=2, max_length=1000, description="For example: /sprint plan loyalty-1")


class Asked(View):
    """A command that was given through the API. A run executes it on the branch as if it were a comment."""

    id: str
    command: str = Field(description="The command as written in a comment, for example /tdd retry loyalty-2.")
    repo: str
    subject: str = Field(description="The key of the task or PRD, or the id of the circuit breaker.")
    by: str = Field(description="Name of the token that placed the order.")
    at: str
    why: str = ""
    state: OrderState = Field(
        default="waiting",
        description="waiting: no run has it yet; given: a run has it; done: its result is on the branch; refused: not "
        "executed; failed: no run could execute it. If it is refused or failed, `answer` has the reason.",
    )
    answer: str = Field(default="", description="Markdown, as on the pull request.")
    url: str = Field(default="", description="URL of the answer, or of the run if it gave no answer.")
    settled_at: str = Field(default="", description="Time at which the outcome became known.")
    repeated: bool = Field(default=False, description="The same order already existed and is not executed again.")


# --- events, health, problems -----------------------------------------------------------------------------------------


class Event(View):
    id: str = Field(description="Send it as Last-Event-ID to resume after this event.")
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
    circuits: dict[str, int] = Field(default_factory=dict, description="Number of circuit breakers in each state.")


class WrongField(View):
    where: str
    what: str


class Problem(View):
    """Problem details in the format `application/problem+json` (RFC 9457), with a remedy."""

    type: str = "about:blank"
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    remedy: str = Field(default="", description="How to resolve the problem.")
    errors: tuple[WrongField, ...] = Field(default=(), description="The invalid fields of the request.")


T = TypeVar("T")


class Page(View, Generic[T]):
    items: tuple[T, ...]
    next: str | None = Field(default=None, description="Cursor of the next page, or null on the last page.")


class Listed(View, Generic[T]):
    items: tuple[T, ...]


class Projects(Listed[ProjectView]):
    sources: tuple[Source, ...] = Field(default=(), description="Other servers whose projects are included.")
