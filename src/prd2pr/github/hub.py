"""The GitHub interface: what the bot reads and writes on a repository, one protocol per subject.

Every write may be repeated: it first looks for what is already there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from prd2pr.domain.ci import CheckResult
from prd2pr.domain.forge import (
    Actor,
    BotIdentities,
    CheckRun,
    Comment,
    Issue,
    Label,
    LabelEvent,
    PermissionLevel,
    Pull,
    Reaction,
)


class IdentityApi(Protocol):
    """Who the bot is, and what people may do."""

    def me(self) -> Actor:
        """Return the account that our comments and pull requests carry."""
        ...

    def ours(self) -> BotIdentities:
        """Return `me` and the other accounts that may have started the same work; what they wrote is continued."""
        ...

    def permission(self, login: str) -> PermissionLevel: ...

    def default_branch(self) -> str: ...


class IssueApi(Protocol):
    def issue(self, number: int) -> Issue | None: ...

    def issues_labelled(self, label: str) -> tuple[Issue, ...]: ...

    def find_issue(self, marker: str) -> Issue | None:
        """Return our issue with `marker` in its body."""
        ...

    def open_issue(self, title: str, body: str, labels: tuple[str, ...], *, marker: str) -> Issue: ...

    def edit_issue(
        self, number: int, *, title: str | None = None, body: str | None = None, closed: bool | None = None
    ) -> None: ...

    def sub_issues(self, number: int) -> tuple[Issue, ...]: ...

    def add_sub_issue(self, number: int, child: Issue) -> None: ...

    def react_to_issue(self, number: int, reaction: Reaction) -> None: ...


class LabelApi(Protocol):
    def last_labelling(self, number: int, label: str) -> LabelEvent | None:
        """Return who added this label to the issue last, and when; None if GitHub does not say."""
        ...

    def set_labels(self, number: int, wanted: tuple[Label, ...], among: tuple[str, ...]) -> None:
        """Give the issue or pull request exactly `wanted` of the labels in `among`; leave other labels alone."""
        ...


class PullApi(Protocol):
    def pull(self, number: int) -> Pull | None: ...

    def pull_for_branch(self, branch: str, base: str = "") -> Pull | None:
        """Return the open pull request from this branch of this repository; else the newest closed one.

        One into `base` (empty: the default branch) counts if it is ours or by someone with write permission, since
        anyone can open others. One into another branch counts only if it is ours: its base was changed.
        """
        ...

    def open_pull(self, title: str, body: str, head: str, base: str, *, draft: bool) -> Pull: ...

    def edit_pull(self, pull: Pull, *, title: str | None = None, body: str | None = None) -> None: ...

    def set_draft(self, pull: Pull, *, draft: bool) -> None: ...


class CommentApi(Protocol):
    def comments(self, number: int, after: int = 0) -> tuple[Comment, ...]:
        """Return the comments with ids above `after`, ordered by id."""
        ...

    def find_comment(self, number: int, marker: str) -> Comment | None:
        """Return our comment with `marker` in it."""
        ...

    def comment(self, number: int, body: str, *, marker: str) -> Comment:
        """Post a comment, or return ours with this marker if there is one."""
        ...

    def edit_comment(self, comment: int, body: str) -> None: ...

    def has_reaction(self, comment: int, reaction: Reaction) -> bool:
        """Return whether the comment has this reaction of ours."""
        ...

    def react(self, comment: int, reaction: Reaction) -> None: ...


class CheckApi(Protocol):
    def check(self, check: CheckRun) -> None: ...

    def check_results(self, sha: str) -> tuple[CheckResult, ...]:
        """Return all checks of a commit. Ours have `domain.ci.OUR_CHECKS` as their App."""
        ...


class WorkflowApi(Protocol):
    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None: ...

    def active_runs(self, workflow: str) -> frozenset[str]:
        """Return the ids of this workflow's active runs, ours included."""
        ...

    def active_jobs(self, workflow: str, *, besides: str) -> frozenset[str]:
        """Return the names of the unfinished jobs of these runs, except for one run."""
        ...


class Hub(IdentityApi, IssueApi, LabelApi, PullApi, CommentApi, CheckApi, WorkflowApi, Protocol):
    """All of it: one repository on GitHub."""
