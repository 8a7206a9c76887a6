"""What happened on the code host: a payload becomes one of a few small types here, and no payload exists past this.

The models read only what is needed, so that a payload of a shape that nobody foresaw is ignored with a reason and
never an exception. Whether the actor may do what the event asks for is `core/permission.py`'s question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from prd2pr.core.event_payloads import (
    BranchRef,
    CommentPayload,
    DispatchPayload,
    InstallationPayload,
    IssuePayload,
    Payload,
    PullPayload,
    PushPayload,
    UserPart,
)
from prd2pr.core.hub import Actor, Comment
from prd2pr.core.orders import Order, read_orders

# Beyond this many commits a push may not list all of them.
MOST_LISTED_COMMITS = 20
BRANCH_PREFIX = "refs/heads/"
SAID = re.compile(r"(?:^|,)([1-9][0-9]{0,15})@([0-9a-f]{32})\.([0-9]{1,16})(?=,|$)")


@dataclass(frozen=True)
class Pushed:
    """A branch was made, moved or deleted. The paths are None where the payload does not tell: ask git then.

    Actions strips the lists of files from the payload that it hands to a job, so there they are always None.
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
    repository: str = ""
    default_branch: str = ""

    @property
    def paths(self) -> tuple[str, ...] | None:
        """Every path that was touched, or None for unknown."""
        if self.added is None or self.modified is None or self.removed is None:
            return None
        return tuple(dict.fromkeys((*self.added, *self.modified, *self.removed)))


@dataclass(frozen=True)
class Commented:
    """With the text of the issue as it was then: its author may have edited it since."""

    number: int
    on_pull: bool
    comment: Comment
    actor: Actor
    title: str = ""
    body: str = ""
    repository: str = ""
    default_branch: str = ""


@dataclass(frozen=True)
class Labelled:
    """The text is what the person saw who gave the label: its author may have edited it since."""

    number: int
    on_pull: bool
    label: str
    actor: Actor
    title: str = ""
    body: str = ""
    repository: str = ""
    default_branch: str = ""


@dataclass(frozen=True)
class Dispatched:
    """Started by hand, or by a run of ours that goes on in a new one: then the actor is a bot."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    actor: Actor | None = None
    ref: str = ""
    repository: str = ""
    default_branch: str = ""


@dataclass(frozen=True)
class Scheduled:
    pass


@dataclass(frozen=True)
class Said:
    """Where something was said: under which issue, what text that had then, and by which comment (0: by a label)."""

    number: int
    digest: str
    comment: int = 0


@dataclass(frozen=True)
class Stirred:
    """The App's server saw something happen, and has a run look what; or it brings orders, and who sent it counts."""

    said: tuple[Said, ...] = ()
    repository: str = ""
    default_branch: str = ""
    orders: tuple[Order, ...] = ()
    actor: Actor | None = None


@dataclass(frozen=True)
class PullClosed:
    number: int
    branch: str
    merged: bool
    actor: Actor
    repository: str = ""
    default_branch: str = ""


@dataclass(frozen=True)
class PullReopened:
    number: int
    branch: str
    actor: Actor
    repository: str = ""
    default_branch: str = ""


@dataclass(frozen=True)
class Installed:
    """The App came to repositories, or left them."""

    action: str  # created, deleted, suspend, unsuspend, new_permissions_accepted, added, removed
    installation: int
    account: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    actor: Actor | None = None


@dataclass(frozen=True)
class Ignored:
    reason: str


Event = (
    Pushed | Commented | Labelled | Dispatched | Scheduled | Stirred | PullClosed | PullReopened | Installed | Ignored
)


def read_event(name: str, payload: object) -> Event:
    """Never raises: what cannot be read is ignored, and the reason says what is missing."""
    if name not in READERS:
        return Ignored(f"the event {_short(name)} starts nothing")
    if not isinstance(payload, dict):
        return Ignored("the payload is not a JSON object")
    try:
        return READERS[name](payload)
    except ValidationError as problem:
        where = ".".join(_short(str(part)) for part in problem.errors(include_input=False, include_url=False)[0]["loc"])
        return Ignored(f"the payload of {name} cannot be read at {where or 'its root'}")


def _short(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text[:60])


def _push(payload: dict[str, object]) -> Event:
    read = PushPayload.model_validate(payload)
    if not read.ref.startswith(BRANCH_PREFIX):
        return Ignored("a tag was pushed, not a branch")
    if read.sender is None:
        return Ignored("the payload does not say who pushed")
    if read.sender.is_bot:
        return _from_bot(read.sender)
    all_listed = len(read.commits) < MOST_LISTED_COMMITS and all(commit.tells_files for commit in read.commits)
    return Pushed(
        branch=read.ref.removeprefix(BRANCH_PREFIX),
        before=read.before,
        after=read.after,
        added=read.files("added") if all_listed else None,
        modified=read.files("modified") if all_listed else None,
        removed=read.files("removed") if all_listed else None,
        forced=read.forced,
        deleted=read.deleted,
        actor=read.sender.actor,
        repository=read.repository.full_name,
        default_branch=read.repository.default_branch,
    )


def _comment(payload: dict[str, object]) -> Event:
    if payload.get("action") != "created":
        return Ignored("only new comments count, not edited or deleted ones")
    read = CommentPayload.model_validate(payload)
    author, sender = read.comment.user, read.sender
    if author is None or sender is None:
        return Ignored("the comment has no author")
    if author.is_bot or sender.is_bot:
        return _from_bot(author if author.is_bot else sender)
    if author.id != sender.id:
        return Ignored("the comment's author is not who sent it")
    number = read.issue.number
    said = Comment(
        id=read.comment.id,
        number=number,
        author=author.actor,
        body=read.comment.body or "",
        created_at=read.comment.created_at,
        url=read.comment.html_url,
    )
    issue = read.issue
    on_pull = issue.pull_request is not None
    return Commented(number, on_pull, said, sender.actor, issue.title, issue.body, **_home(read))


def _issue(payload: dict[str, object]) -> Event:
    if payload.get("action") != "labeled":
        return Ignored("no label was added")
    read = IssuePayload.model_validate(payload)
    labelled = _labelled(read, read.issue.number, on_pull=read.issue.pull_request is not None)
    if not isinstance(labelled, Labelled):
        return labelled
    return replace(labelled, title=read.issue.title, body=read.issue.body)


def _pull(payload: dict[str, object]) -> Event:
    action = payload.get("action")
    if action not in ("labeled", "closed", "reopened"):  # a tuple: whatever the payload holds can be compared
        return Ignored("the pull request was neither closed, opened again nor given a label")
    read = PullPayload.model_validate(payload)
    if _is_fork(read.pull_request.head, read.pull_request.base):
        return Ignored("the pull request comes from a fork")
    if action == "labeled":
        return _labelled(read, read.pull_request.number, on_pull=True)
    if read.sender is None:
        return Ignored("the payload does not say who closed or opened it")
    pull = read.pull_request  # a bot may close or merge: that ends the work just as well
    if action == "reopened":
        return PullReopened(pull.number, pull.head.ref, read.sender.actor, **_home(read))
    return PullClosed(pull.number, pull.head.ref, bool(pull.merged), read.sender.actor, **_home(read))


def _labelled(read: IssuePayload | PullPayload, number: int, *, on_pull: bool) -> Event:
    if read.label is None:
        return Ignored("the payload does not say which label")
    if read.sender is None:
        return Ignored("the payload does not say who gave the label")
    if read.sender.is_bot:
        return _from_bot(read.sender)
    return Labelled(number, on_pull, read.label.name, read.sender.actor, **_home(read))


def _dispatch(payload: dict[str, object]) -> Event:
    read = DispatchPayload.model_validate(payload)
    given = read.inputs if read.inputs is not None else read.client_payload
    inputs = {str(key): _input(value) for key, value in (given or {}).items() if isinstance(value, str | int | float)}
    if inputs.get("delivery"):
        return Stirred(
            tuple(read_said(inputs.get("said", ""))),
            **_home(read),
            orders=read_orders(inputs.get("orders", "")),
            actor=read.sender.actor if read.sender else None,
        )
    return Dispatched(inputs, read.sender.actor if read.sender else None, read.ref, **_home(read))


def read_said(text: str) -> Iterator[Said]:
    """`12@digest.34,13@digest.0`: as the server writes it; what has another form is passed over."""
    for found in SAID.finditer(text):
        yield Said(int(found[1]), found[2], int(found[3]))


def written_said(said: Iterable[Said]) -> str:
    return ",".join(dict.fromkeys(f"{each.number}@{each.digest}.{each.comment}" for each in said))


def _input(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _schedule(_: dict[str, object]) -> Event:
    return Scheduled()


def _installation(payload: dict[str, object]) -> Event:
    read = InstallationPayload.model_validate(payload)
    return Installed(
        action=read.action,
        installation=read.installation.id,
        account=read.installation.account.login if read.installation.account else "",
        added=tuple(each.full_name for each in (*read.repositories, *read.repositories_added)),
        removed=tuple(each.full_name for each in read.repositories_removed),
        actor=read.sender.actor if read.sender else None,
    )


def _from_bot(user: UserPart) -> Ignored:
    return Ignored(f"{user.login} is a bot")


def _is_fork(head: BranchRef, base: BranchRef) -> bool:
    """Also where the fork is gone: then nobody can say whose branch it was."""
    return head.repo is None or base.repo is None or head.repo.full_name != base.repo.full_name


def _home(read: Payload) -> dict[str, str]:
    return {"repository": read.repository.full_name, "default_branch": read.repository.default_branch}


READERS: dict[str, Callable[[dict[str, object]], Event]] = {
    "push": _push,
    "issue_comment": _comment,
    "issues": _issue,
    "pull_request": _pull,
    "workflow_dispatch": _dispatch,
    "repository_dispatch": _dispatch,
    "schedule": _schedule,
    "installation": _installation,
    "installation_repositories": _installation,
}
