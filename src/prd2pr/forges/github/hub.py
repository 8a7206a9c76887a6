"""`ports.Hub` on GitHub: which module does what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from prd2pr.core.ci import CheckResult
from prd2pr.core.hub import Actor, Check, Comment, Given, Issue, Label, Level, Ours, Pull, Reaction
from prd2pr.core.permission import reaches
from prd2pr.forges.github import checks, comments, issues, labels, pulls, reading
from prd2pr.forges.github.exchange import Call, path
from prd2pr.forges.github.problems import recognise
from prd2pr.forges.github.runs import unfinished_jobs
from prd2pr.forges.github.tokens import TokenSource
from prd2pr.forges.github.wire import Wire, posting

GITHUB_ACTIONS = Actor("github-actions[bot]", 41898282, bot=True)


class GitHubHub:
    """One repository. Opened by `open.open_hub`; `close` or `with` ends its connection."""

    def __init__(self, wire: Wire, source: TokenSource, close: Callable[[], None], say: Callable[[str], None]) -> None:
        self.wire = wire
        self._say = say
        self.close = close
        self._source = source
        self._me: Actor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- people -------------------------------------------------------------------------------------------------------

    def me(self) -> Actor:
        if self._me is None:
            self._me = self._ask_me()
        return self._me

    def ours(self) -> Ours:
        """A workflow of this repository may have begun what an App goes on with. No others: anybody can copy a mark."""
        return tuple({actor.id: actor for actor in (self.me(), GITHUB_ACTIONS)}.values())

    def _ask_me(self) -> Actor:
        login = self._source.login()
        if login:
            return reading.actor(self.wire.get(path("users", login)))
        answer = self.wire.answer(path("user"))
        if answer.status == 200:
            return reading.actor(answer.body)
        # A workflow's own token belongs to no user, and GitHub says so with 403.
        if answer.status == 403:
            return GITHUB_ACTIONS
        raise recognise(Call("GET", path("user")), answer)

    def permission(self, login: str) -> Level:
        found = self.wire.find(self.wire.at("collaborators", login, "permission"))
        return "none" if found is None else reading.level(found)

    def default_branch(self) -> str:
        return str(self.wire.get(path("repos", self.wire.owner, self.wire.name))["default_branch"])

    # --- issues -------------------------------------------------------------------------------------------------------

    def issue(self, number: int) -> Issue | None:
        return issues.issue(self.wire, number)

    def issues_labelled(self, label: str) -> tuple[Issue, ...]:
        return issues.labelled(self.wire, label)

    def label_given(self, number: int, label: str) -> Given | None:
        return issues.label_given(self.wire, number, label)

    def issue_marked(self, marker: str) -> Issue | None:
        return issues.marked(self.wire, self.ours(), marker)

    def open_issue(self, title: str, body: str, labels: tuple[str, ...], *, marker: str) -> Issue:
        return issues.ensure(self.wire, self.ours(), title, body, labels=labels, marker=marker)

    def edit_issue(
        self, number: int, *, title: str | None = None, body: str | None = None, closed: bool | None = None
    ) -> None:
        issues.edit(self.wire, number, title, body, closed)

    def sub_issues(self, number: int) -> tuple[Issue, ...]:
        return issues.below(self.wire, number)

    def add_sub_issue(self, number: int, child: Issue) -> None:
        issues.put_below(self.wire, number, child)

    # --- pull requests ------------------------------------------------------------------------------------------------

    def pull(self, number: int) -> Pull | None:
        return pulls.pull(self.wire, number)

    def pull_of(self, branch: str, base: str = "") -> Pull | None:
        return pulls.of_branch(self.wire, branch, base or self.default_branch(), self._authors())

    def _authors(self) -> pulls.Authors:
        """GitHub knows one pull request of a branch and a base, so one by whoever may write is taken as well."""
        return pulls.Authors(self._trusts, self._is_ours)

    def _trusts(self, author: Actor) -> bool:
        return self._is_ours(author) or reaches(self.permission(author.login), "write")

    def _is_ours(self, author: Actor) -> bool:
        return author.id in {each.id for each in self.ours()}

    def open_pull(self, title: str, body: str, head: str, base: str, *, draft: bool) -> Pull:
        return pulls.ensure(self.wire, title, body, head, base, draft=draft, authors=self._authors())

    def edit_pull(self, pull: Pull, *, title: str | None = None, body: str | None = None) -> None:
        pulls.edit(self.wire, pull.number, title, body)

    def set_draft(self, pull: Pull, *, draft: bool) -> None:
        pulls.set_draft(self.wire, pull.number, draft=draft)

    # --- comments -----------------------------------------------------------------------------------------------------

    def comments(self, number: int, after: int = 0) -> tuple[Comment, ...]:
        return comments.comments(self.wire, number, after)

    def comment_marked(self, number: int, marker: str) -> Comment | None:
        return comments.marked(self.wire, self.ours(), number, marker)

    def comment(self, number: int, body: str, *, marker: str) -> Comment:
        return comments.ensure(self.wire, self.ours(), number, body, marker)

    def edit_comment(self, comment: int, body: str) -> None:
        if not comments.edit(self.wire, self.me(), comment, body):
            self._say(
                "GitHub does not let us edit what was written under our earlier name: a new comment takes its place"
            )

    def reacted(self, comment: int, reaction: Reaction) -> bool:
        return comments.reacted(
            self.wire, self.ours(), self.wire.at("issues", "comments", comment, "reactions"), reaction
        )

    def react(self, comment: int, reaction: Reaction) -> None:
        comments.react(self.wire, self.me(), self.wire.at("issues", "comments", comment, "reactions"), reaction)

    def react_to_issue(self, number: int, reaction: Reaction) -> None:
        comments.react(self.wire, self.me(), self.wire.at("issues", number, "reactions"), reaction)

    # --- what is derived ----------------------------------------------------------------------------------------------

    def set_labels(self, number: int, wanted: tuple[Label, ...], among: tuple[str, ...]) -> None:
        labels.put_right(self.wire, number, wanted, among)

    def check(self, check: Check) -> None:
        checks.show(self.wire, self.me(), check)

    def check_results(self, sha: str) -> tuple[CheckResult, ...]:
        return checks.results(self.wire, sha)

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Where the answer is lost, a run that is newer than before counts as ours: any run drains all commands."""
        before = self._newest_run(workflow)

        def look() -> bool | None:
            return True if self._newest_run(workflow) > before else None

        call = posting(
            self.wire.at("actions", "workflows", workflow, "dispatches"), {"ref": ref, "inputs": dict(inputs)}
        )
        self.wire.make(call, look, lambda _: True)

    def runs_at_work(self, workflow: str) -> frozenset[str]:
        found = self.wire.find(
            self.wire.at("actions", "workflows", workflow, "runs"), status="in_progress", per_page=100
        )
        return frozenset(str(each["id"]) for each in (found["workflow_runs"] if found else ()))

    def jobs_at_work(self, workflow: str, *, besides: str) -> frozenset[str]:
        runs = sorted(self.runs_at_work(workflow) - {besides})
        return frozenset(name for run in runs for name in unfinished_jobs(self.wire, run))

    def _newest_run(self, workflow: str) -> int:
        found = self.wire.find(
            self.wire.at("actions", "workflows", workflow, "runs"), event="workflow_dispatch", per_page=1
        )
        runs = found["workflow_runs"] if found else []
        return int(runs[0]["id"]) if runs else 0
