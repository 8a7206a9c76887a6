"""The API's models: the server answers with these, and the client parses them.

Unknown keys are ignored, so that an older client works with a newer server. Times are UTC, ISO 8601 with a `Z`; an
empty one is unknown.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Column = Literal["PENDING", "IN PROGRESS", "PASSING", "COMPLETE", "BLOCKED"]
CircuitState = Literal["closed", "open", "half-open"]
Level = Literal["stage", "worker", "system"]
EventKind = Literal[
    "task_status_changed", "worker_heartbeat", "circuit_state_changed", "run_completed", "order_state_changed"
]
OrderState = Literal["waiting", "given", "done", "refused", "failed"]

REPO_PATTERN = r"^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$"
KEY_PATTERN = r"^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}:[A-Za-z0-9._-]{1,100}$"
MAX_WHY_LENGTH = 500


class ApiModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Spend(ApiModel):
    calls: int = Field(default=0, description="Model calls.")
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = Field(default=0.0, description="Null if the price of a model is unknown.")


class ColumnCount(ApiModel):
    column: Column
    stories: int


# --- tasks ------------------------------------------------------------------------------------------------------------


class Task(ApiModel):
    """One story of one repository."""

    key: str = Field(description="owner/repo:story, unique across repositories.")
    repo: str
    prd: str
    id: str = Field(description="The story's id, unique within its repository.")
    title: str
    kind: str
    column: Column
    outcome: str = Field(description="Its state in a word or two, as on the pull request.")
    phase: str = Field(description="The phase that is due, or was passed last; empty: not started.")
    attempts: int
    refused: int = Field(description="Attempts that a gate refused.")
    spend: Spend
    seconds: float = Field(description="Runner time.")
    since: str = Field(description="The time of its last step.")
    tests: str = Field(description="As a sentence: 9 of 9 pass.")
    bite: str = Field(description="How many mutants its tests killed, as a sentence.")
    reason: str = Field(default="", description="Why it is blocked.")
    depends_on: tuple[str, ...] = ()


class TestOutcome(ApiModel):
    __test__ = False
    id: str
    outcome: str


class CriterionProof(ApiModel):
    """A criterion of the story with its proof."""

    id: str
    text: str
    requirements: tuple[str, ...]
    tests: tuple[TestOutcome, ...]
    commit: str
    verdict: str


class Finding(ApiModel):
    code: str
    severity: str
    message: str
    place: str


class StepProof(ApiModel):
    """One passed phase."""

    n: int
    phase: str
    outcome: str
    commit: str
    at: str
    attempts: int
    cost: str
    note: str
    findings: tuple[Finding, ...] = ()
    faults: str = Field(default="", description="How many mutants were killed, as a sentence.")


class RefusedAttempt(ApiModel):
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str
    crossed: bool = Field(description="A later attempt passed.")


class TaskDetail(Task):
    """A story with all its proofs."""

    prd_title: str
    prd_path: str
    branch: str
    description: str
    design: str
    criteria: tuple[CriterionProof, ...]
    steps: tuple[StepProof, ...]
    refusals: tuple[RefusedAttempt, ...]


# --- workers, circuits, runs ------------------------------------------------------------------------


class Worker(ApiModel):
    name: str
    kind: str = Field(description="model, pool, actions or plugin.")
    state: str = Field(description="working, idle, gone or not known.")
    working_on: str
    repos: tuple[str, ...]
    runs: int
    steps: int
    spend: Spend
    last_seen: str
    circuit: CircuitState


class Circuit(ApiModel):
    id: str = Field(description="owner/repo:prd:name; only the name may contain colons.")
    repo: str
    prd: str
    name: str = Field(description="green, push, anthropic:claude-sonnet-5-5, system …")
    level: Level
    state: CircuitState
    failures: int
    since: str
    last: str
    why: str
    by_hand: bool = Field(description="It trips repeatedly: only a person can reset it.")
    told: str = Field(description="A sentence; empty if it is closed.")


class Run(ApiModel):
    key: str = Field(description="owner/repo:run.")
    repo: str
    prd: str
    id: str
    started_at: str
    ended_at: str
    seconds: float
    model: str
    replayed: bool = Field(description="The model's answers came from a recording.")
    outcome: str
    steps: tuple[str, ...]
    spend: Spend


# --- repositories -----------------------------------------------------------------------------------------------------


class PrdSummary(ApiModel):
    id: str
    title: str
    path: str
    branch: str
    head: str
    state: str
    outcome: str
    next: str = Field(description="The next action, as a sentence.")
    stories: int
    proven: int
    counts: tuple[ColumnCount, ...]
    spend: Spend
    updated_at: str


class Project(ApiModel):
    """A repository with all its PRDs, of this server or of one of its sources."""

    repo: str
    server: str = Field(default="", description="The other server it comes from; empty: this one.")
    stale: bool = Field(default=False, description="That server does not answer: this is its last answer.")
    age_seconds: float = Field(default=0, description="The age of that answer.")
    stories: int
    proven: int
    counts: tuple[ColumnCount, ...]
    spend: Spend
    updated_at: str
    problems: tuple[str, ...] = Field(default=(), description="Branches whose state cannot be read, with the reason.")
    prds: tuple[PrdSummary, ...] = ()


class Source(ApiModel):
    """Another server whose projects are shown."""

    name: str
    url: str
    stale: bool
    age_seconds: float | None = Field(description="Since its last answer; null: it never answered.")
    problem: str = ""


# --- orders -----------------------------------------------------------------------------------------------


class Why(ApiModel):
    """The optional body of a request that changes something."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    why: str = Field(default="", max_length=MAX_WHY_LENGTH, description="Recorded with the command.")


class Asked(ApiModel):
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


class Event(ApiModel):
    id: str = Field(description="To resume from, as Last-Event-ID.")
    kind: str = Field(description="One of the five kinds, or `missed` if events were dropped before this one.")
    at: str = ""
    repo: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


class Check(ApiModel):
    name: str
    ok: bool
    detail: str = ""


class Health(ApiModel):
    status: Literal["ok", "degraded"]
    checks: tuple[Check, ...] = ()


class WrongField(ApiModel):
    where: str
    what: str


class Problem(ApiModel):
    """application/problem+json (RFC 9457), with a remedy."""

    type: str = "about:blank"
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    remedy: str = Field(default="", description="What to do about it.")
    errors: tuple[WrongField, ...] = Field(default=(), description="The invalid fields of the request.")


T = TypeVar("T")


class Page(ApiModel, Generic[T]):
    items: tuple[T, ...]
    next: str | None = Field(default=None, description="The cursor of the next page; null: this is the last one.")


class Projects(ApiModel):
    items: tuple[Project, ...]
    sources: tuple[Source, ...] = Field(default=(), description="Other servers whose projects are included.")


class Listed(ApiModel, Generic[T]):
    items: tuple[T, ...]
