"""Pull requests: found by their branch, opened once, edited where they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prd2pr.domain.forge import Actor, Pull, is_same_text
from prd2pr.errors import HubProblem
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import RepositoryApi, check_response, patch_call, post_call
from prd2pr.github.client.exchange import ApiResponse, RestCall

TO_DRAFT = "convertPullRequestToDraft"
TO_READY = "markPullRequestReadyForReview"


def fetch_pull(api: RepositoryApi, number: int) -> Pull | None:
    found = api.get_optional(api.path("pulls", number))
    return None if found is None else json_reader.read_pull(found, api.repository)


AuthorCheck = Callable[[Actor], bool]


@dataclass(frozen=True)
class Authors:
    trusted: AuthorCheck  # we and people with write permission: anyone can open a pull request from a branch
    ours: AuthorCheck  # we, under any of our accounts


def find_pull_for_branch(api: RepositoryApi, branch: str, base: str, authors: Authors) -> Pull | None:
    """Return the open one, else the newest closed one. Ours still counts after its base was changed."""

    def counts(each: Pull) -> bool:
        return authors.trusted(each.author) if each.base == base else authors.ours(each.author)

    newest_open_first = sorted(
        _list_pulls_from_branch(api, branch), key=lambda each: (not each.open, each.base != base)
    )
    return next(filter(counts, newest_open_first), None)


def _list_pulls_from_branch(api: RepositoryApi, branch: str) -> list[Pull]:
    """Return the newest first. A fork's branch of the same name is another branch."""
    found = api.pages(api.path("pulls"), head=f"{api.owner}:{branch}", state="all", sort="created", direction="desc")
    read = (json_reader.read_pull(each, api.repository) for each in found)
    return [each for each in read if not each.from_fork and each.head == branch]


def ensure_pull(
    api: RepositoryApi, title: str, body: str, head: str, base: str, *, draft: bool, authors: Authors
) -> Pull:
    def look() -> Pull | None:
        found = find_pull_for_branch(api, head, base, authors)
        return found if found is not None and found.open else None

    there = look()
    if there is not None:
        return there
    # One look is enough: GitHub refuses a second pull request from the same branch.
    call = post_call(api.path("pulls"), {"title": title, "body": body, "head": head, "base": base, "draft": draft})
    done = api.send_checked(call, look)
    if isinstance(done, Pull):
        return done
    if done.status != 422:
        return _read_pull(api, call, done)
    there = look()
    if there is not None:
        return there  # another run was faster
    if draft and "draft" in done.message.lower():  # the repository does not support drafts
        return ensure_pull(api, title, body, head, base, draft=False, authors=authors)
    foreign = next((each for each in _list_pulls_from_branch(api, head) if each.open and each.base == base), None)
    if foreign is not None:
        raise make_foreign_pull_error(foreign)
    return _read_pull(api, call, done)


def make_foreign_pull_error(foreign: Pull) -> HubProblem:
    return HubProblem(
        f"{foreign.author.login}, who has no write permission, opened #{foreign.number} from {foreign.head} into "
        f"{foreign.base}, and GitHub allows only one such pull request",
        where=foreign.url,
        remedy=f"Close #{foreign.number}; the next run opens its own. The branch with all proved commits is pushed.",
    )


def _read_pull(api: RepositoryApi, call: RestCall, answer: ApiResponse) -> Pull:
    return json_reader.read_pull(check_response(call, answer).body, api.repository)


def edit_pull(api: RepositoryApi, number: int, title: str | None, body: str | None) -> None:
    def missing() -> dict[str, Any]:
        there = json_reader.read_pull(api.get(api.path("pulls", number)), api.repository)
        return pull_changes(there, title, body)

    changes = missing()
    if changes:
        call = patch_call(api.path("pulls", number), changes)
        api.create_or_find(call, lambda: None if missing() else True, lambda _: True)


def pull_changes(there: Pull, title: str | None, body: str | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if title is not None and title != there.title:
        changes["title"] = title
    if body is not None and not is_same_text(body, there.body):
        changes["body"] = body
    return changes


def set_draft(api: RepositoryApi, number: int, *, draft: bool) -> None:
    """Only GraphQL can; REST takes `draft` only when opening."""

    def there() -> Pull | None:
        found = json_reader.read_pull(api.get(api.path("pulls", number)), api.repository)
        return found if found.draft is draft or not found.open else None

    if there() is not None:
        return
    node = json_reader.read_pull(api.get(api.path("pulls", number)), api.repository).node_id
    api.create_or_find(draft_call(node, draft=draft), lambda: True if there() else None, lambda _: True)


def draft_call(node_id: str, *, draft: bool) -> RestCall:
    mutation = TO_DRAFT if draft else TO_READY
    query = f"mutation($id: ID!) {{ {mutation}(input: {{pullRequestId: $id}}) {{ pullRequest {{ isDraft }} }} }}"
    return RestCall("POST", "/graphql", body={"query": query, "variables": {"id": node_id}})
