"""Pull requests: found by their branch, opened once, edited where they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prd2pr.core.hub import Actor, Pull, same_text
from prd2pr.errors import HubProblem
from prd2pr.forges.github import reading
from prd2pr.forges.github.exchange import Answer, Call
from prd2pr.forges.github.wire import Wire, changing, good, posting

TO_DRAFT = "convertPullRequestToDraft"
TO_READY = "markPullRequestReadyForReview"


def pull(wire: Wire, number: int) -> Pull | None:
    found = wire.find(wire.at("pulls", number))
    return None if found is None else reading.pull(found, wire.repository)


Trusts = Callable[[Actor], bool]


@dataclass(frozen=True)
class Authors:
    trusted: Trusts  # we, and whoever may write: anybody can open a pull request from a branch
    ours: Trusts  # we, under whatever name


def of_branch(wire: Wire, branch: str, base: str, authors: Authors) -> Pull | None:
    """The open one; else the newest closed one. One of ours stays the one if somebody gives it another base."""

    def counts(each: Pull) -> bool:
        return authors.trusted(each.author) if each.base == base else authors.ours(each.author)

    newest_open_first = sorted(_from_branch(wire, branch), key=lambda each: (not each.open, each.base != base))
    return next(filter(counts, newest_open_first), None)


def _from_branch(wire: Wire, branch: str) -> list[Pull]:
    """Newest first. A fork's branch of the same name is another branch."""
    found = wire.pages(wire.at("pulls"), head=f"{wire.owner}:{branch}", state="all", sort="created", direction="desc")
    read = (reading.pull(each, wire.repository) for each in found)
    return [each for each in read if not each.from_fork and each.head == branch]


def ensure(wire: Wire, title: str, body: str, head: str, base: str, *, draft: bool, authors: Authors) -> Pull:
    def look() -> Pull | None:
        found = of_branch(wire, head, base, authors)
        return found if found is not None and found.open else None

    there = look()
    if there is not None:
        return there
    # One look is enough here: GitHub itself refuses a second pull request from the same branch.
    call = posting(wire.at("pulls"), {"title": title, "body": body, "head": head, "base": base, "draft": draft})
    done = wire.attempt(call, look)
    if isinstance(done, Pull):
        return done
    if done.status != 422:
        return _read(wire, call, done)
    there = look()
    if there is not None:
        return there  # another run was quicker
    if draft and "draft" in done.message.lower():  # the repository knows none
        return ensure(wire, title, body, head, base, draft=False, authors=authors)
    foreign = next((each for each in _from_branch(wire, head) if each.open and each.base == base), None)
    if foreign is not None:
        raise taken_by(foreign)
    return _read(wire, call, done)


def taken_by(foreign: Pull) -> HubProblem:
    return HubProblem(
        f"{foreign.author.login}, who may not write here, has opened #{foreign.number} from {foreign.head} into "
        f"{foreign.base}, and GitHub allows one such pull request",
        where=foreign.url,
        remedy=f"Close #{foreign.number}; the next run opens its own. The branch with all proved commits is pushed.",
    )


def _read(wire: Wire, call: Call, answer: Answer) -> Pull:
    return reading.pull(good(call, answer).body, wire.repository)


def edit(wire: Wire, number: int, title: str | None, body: str | None) -> None:
    def missing() -> dict[str, Any]:
        there = reading.pull(wire.get(wire.at("pulls", number)), wire.repository)
        return wanted_changes(there, title, body)

    changes = missing()
    if changes:
        call = changing(wire.at("pulls", number), changes)
        wire.make(call, lambda: None if missing() else True, lambda _: True)


def wanted_changes(there: Pull, title: str | None, body: str | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if title is not None and title != there.title:
        changes["title"] = title
    if body is not None and not same_text(body, there.body):
        changes["body"] = body
    return changes


def set_draft(wire: Wire, number: int, *, draft: bool) -> None:
    """Only GraphQL can; REST takes `draft` when opening alone."""

    def there() -> Pull | None:
        found = reading.pull(wire.get(wire.at("pulls", number)), wire.repository)
        return found if found.draft is draft or not found.open else None

    if there() is not None:
        return
    node = reading.pull(wire.get(wire.at("pulls", number)), wire.repository).node_id
    wire.make(draft_call(node, draft=draft), lambda: True if there() else None, lambda _: True)


def draft_call(node_id: str, *, draft: bool) -> Call:
    mutation = TO_DRAFT if draft else TO_READY
    query = f"mutation($id: ID!) {{ {mutation}(input: {{pullRequestId: $id}}) {{ pullRequest {{ isDraft }} }} }}"
    return Call("POST", "/graphql", body={"query": query, "variables": {"id": node_id}})
