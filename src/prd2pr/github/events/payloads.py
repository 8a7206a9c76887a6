"""Models for the parts of GitHub's payloads that `github/events/events.py` reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from prd2pr.domain.forge import Actor

Login = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}(\[bot\])?$")]
Number = Annotated[int, Field(strict=True, ge=1, le=2**53)]
# Missing, null and empty are equivalent here.
Word = Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]
Flag = Annotated[bool, BeforeValidator(lambda given: bool(given) if given is None else given)]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, defer_build=True)


class UserPart(Part):
    login: Login
    id: Number
    type: Word = ""

    @property
    def is_bot(self) -> bool:
        return self.type == "Bot" or self.login.endswith("[bot]")

    @property
    def actor(self) -> Actor:
        return Actor(self.login, self.id, bot=self.is_bot)


class RepositoryPart(Part):
    full_name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$")
    default_branch: Word = ""


class NamedPart(Part):
    full_name: str


class Payload(Part):
    sender: UserPart | None = None
    repository: RepositoryPart


class CommitPart(Part):
    added: tuple[str, ...] | None = None
    modified: tuple[str, ...] | None = None
    removed: tuple[str, ...] | None = None

    @property
    def tells_files(self) -> bool:
        return None not in (self.added, self.modified, self.removed)


class PushPayload(Payload):
    ref: str
    before: str
    after: str
    commits: tuple[CommitPart, ...] = ()
    forced: Flag = False
    deleted: Flag = False

    def files(self, part: Literal["added", "modified", "removed"]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for commit in self.commits for path in getattr(commit, part) or ()))


class IssuePart(Part):
    number: Number
    title: Word = ""
    body: Word = ""
    pull_request: Any = None  # only present for a pull request


class LabelPart(Part):
    name: str = Field(min_length=1, max_length=1000)


class CommentPart(Part):
    id: Number
    user: UserPart | None = None
    body: str | None = None
    created_at: Word = ""
    html_url: Word = ""


class CommentPayload(Payload):
    issue: IssuePart
    comment: CommentPart


class IssuePayload(Payload):
    issue: IssuePart
    label: LabelPart | None = None


class BranchRef(Part):
    ref: str
    repo: RepositoryPart | None = None


class PullPart(Part):
    number: Number
    head: BranchRef
    base: BranchRef
    merged: Flag = False


class PullPayload(Payload):
    pull_request: PullPart
    label: LabelPart | None = None


class DispatchPayload(Payload):
    inputs: dict[str, Any] | None = None
    client_payload: dict[str, Any] | None = None
    ref: Word = ""


class AccountPart(Part):
    login: str


class InstallationPart(Part):
    id: Number
    account: AccountPart | None = None


class InstallationPayload(Part):
    action: str
    installation: InstallationPart
    repositories: tuple[NamedPart, ...] = ()
    repositories_added: tuple[NamedPart, ...] = ()
    repositories_removed: tuple[NamedPart, ...] = ()
    sender: UserPart | None = None
