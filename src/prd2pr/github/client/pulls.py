"""Pull requests: find them by branch, open them once, and edit only the fields that differ."""

from __future__ import annotations

from typing import Any

from prd2pr.domain.forge import Pull
from prd2pr.errors import HubProblem
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import check_response, post_call
from prd2pr.github.client.exchange import ApiResponse, RestCall
from prd2pr.github.client.repeatable import edit_differences, find_text_changes
from prd2pr.github.client.repository import RepositoryCalls

TO_DRAFT = "convertPullRequestToDraft"
TO_READY = "markPullRequestReadyForReview"


class PullCalls(RepositoryCalls):
    def pull(self, number: int) -> Pull | None:
        found = self.api.get_optional(self.api.path("pulls", number))
        return None if found is None else json_reader.read_pull(found, self.api.repository)

    def _get_pull(self, number: int) -> Pull:
        return json_reader.read_pull(self.api.get(self.api.path("pulls", number)), self.api.repository)

    def pull_for_branch(self, branch: str, base: str = "") -> Pull | None:
        """Return the open pull request from this branch of this repository, or else the newest closed one.

        Since anyone can open pull requests, one into `base` (the default branch if empty) is accepted only if it is
        ours or if its author has write permission. One into another branch is accepted only if it is ours and its base
        was changed later.
        """
        wanted = base or self.default_branch()

        def counts(each: Pull) -> bool:
            return self._is_trusted(each.author) if each.base == wanted else self._is_ours(each.author)

        newest_open_first = sorted(
            self._list_pulls_from_branch(branch), key=lambda each: (not each.open, each.base != wanted)
        )
        return next(filter(counts, newest_open_first), None)

    def _list_pulls_from_branch(self, branch: str) -> list[Pull]:
        """List the pull requests from this branch, newest first. Branches of forks with the same name are left out."""
        head = f"{self.api.owner}:{branch}"
        found = self.api.pages(self.api.path("pulls"), head=head, state="all", sort="created", direction="desc")
        read = (json_reader.read_pull(each, self.api.repository) for each in found)
        return [each for each in read if not each.from_fork and each.head == branch]

    def open_pull(self, title: str, body: str, head: str, base: str, *, draft: bool) -> Pull:
        """Open a pull request, or return the one that is already open.

        GitHub allows one per branch and base, so one by a person with write permission is accepted too.
        """
        title, body = self.secrets.scrub(title), self.clean(body)

        def look() -> Pull | None:
            found = self.pull_for_branch(head, base)
            return found if found is not None and found.open else None

        there = look()
        if there is not None:
            return there
        # Looking once is enough: GitHub refuses a second pull request from the same branch.
        wanted = {"title": title, "body": body, "head": head, "base": base, "draft": draft}
        call = post_call(self.api.path("pulls"), wanted)
        done = self.api.send_checked(call, look)
        if isinstance(done, Pull):
            return done
        if done.status != 422:
            return self._read_pull(call, done)
        there = look()
        if there is not None:
            return there  # another run was faster
        if draft and "draft" in done.message.lower():  # the repository does not support drafts
            return self.open_pull(title, body, head, base, draft=False)
        foreign = next((each for each in self._list_pulls_from_branch(head) if each.open and each.base == base), None)
        if foreign is not None:
            raise make_foreign_pull_error(foreign)
        return self._read_pull(call, done)

    def _read_pull(self, call: RestCall, answer: ApiResponse) -> Pull:
        return json_reader.read_pull(check_response(call, answer).body, self.api.repository)

    def edit_pull(self, pull: Pull, *, title: str | None = None, body: str | None = None) -> None:
        def missing() -> dict[str, Any]:
            text = None if body is None else self.clean(body)
            return find_text_changes(self._get_pull(pull.number), title, text, self.secrets)

        edit_differences(self.api, self.api.path("pulls", pull.number), missing)

    def set_draft(self, pull: Pull, *, draft: bool) -> None:
        """Mark the pull request as a draft or as ready. REST accepts `draft` only on creation, so this uses GraphQL."""

        def there() -> bool | None:
            found = self._get_pull(pull.number)
            return True if found.draft is draft or not found.open else None

        if there():
            return
        call = draft_call(self._get_pull(pull.number).node_id, draft=draft)
        self.api.create_or_find(call, there, lambda _: True)

    def enable_auto_merge(self, pull: Pull, method: str) -> None:
        """Let GitHub merge the pull request once all requirements of its base are met."""

        def there() -> bool | None:
            found = self.api.get(self.api.path("pulls", pull.number))
            return True if found.get("auto_merge") or found.get("merged_at") else None

        if not there():
            self.api.create_or_find(auto_merge_call(pull.node_id, method), there, lambda _: True)


def make_foreign_pull_error(foreign: Pull) -> HubProblem:
    return HubProblem(
        f"{foreign.author.login}, who has no write permission, opened #{foreign.number} from {foreign.head} into "
        f"{foreign.base}, and GitHub allows only one such pull request",
        where=foreign.url,
        remedy=f"Close #{foreign.number}; the next run opens its own. The branch with all proved commits is pushed.",
    )


def auto_merge_call(node_id: str, method: str) -> RestCall:
    query = (
        "mutation($id: ID!, $method: PullRequestMergeMethod!) { enablePullRequestAutoMerge("
        "input: {pullRequestId: $id, mergeMethod: $method}) { pullRequest { number } } }"
    )
    return RestCall("POST", "/graphql", body={"query": query, "variables": {"id": node_id, "method": method.upper()}})


def draft_call(node_id: str, *, draft: bool) -> RestCall:
    mutation = TO_DRAFT if draft else TO_READY
    query = f"mutation($id: ID!) {{ {mutation}(input: {{pullRequestId: $id}}) {{ pullRequest {{ isDraft }} }} }}"
    return RestCall("POST", "/graphql", body={"query": query, "variables": {"id": node_id}})
