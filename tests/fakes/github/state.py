"""What GitHub stores besides git: rows, without behaviour. Pickled before a write, so that a read can be stale."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["none", "read", "triage", "write", "maintain", "admin"]
LEVELS: tuple[Level, ...] = ("none", "read", "triage", "write", "maintain", "admin")
Json = dict[str, Any]


@dataclass
class User:
    id: int
    login: str
    type: Literal["User", "Bot", "Organization"] = "User"


@dataclass
class Label:
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass
class Reaction:
    id: int
    user: str
    content: str
    created_at: str


@dataclass
class Comment:
    id: int
    number: int
    user: str
    body: str
    created_at: str
    updated_at: str
    app: str = ""  # the slug of the App that posted it
    reactions: list[Reaction] = field(default_factory=list)


@dataclass
class ReviewComment:
    """A comment on a line of the diff, which is always part of a review."""

    id: int
    path: str
    line: int | None
    body: str
    edited_at: str | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass
class Review:
    id: int
    number: int
    user: str
    body: str
    state: Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "PENDING"]
    submitted_at: str | None  # None while it is pending
    edited_at: str | None = None
    comments: list[ReviewComment] = field(default_factory=list)


@dataclass
class PullPart:
    """What a pull request has in addition to an issue."""

    id: int
    head: str
    head_sha: str
    base: str
    base_sha: str
    head_repo: str  # owner/name; differs from its own repository for a fork
    draft: bool = False
    auto_merge: str | None = None  # the method, once it is enabled
    merged_at: str | None = None
    merged_by: str | None = None
    merge_sha: str | None = None


@dataclass
class Labelling:
    id: int
    label: str
    by: str
    at: str


@dataclass
class Issue:
    id: int
    number: int
    user: str
    title: str
    body: str | None
    created_at: str
    updated_at: str
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    closed_at: str | None = None
    closed_by: str | None = None
    locked: bool = False
    labels: list[str] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    sub_issues: list[int] = field(default_factory=list)  # ids
    labelled: list[Labelling] = field(default_factory=list)  # including removed ones
    app: str = ""
    pull: PullPart | None = None


@dataclass
class CheckRun:
    id: int
    name: str
    head_sha: str
    app: str
    status: str = "queued"
    conclusion: str | None = None
    external_id: str = ""
    details_url: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[Json] = field(default_factory=list)


@dataclass
class CommitStatus:
    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: str
    created_at: str


@dataclass
class Dispatch:
    """A dispatched workflow, or (workflow "") a repository_dispatch."""

    run: int
    workflow: str
    ref: str
    inputs: Json
    by: str
    event_type: str = ""


@dataclass
class Repository:
    id: int
    owner: str
    name: str
    default_branch: str = "main"
    private: bool = False
    archived: bool = False
    parent: str = ""  # owner/name that this is a fork of
    collaborators: dict[str, Level] = field(default_factory=dict)
    compares_workflows: bool = False  # refuse branches whose workflow files differ from the default branch's
    protected: list[str] = field(default_factory=list)  # branches
    actions_may_open_pulls: bool = True
    drafts: bool = True
    auto_merge: bool = False  # the repository's setting
    disabled: dict[str, str] = field(default_factory=dict)  # the state of workflows that are not active, by file
    signed_branches: list[str] = field(default_factory=list)  # where a rule requires signed commits
    required_checks: list[str] = field(default_factory=list)  # of the default branch's ruleset
    secrets: list[str] = field(default_factory=list)  # names
    labels: dict[str, Label] = field(default_factory=dict)  # by name in lower case
    issues: dict[int, Issue] = field(default_factory=dict)  # pull requests too
    comments: dict[int, Comment] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    statuses: list[CommitStatus] = field(default_factory=list)
    dispatches: list[Dispatch] = field(default_factory=list)
    at_work: set[int] = field(default_factory=set)  # ids of runs of the workflow
    ended: set[int] = field(default_factory=set)  # of the dispatched ones
    jobs: dict[int, list[str]] = field(default_factory=dict)  # by run: names of its jobs that have not ended
    # Commits made through the API in an App's own name: GitHub shows them as Verified.
    signed: list[str] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


@dataclass
class Token:
    value: str
    kind: Literal["actions", "installation", "user"]
    login: str
    permissions: dict[str, str]
    repositories: list[str] | None = None  # None: all that the owner may see
    expires_at: float | None = None
    limit: int = 5000
    used: int = 0
    window_ends: float = 0.0
    app: str = ""


@dataclass
class Installation:
    id: int
    app: str
    account: str
    permissions: dict[str, str]
    repositories: list[str]


@dataclass
class App:
    id: int
    slug: str
    owner: str
    public_key: str  # PEM
    client_id: str = ""
    permissions: dict[str, str] = field(default_factory=lambda: {"metadata": "read"})
    events: list[str] = field(default_factory=lambda: ["push"])
    webhook: str = ""  # where its deliveries go


@dataclass
class Conversion:
    """An App made from a manifest, and what its code is exchanged for, once."""

    app: int
    ends: float
    secrets: dict[str, str]


@dataclass
class Delivery:
    """One attempt to deliver an event to an App. The test sends it, and records the result."""

    id: int
    guid: str
    event: str
    payload: bytes
    at: float
    status_code: int
    redelivery: bool = False
    action: str | None = None


@dataclass
class State:
    users: dict[str, User] = field(default_factory=dict)  # by login in lower case
    repositories: dict[str, Repository] = field(default_factory=dict)  # by owner/name in lower case
    tokens: dict[str, Token] = field(default_factory=dict)
    apps: dict[int, App] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    deliveries: list[Delivery] = field(default_factory=list)  # of the App's webhook, the oldest first
    redeliver: list[int] = field(default_factory=list)  # attempts that were requested again, and not made yet
    conversions: dict[str, Conversion] = field(default_factory=dict)  # by code, until it is used
    last_id: int = 1000
