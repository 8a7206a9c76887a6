"""What the API says, as frozen values: the server answers with these, and the client reads them.

A key that a newer server adds is passed over, so that an older client goes on working. Times are UTC, ISO 8601 with a
`Z`; an empty one is not known.
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
LONGEST_WHY = 500


class Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Spend(Said):
    calls: int = Field(default=0, description="Calls of a model.")
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = Field(default=0.0, description="None where a model without a known price took part.")


class ColumnCount(Said):
    column: Column
    stories: int


# --- tasks ------------------------------------------------------------------------------------------------------------


class Task(Said):
    """One story of one repository."""

    key: str = Field(description="owner/repo:story, unique over all repositories.")
    repo: str
    prd: str
    id: str = Field(description="The story's id, unique inside of its repository.")
    title: str
    kind: str
    column: Column
    outcome: str = Field(description="How it stands, in a word or two, as on the pull request.")
    phase: str = Field(description="The one that is due, or was crossed last; empty: nothing was begun.")
    attempts: int
    refused: int = Field(description="Attempts that a gate refused.")
    spend: Spend
    seconds: float = Field(description="Of runner time.")
    since: str = Field(description="When its last step was made.")
    tests: str = Field(description="As a sentence: 9 of 9 pass.")
    bite: str = Field(description="How many deliberate faults its tests noticed, as a sentence.")
    reason: str = Field(default="", description="Why it is blocked.")
    depends_on: tuple[str, ...] = ()


class TestOutcome(Said):
    __test__ = False
    id: str
    outcome: str


class CriterionProof(Said):
    """A criterion of the story, and what proves it."""

    id: str
    text: str
    requirements: tuple[str, ...]
    tests: tuple[TestOutcome, ...]
    commit: str
    verdict: str


class Finding(Said):
    code: str
    severity: str
    message: str
    place: str


class StepProof(Said):
    """One crossed phase."""

    n: int
    phase: str
    outcome: str
    commit: str
    at: str
    attempts: int
    cost: str
    note: str
    findings: tuple[Finding, ...] = ()
    faults: str = Field(default="", description="How many deliberate faults were noticed, as a sentence.")


class RefusedAttempt(Said):
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str
    crossed: bool = Field(description="A later attempt got through.")


class TaskDetail(Task):
    """A story with all that proves it."""

    prd_title: str
    prd_path: str
    branch: str
    description: str
    design: str
    criteria: tuple[CriterionProof, ...]
    steps: tuple[StepProof, ...]
    refusals: tuple[RefusedAttempt, ...]


# --- who works, and what keeps it from working ------------------------------------------------------------------------


class Worker(Said):
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


class Circuit(Said):
    id: str = Field(description="owner/repo:prd:name; only the name may hold colons.")
    repo: str
    prd: str
    name: str = Field(description="green, push, anthropic:claude-sonnet-5-5, system …")
    level: Level
    state: CircuitState
    failures: int
    since: str
    last: str
    why: str
    by_hand: bool = Field(description="It flaps: only a person closes it.")
    told: str = Field(description="A sentence; empty where it is closed.")


class Run(Said):
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


class PrdSummary(Said):
    id: str
    title: str
    path: str
    branch: str
    head: str
    state: str
    outcome: str
    next: str = Field(description="What is next, as a sentence.")
    stories: int
    proven: int
    counts: tuple[ColumnCount, ...]
    spend: Spend
    updated_at: str


class Project(Said):
    """A repository with all its PRDs, on this server or on another that it reads."""

    repo: str
    server: str = Field(default="", description="The other server that says so; empty: this one.")
    stale: bool = Field(default=False, description="That server does not answer now: this is what it said last.")
    age_seconds: float = Field(default=0, description="How long ago that was.")
    stories: int
    proven: int
    counts: tuple[ColumnCount, ...]
    spend: Spend
    updated_at: str
    problems: tuple[str, ...] = Field(default=(), description="Branches whose state cannot be read, each with why.")
    prds: tuple[PrdSummary, ...] = ()


class Source(Said):
    """Another server that is read too."""

    name: str
    url: str
    stale: bool
    age_seconds: float | None = Field(description="Since it answered last; null: it never has.")
    problem: str = ""


# --- what was asked for -----------------------------------------------------------------------------------------------


class Why(Said):
    """The body of a request that changes something; it may be left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    why: str = Field(default="", max_length=LONGEST_WHY, description="Goes on record with the command.")


class Asked(Said):
    """A command that was taken in. It is carried out on the branch, by the same flow as a comment."""

    id: str
    command: str = Field(description="As a comment would say it: /tdd retry loyalty-2.")
    repo: str
    subject: str = Field(description="The task's key or the circuit's id.")
    by: str = Field(description="The name of the token that asked.")
    at: str
    why: str = ""
    state: OrderState = Field(
        default="waiting",
        description="waiting: not handed on yet; given: a run has it; done: it is on the branch; refused: `answer` "
        "says why, as a comment would be answered; failed: nobody could be made to do it, `answer` says why.",
    )
    answer: str = Field(default="", description="Markdown, as it stands under the pull request.")
    url: str = Field(default="", description="Where the answer stands, or the run that gave none.")
    settled_at: str = Field(default="", description="When it was known what came of it.")
    repeated: bool = Field(default=False, description="It had been asked for already, and is not done twice.")


# --- events, health, problems -----------------------------------------------------------------------------------------


class Event(Said):
    id: str = Field(description="To go on from: Last-Event-ID.")
    kind: str = Field(description="One of the five kinds, or `missed` where events were dropped before this one.")
    at: str = ""
    repo: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


class Check(Said):
    name: str
    ok: bool
    detail: str = ""


class Health(Said):
    status: Literal["ok", "degraded"]
    checks: tuple[Check, ...] = ()


class WrongField(Said):
    where: str
    what: str


class Problem(Said):
    """application/problem+json (RFC 9457), with what to do."""

    type: str = "about:blank"
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    remedy: str = Field(default="", description="What to do about it.")
    errors: tuple[WrongField, ...] = Field(default=(), description="Which parts of the request are wrong.")


T = TypeVar("T")


class Page(Said, Generic[T]):
    items: tuple[T, ...]
    next: str | None = Field(default=None, description="The cursor of the next page; null: this was the last one.")


class Projects(Said):
    items: tuple[Project, ...]
    sources: tuple[Source, ...] = Field(default=(), description="Other servers that are read too.")


class Listed(Said, Generic[T]):
    items: tuple[T, ...]
