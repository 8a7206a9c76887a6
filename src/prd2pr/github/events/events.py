"""Convert payloads to a few small event types. Code outside of this package never sees a payload.

The models read only the required fields. An unexpected payload is ignored with a reason and never raises.
`github/permissions.py` decides whether the actor has the required permission.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from prd2pr.domain.forge import Actor, Comment
from prd2pr.github.events.event_filter import NO_LABEL_ADDED, NOT_A_NEW_COMMENT, PULL_UNCHANGED
from prd2pr.github.events.payloads import (
    BranchRef,
    CommentPayload,
    DispatchPayload,
    InstallationPayload,
    IssuePayload,
    PullPayload,
    PushPayload,
    UserPart,
)
from prd2pr.state.orders import Order, parse_orders

# A push with more commits may list only some of them.
MAX_LISTED_COMMITS = 20
BRANCH_PREFIX = "refs/heads/"
COMMENT_REF = re.compile(r"(?:^|,)([1-9][0-9]{0,15})@([0-9a-f]{32})\.([0-9]{1,16})(?=,|$)")


def compute_text_digest(title: str, body: str) -> str:
    """Return a digest of an issue's text, to detect later whether its author has changed it."""
    return hashlib.sha256(f"{title}\0{body}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True)
class BranchPushed:
    """A branch was created, moved or deleted. Paths are None if the payload does not list them.

    Actions removes the file lists from the payload, so in a job they are always None and must be read with git.
    """

    branch: str
    before: str
    after: str
    added: tuple[str, ...] | None
    modified: tuple[str, ...] | None
    removed: tuple[str, ...] | None
    actor: Actor
    forced: bool = False
    deleted: bool = False

    @property
    def paths(self) -> tuple[str, ...] | None:
        """All changed paths, or None if unknown."""
        if self.added is None or self.modified is None or self.removed is None:
            return None
        return tuple(dict.fromkeys((*self.added, *self.modified, *self.removed)))


@dataclass(frozen=True)
class CommentCreated:
    """A new comment, with the issue's text at that time. The issue's author may have edited it since."""

    number: int
    on_pull: bool
    comment: Comment
    actor: Actor
    title: str = ""
    body: str = ""


@dataclass(frozen=True)
class ReviewSubmitted:
    """A review, or a comment on a line, of a pull request of this repository. Its text is read from GitHub."""

    number: int
    branch: str
    actor: Actor


@dataclass(frozen=True)
class LabelAdded:
    """An added label, with the issue's text at that time. The issue's author may have edited it since."""

    number: int
    on_pull: bool
    label: str
    actor: Actor
    title: str = ""
    body: str = ""


@dataclass(frozen=True)
class WorkflowDispatched:
    """The workflow was started by a person, or by one of our runs to continue its work.

    If one of our runs started it, the actor is a bot.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    actor: Actor | None = None
    ref: str = ""


@dataclass(frozen=True)
class ScheduleTriggered:
    pass


@dataclass(frozen=True)
class CommentRef:
    """A comment or label that the server received: the issue, a digest of its text at that time, and the comment's id.

    The id is 0 for a label.
    """

    number: int
    digest: str
    comment: int = 0


@dataclass(frozen=True)
class ServerDispatched:
    """The App's server starts a run to handle an event or to deliver commands."""

    comment_refs: tuple[CommentRef, ...] = ()
    orders: tuple[Order, ...] = ()
    actor: Actor | None = None


@dataclass(frozen=True)
class PullClosed:
    number: int
    branch: str
    merged: bool
    actor: Actor


@dataclass(frozen=True)
class PullReopened:
    number: int
    branch: str
    actor: Actor


@dataclass(frozen=True)
class AppInstalled:
    """The App was installed on repositories or removed from them."""

    action: str  # `created`, `deleted`, `suspend`, `unsuspend`, `new_permissions_accepted`, `added` or `removed`
    installation: int
    account: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    actor: Actor | None = None


@dataclass(frozen=True)
class EventIgnored:
    reason: str


Event = (
    BranchPushed
    | CommentCreated
    | ReviewSubmitted
    | LabelAdded
    | WorkflowDispatched
    | ScheduleTriggered
    | ServerDispatched
    | PullClosed
    | PullReopened
    | AppInstalled
    | EventIgnored
)


SCHEDULE_REASON = "schedule"  # with which the schedule's own workflow starts this one


def read_event(name: str, payload: object) -> Event:
    """Convert a payload to an event. Never raises: an invalid payload is ignored, and the reason names the problem."""
    if name not in READERS:
        return EventIgnored(f"the event {_printable(name)} is irrelevant")
    if not isinstance(payload, dict):
        return EventIgnored("the payload is not a JSON object")
    try:
        return READERS[name](payload)
    except ValidationError as problem:
        where = ".".join(
            _printable(str(part)) for part in problem.errors(include_input=False, include_url=False)[0]["loc"]
        )
        return EventIgnored(f"the payload of {name} cannot be read at {where or 'its root'}")


def _printable(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text[:60])


def _read_push(payload: dict[str, object]) -> Event:
    read = PushPayload.model_validate(payload)
    if not read.ref.startswith(BRANCH_PREFIX):
        return EventIgnored("a tag was pushed, not a branch")
    if read.sender is None:
        return EventIgnored("the payload does not say who pushed")
    if read.sender.is_bot:
        return _ignore_bot(read.sender)
    all_listed = len(read.commits) < MAX_LISTED_COMMITS and all(commit.tells_files for commit in read.commits)
    return BranchPushed(
        branch=read.ref.removeprefix(BRANCH_PREFIX),
        before=read.before,
        after=read.after,
        added=read.files("added") if all_listed else None,
        modified=read.files("modified") if all_listed else None,
        removed=read.files("removed") if all_listed else None,
        forced=read.forced,
        deleted=read.deleted,
        actor=read.sender.actor,
    )


def _read_comment(payload: dict[str, object]) -> Event:
    if payload.get("action") != "created":
        return EventIgnored(NOT_A_NEW_COMMENT)
    read = CommentPayload.model_validate(payload)
    author, sender = read.comment.user, read.sender
    if author is None or sender is None:
        return EventIgnored("the comment has no author")
    if author.is_bot or sender.is_bot:
        return _ignore_bot(author if author.is_bot else sender)
    if author.id != sender.id:
        return EventIgnored("the comment's author is not the sender of the event")
    number = read.issue.number
    comment = Comment(
        id=read.comment.id,
        number=number,
        author=author.actor,
        body=read.comment.body or "",
        created_at=read.comment.created_at,
        url=read.comment.html_url,
    )
    issue = read.issue
    on_pull = issue.pull_request is not None
    return CommentCreated(number, on_pull, comment, sender.actor, issue.title, issue.body)


def _read_review(payload: dict[str, object]) -> Event:
    if payload.get("action") not in ("submitted", "created"):
        return EventIgnored(NOT_A_NEW_COMMENT)
    read = PullPayload.model_validate(payload)
    if _is_fork(read.pull_request.head, read.pull_request.base):
        return EventIgnored("the pull request comes from a fork")
    if read.sender is None:
        return EventIgnored("the payload does not say who reviewed")
    if read.sender.is_bot:
        return _ignore_bot(read.sender)
    return ReviewSubmitted(read.pull_request.number, read.pull_request.head.ref, read.sender.actor)


def _read_issue(payload: dict[str, object]) -> Event:
    if payload.get("action") != "labeled":
        return EventIgnored(NO_LABEL_ADDED)
    read = IssuePayload.model_validate(payload)
    labelled = _read_label(read, read.issue.number, on_pull=read.issue.pull_request is not None)
    if not isinstance(labelled, LabelAdded):
        return labelled
    return replace(labelled, title=read.issue.title, body=read.issue.body)


def _read_pull(payload: dict[str, object]) -> Event:
    action = payload.get("action")
    if action not in ("labeled", "closed", "reopened"):  # a tuple, because the value may be unhashable
        return EventIgnored(PULL_UNCHANGED)
    read = PullPayload.model_validate(payload)
    if _is_fork(read.pull_request.head, read.pull_request.base):
        return EventIgnored("the pull request comes from a fork")
    if action == "labeled":
        return _read_label(read, read.pull_request.number, on_pull=True)
    if read.sender is None:
        return EventIgnored("the payload does not say who closed or opened it")
    pull = read.pull_request  # bots are not ignored here: one that closes or merges also ends the work
    if action == "reopened":
        return PullReopened(pull.number, pull.head.ref, read.sender.actor)
    return PullClosed(pull.number, pull.head.ref, bool(pull.merged), read.sender.actor)


def _read_label(read: IssuePayload | PullPayload, number: int, *, on_pull: bool) -> Event:
    if read.label is None:
        return EventIgnored("the payload does not say which label")
    if read.sender is None:
        return EventIgnored("the payload does not say who added the label")
    if read.sender.is_bot:
        return _ignore_bot(read.sender)
    return LabelAdded(number, on_pull, read.label.name, read.sender.actor)


def _read_dispatch(payload: dict[str, object]) -> Event:
    read = DispatchPayload.model_validate(payload)
    given = read.inputs if read.inputs is not None else read.client_payload
    inputs = {
        str(key): _input_text(value) for key, value in (given or {}).items() if isinstance(value, str | int | float)
    }
    if inputs.get("delivery"):
        return ServerDispatched(
            tuple(parse_comment_refs(inputs.get("said", ""))),
            orders=parse_orders(inputs.get("orders", "")),
            actor=read.sender.actor if read.sender else None,
        )
    if inputs.get("reason") == SCHEDULE_REASON and not inputs.get("prd"):
        return ScheduleTriggered()
    return WorkflowDispatched(inputs, read.sender.actor if read.sender else None, read.ref)


def parse_comment_refs(text: str) -> Iterator[CommentRef]:
    """Parse references such as `12@digest.34,13@digest.0`, as written by the server. Other text is skipped."""
    for found in COMMENT_REF.finditer(text):
        yield CommentRef(int(found[1]), found[2], int(found[3]))


def format_comment_refs(refs: Iterable[CommentRef]) -> str:
    return ",".join(dict.fromkeys(f"{each.number}@{each.digest}.{each.comment}" for each in refs))


def _input_text(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_schedule(_: dict[str, object]) -> Event:
    return ScheduleTriggered()


def _read_installation(payload: dict[str, object]) -> Event:
    read = InstallationPayload.model_validate(payload)
    return AppInstalled(
        action=read.action,
        installation=read.installation.id,
        account=read.installation.account.login if read.installation.account else "",
        added=tuple(each.full_name for each in (*read.repositories, *read.repositories_added)),
        removed=tuple(each.full_name for each in read.repositories_removed),
        actor=read.sender.actor if read.sender else None,
    )


def _ignore_bot(user: UserPart) -> EventIgnored:
    return EventIgnored(f"{user.login} is a bot")


def _is_fork(head: BranchRef, base: BranchRef) -> bool:
    """Return whether the branch belongs to a fork. Also true if the fork was deleted and its owner is unknown."""
    return head.repo is None or base.repo is None or head.repo.full_name != base.repo.full_name


READERS: dict[str, Callable[[dict[str, object]], Event]] = {
    "push": _read_push,
    "issue_comment": _read_comment,
    "issues": _read_issue,
    "pull_request": _read_pull,
    "pull_request_review": _read_review,
    "pull_request_review_comment": _read_review,
    "workflow_dispatch": _read_dispatch,
    "repository_dispatch": _read_dispatch,
    "schedule": _read_schedule,
    "installation": _read_installation,
    "installation_repositories": _read_installation,
}
