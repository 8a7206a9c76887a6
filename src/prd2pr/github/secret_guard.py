"""A hub that redacts secrets: every outgoing text is scrubbed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
)
from prd2pr.domain.secrets import Secrets
from prd2pr.github.hub import Hub


@dataclass
class GuardedHub:
    hub: Hub
    secrets: Secrets
    redacted: int = field(default=0, init=False)  # number of places so far

    def _clean(self, text: str) -> str:
        scrubbed = self.secrets.scrub(text)
        self.redacted += scrubbed.redactions
        return scrubbed.text

    def _scrub_optional(self, text: str | None) -> str | None:
        return None if text is None else self._clean(text)

    # --- writing --------------------------------------------------------------------------------------------------

    def open_issue(self, title: str, body: str, labels: tuple[str, ...], *, marker: str) -> Issue:
        return self.hub.open_issue(self._clean(title), self._clean(body), labels, marker=marker)

    def edit_issue(
        self, number: int, *, title: str | None = None, body: str | None = None, closed: bool | None = None
    ) -> None:
        self.hub.edit_issue(number, title=self._scrub_optional(title), body=self._scrub_optional(body), closed=closed)

    def open_pull(self, title: str, body: str, head: str, base: str, *, draft: bool) -> Pull:
        return self.hub.open_pull(self._clean(title), self._clean(body), head, base, draft=draft)

    def edit_pull(self, pull: Pull, *, title: str | None = None, body: str | None = None) -> None:
        self.hub.edit_pull(pull, title=self._scrub_optional(title), body=self._scrub_optional(body))

    def comment(self, number: int, body: str, *, marker: str) -> Comment:
        return self.hub.comment(number, self._clean(body), marker=marker)

    def edit_comment(self, comment: int, body: str) -> None:
        self.hub.edit_comment(comment, self._clean(body))

    def check(self, check: CheckRun) -> None:
        annotations = tuple(map(self._scrub_annotation, check.annotations))
        title, summary = self._clean(check.title), self._clean(check.summary)
        self.hub.check(replace(check, title=title, summary=summary, annotations=annotations))

    def _scrub_annotation(self, annotation: Annotation) -> Annotation:
        return replace(
            annotation,
            path=self._clean(annotation.path),
            message=self._clean(annotation.message),
            title=self._clean(annotation.title),
        )

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        self.hub.dispatch(workflow, ref, {name: self._clean(value) for name, value in inputs.items()})

    def active_runs(self, workflow: str) -> frozenset[str]:
        return self.hub.active_runs(workflow)

    def active_jobs(self, workflow: str, *, besides: str) -> frozenset[str]:
        return self.hub.active_jobs(workflow, besides=besides)

    # --- what carries no text of others -----------------------------------------------------------------------------

    def set_draft(self, pull: Pull, *, draft: bool) -> None:
        self.hub.set_draft(pull, draft=draft)

    def add_sub_issue(self, number: int, child: Issue) -> None:
        self.hub.add_sub_issue(number, child)

    def set_labels(self, number: int, wanted: tuple[Label, ...], among: tuple[str, ...]) -> None:
        self.hub.set_labels(number, wanted, among)

    def react(self, comment: int, reaction: Reaction) -> None:
        self.hub.react(comment, reaction)

    def react_to_issue(self, number: int, reaction: Reaction) -> None:
        self.hub.react_to_issue(number, reaction)

    # --- reading ----------------------------------------------------------------------------------------------------

    def me(self) -> Actor:
        return self.hub.me()

    def ours(self) -> BotIdentities:
        return self.hub.ours()

    def has_reaction(self, comment: int, reaction: Reaction) -> bool:
        return self.hub.has_reaction(comment, reaction)

    def permission(self, login: str) -> PermissionLevel:
        return self.hub.permission(login)

    def default_branch(self) -> str:
        return self.hub.default_branch()

    def issue(self, number: int) -> Issue | None:
        return self.hub.issue(number)

    def issues_labelled(self, label: str) -> tuple[Issue, ...]:
        return self.hub.issues_labelled(label)

    def last_labelling(self, number: int, label: str) -> LabelEvent | None:
        return self.hub.last_labelling(number, label)

    def find_issue(self, marker: str) -> Issue | None:
        return self.hub.find_issue(marker)

    def sub_issues(self, number: int) -> tuple[Issue, ...]:
        return self.hub.sub_issues(number)

    def pull(self, number: int) -> Pull | None:
        return self.hub.pull(number)

    def pull_for_branch(self, branch: str, base: str = "") -> Pull | None:
        return self.hub.pull_for_branch(branch, base)

    def check_results(self, sha: str) -> tuple[CheckResult, ...]:
        return self.hub.check_results(sha)

    def comments(self, number: int, after: int = 0) -> tuple[Comment, ...]:
        return self.hub.comments(number, after)

    def find_comment(self, number: int, marker: str) -> Comment | None:
        return self.hub.find_comment(number, marker)
