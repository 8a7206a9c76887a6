"""One repository on GitHub: what the bot reads and writes there.

Every write may be repeated: it first looks for what is already there. Outgoing texts are scrubbed of secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from prd2pr.domain.ci import CheckResult
from prd2pr.domain.forge import (
    Actor,
    Annotation,
    BotIdentities,
    CheckRun,
    Comment,
    Issue,
    Label,
    LabelEvent,
    PermissionLevel,
    Pull,
    Reaction,
    has_level,
)
from prd2pr.domain.secrets import Secrets
from prd2pr.github.client import checks, comments, issues, json_reader, pulls
from prd2pr.github.client.calls import RepositoryApi, check_response, post_call
from prd2pr.github.client.errors import classify_error
from prd2pr.github.client.exchange import ApiResponse, RestCall, join_path
from prd2pr.github.client.tokens import TokenSource
from prd2pr.github.client.workflow_runs import list_unfinished_jobs

GITHUB_ACTIONS = Actor("github-actions[bot]", 41898282, bot=True)


def sync_labels(api: RepositoryApi, number: int, wanted: tuple[Label, ...], among: tuple[str, ...]) -> None:
    """GitHub treats names that differ only in case as the same."""
    there = list_issue_labels(api, number)
    names = {label.name.lower() for label in wanted}
    for name in sorted(there & ({each.lower() for each in among} - names)):
        remove_label(api, number, name)
    missing = tuple(label for label in wanted if label.name.lower() not in there)
    for label in missing:
        ensure_label(api, label)
    if missing:
        add_labels(api, number, tuple(label.name for label in missing))


def list_issue_labels(api: RepositoryApi, number: int) -> set[str]:
    return {str(each["name"]).lower() for each in api.pages(api.path("issues", number, "labels"))}


def remove_label(api: RepositoryApi, number: int, name: str) -> None:
    """Remove the label; it may be gone already."""
    call = RestCall("DELETE", api.path("issues", number, "labels", name))
    done = api.send_checked(call, lambda: None if name in list_issue_labels(api, number) else True)
    if isinstance(done, ApiResponse) and done.status != 404:
        check_response(call, done)


def add_labels(api: RepositoryApi, number: int, names: tuple[str, ...]) -> None:
    wanted = {name.lower() for name in names}
    call = post_call(api.path("issues", number, "labels"), {"labels": list(names)})
    api.create_or_find(call, lambda: True if wanted <= list_issue_labels(api, number) else None, lambda _: True)


def ensure_label(api: RepositoryApi, label: Label) -> None:
    def there() -> bool | None:
        return None if api.get_optional(api.path("labels", label.name)) is None else True

    if there():
        return
    body = {"name": label.name, "color": label.color, "description": label.description}
    call = post_call(api.path("labels"), body)
    done = api.send_checked(call, there)
    if isinstance(done, ApiResponse) and not (done.status == 422 and "already_exists" in done.message):
        check_response(call, done)


class GitHubHub:
    """One repository. Opened by `factory.open_hub`; `close` or `with` ends its connection."""

    def __init__(
        self,
        api: RepositoryApi,
        source: TokenSource,
        close: Callable[[], None],
        say: Callable[[str], None],
        secrets: Secrets,
    ) -> None:
        self.api = api
        self.secrets = secrets
        self._log = say
        self.close = close
        self._source = source
        self._me: Actor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _scrub_changes(self, **texts: str | None) -> dict[str, str | None]:
        return {name: text if text is None else self.secrets.scrub(text) for name, text in texts.items()}

    # --- people -------------------------------------------------------------------------------------------------------

    def me(self) -> Actor:
        """Return the account that our comments and pull requests carry."""
        if self._me is None:
            self._me = self._fetch_me()
        return self._me

    def ours(self) -> BotIdentities:
        """Return `me` and the other accounts that may have started the same work; what they wrote is continued.

        A workflow of this repository may have started what an App continues. Others could copy a marker.
        """
        return tuple({actor.id: actor for actor in (self.me(), GITHUB_ACTIONS)}.values())

    def _fetch_me(self) -> Actor:
        login = self._source.login()
        if login:
            return json_reader.read_actor(self.api.get(join_path("users", login)))
        answer = self.api.get_response(join_path("user"))
        if answer.status == 200:
            return json_reader.read_actor(answer.body)
        # A workflow's own token belongs to no user: GitHub responds with 403.
        if answer.status == 403:
            return GITHUB_ACTIONS
        raise classify_error(RestCall("GET", join_path("user")), answer)

    def permission(self, login: str) -> PermissionLevel:
        found = self.api.get_optional(self.api.path("collaborators", login, "permission"))
        return "none" if found is None else json_reader.read_level(found)

    def default_branch(self) -> str:
        return str(self.api.get(join_path("repos", self.api.owner, self.api.name))["default_branch"])

    # --- issues -------------------------------------------------------------------------------------------------------

    def issue(self, number: int) -> Issue | None:
        return issues.fetch_issue(self.api, number)

    def issues_labelled(self, label: str) -> tuple[Issue, ...]:
        return issues.list_labelled_issues(self.api, label)

    def last_labelling(self, number: int, label: str) -> LabelEvent | None:
        """Return who added this label to the issue last, and when; None if GitHub does not say."""
        return issues.find_last_labelling(self.api, number, label)

    def find_issue(self, marker: str) -> Issue | None:
        """Return our issue with `marker` in its body."""
        return issues.find_marked_issue(self.api, self.ours(), marker)

    def open_issue(self, title: str, body: str, labels: tuple[str, ...], *, marker: str) -> Issue:
        return issues.ensure_issue(
            self.api, self.ours(), self.secrets.scrub(title), self.secrets.scrub(body), labels=labels, marker=marker
        )

    def edit_issue(
        self, number: int, *, title: str | None = None, body: str | None = None, closed: bool | None = None
    ) -> None:
        issues.edit_issue(self.api, number, **self._scrub_changes(title=title, body=body), closed=closed)

    def sub_issues(self, number: int) -> tuple[Issue, ...]:
        return issues.list_sub_issues(self.api, number)

    def add_sub_issue(self, number: int, child: Issue) -> None:
        issues.add_sub_issue(self.api, number, child)

    # --- pull requests ------------------------------------------------------------------------------------------------

    def pull(self, number: int) -> Pull | None:
        return pulls.fetch_pull(self.api, number)

    def pull_for_branch(self, branch: str, base: str = "") -> Pull | None:
        """Return the open pull request from this branch of this repository; else the newest closed one.

        One into `base` (empty: the default branch) counts if it is ours or by someone with write permission, since
        anyone can open others. One into another branch counts only if it is ours: its base was changed.
        """
        return pulls.find_pull_for_branch(self.api, branch, base or self.default_branch(), self._authors())

    def _authors(self) -> pulls.Authors:
        """GitHub allows one pull request per branch and base, so one by a writer is accepted too."""
        return pulls.Authors(self._trusts, self._is_ours)

    def _trusts(self, author: Actor) -> bool:
        return self._is_ours(author) or has_level(self.permission(author.login), "write")

    def _is_ours(self, author: Actor) -> bool:
        return author.id in {each.id for each in self.ours()}

    def open_pull(self, title: str, body: str, head: str, base: str, *, draft: bool) -> Pull:
        return pulls.ensure_pull(
            self.api,
            self.secrets.scrub(title),
            self.secrets.scrub(body),
            head,
            base,
            draft=draft,
            authors=self._authors(),
        )

    def edit_pull(self, pull: Pull, *, title: str | None = None, body: str | None = None) -> None:
        pulls.edit_pull(self.api, pull.number, **self._scrub_changes(title=title, body=body))

    def set_draft(self, pull: Pull, *, draft: bool) -> None:
        pulls.set_draft(self.api, pull.number, draft=draft)

    # --- comments -----------------------------------------------------------------------------------------------------

    def comments(self, number: int, after: int = 0) -> tuple[Comment, ...]:
        """Return the comments with ids above `after`, ordered by id."""
        return comments.list_comments(self.api, number, after)

    def find_comment(self, number: int, marker: str) -> Comment | None:
        """Return our comment with `marker` in it."""
        return comments.find_marked_comment(self.api, self.ours(), number, marker)

    def comment(self, number: int, body: str, *, marker: str) -> Comment:
        """Post a comment, or return ours with this marker if there is one."""
        return comments.ensure_comment(self.api, self.ours(), number, self.secrets.scrub(body), marker)

    def edit_comment(self, comment: int, body: str) -> None:
        if not comments.edit_comment(self.api, self.me(), comment, self.secrets.scrub(body)):
            self._log(
                "GitHub does not allow editing a comment by our earlier account: a new comment was posted instead"
            )

    def has_reaction(self, comment: int, reaction: Reaction) -> bool:
        """Return whether the comment has this reaction of ours."""
        return comments.has_reaction(
            self.api, self.ours(), self.api.path("issues", "comments", comment, "reactions"), reaction
        )

    def react(self, comment: int, reaction: Reaction) -> None:
        comments.add_reaction(self.api, self.me(), self.api.path("issues", "comments", comment, "reactions"), reaction)

    def react_to_issue(self, number: int, reaction: Reaction) -> None:
        comments.add_reaction(self.api, self.me(), self.api.path("issues", number, "reactions"), reaction)

    # --- labels, checks and workflows ---------------------------------------------------------------------------------

    def set_labels(self, number: int, wanted: tuple[Label, ...], among: tuple[str, ...]) -> None:
        """Give the issue or pull request exactly `wanted` of the labels in `among`; leave other labels alone."""
        sync_labels(self.api, number, wanted, among)

    def check(self, check: CheckRun) -> None:
        scrub = self.secrets.scrub
        annotations = tuple(map(self._scrub_annotation, check.annotations))
        scrubbed = replace(check, title=scrub(check.title), summary=scrub(check.summary), annotations=annotations)
        checks.publish_check_run(self.api, self.me(), scrubbed)

    def _scrub_annotation(self, each: Annotation) -> Annotation:
        scrub = self.secrets.scrub
        return replace(each, path=scrub(each.path), message=scrub(each.message), title=scrub(each.title))

    def check_results(self, sha: str) -> tuple[CheckResult, ...]:
        """Return all checks of a commit. Ours have `domain.ci.OUR_CHECKS` as their App."""
        return checks.list_check_results(self.api, sha)

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """If the response is lost, a newer run counts as ours: any run executes all pending commands."""
        before = self._newest_run(workflow)

        def look() -> bool | None:
            return True if self._newest_run(workflow) > before else None

        scrubbed = {name: self.secrets.scrub(value) for name, value in inputs.items()}
        call = post_call(
            self.api.path("actions", "workflows", workflow, "dispatches"), {"ref": ref, "inputs": scrubbed}
        )
        self.api.create_or_find(call, look, lambda _: True)

    def active_runs(self, workflow: str) -> frozenset[str]:
        """Return the ids of this workflow's active runs, ours included."""
        found = self.api.get_optional(
            self.api.path("actions", "workflows", workflow, "runs"), status="in_progress", per_page=100
        )
        return frozenset(str(each["id"]) for each in (found["workflow_runs"] if found else ()))

    def active_jobs(self, workflow: str, *, besides: str) -> frozenset[str]:
        """Return the names of the unfinished jobs of these runs, except for one run."""
        runs = sorted(self.active_runs(workflow) - {besides})
        return frozenset(name for run in runs for name in list_unfinished_jobs(self.api, run))

    def _newest_run(self, workflow: str) -> int:
        found = self.api.get_optional(
            self.api.path("actions", "workflows", workflow, "runs"), event="workflow_dispatch", per_page=1
        )
        runs = found["workflow_runs"] if found else []
        return int(runs[0]["id"]) if runs else 0
