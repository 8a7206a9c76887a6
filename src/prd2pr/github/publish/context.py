"""The context for publishing one PRD."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from prd2pr.config import Config
from prd2pr.domain.forge import Comment, Issue, Pull
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Phase, Prd
from prd2pr.errors import HubProblem, Prd2prError, Stopped
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.repository import GITHUB_ACTIONS
from prd2pr.github.messages.replies import ProblemReply
from prd2pr.github.messages.status import (
    DISABLED_SCHEDULE,
    Headline,
    StatusView,
    build_status_view,
    choose_headline,
    describe_ci,
)
from prd2pr.github.setup.workflow_file import SCHEDULE_PATH
from prd2pr.state.git import Git
from prd2pr.state.store import BranchState
from prd2pr.verification.commit_check import BranchRefutation
from prd2pr.views.pull_request.models import PullRequestView
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.session import Session

T = TypeVar("T")


@dataclass
class Publication:
    """The publication of one PRD. The branch is read once, and GitHub is called as little as possible."""

    hub: GitHubHub
    request: PublishRequest
    published: str  # the branch's head on GitHub; commits after it are held back
    state: BranchState
    prd: Prd
    pull_view: PullRequestView
    refuted: BranchRefutation | None = None
    notes: list[ProblemReply] = field(default_factory=list)
    is_complete: bool = False  # whether checks and issues were published too
    has_more: bool = False  # checks or issues exceed the limit of one run; the next run continues

    @property
    def config(self) -> Config:
        return self.request.session.config

    @property
    def git(self) -> Git:
        return self.request.session.git

    @property
    def head(self) -> str:
        return self.state.commit

    @property
    def is_stopped(self) -> bool:
        return self.headline != "working"

    @property
    def just_planned(self) -> bool:
        """Whether the plan is the last step. It is published with its issues before anything is built."""
        step = read_commit_step(self.git.commit_info(self.head))
        return step is not None and step.phase is Phase.PLAN

    @property
    def headline(self) -> Headline:
        return choose_headline(self.pull_view, self.state.status, self.request.stop, self.problem, self.refuted)

    @property
    def issue(self) -> int | None:
        """The issue from which the PRD came."""
        return self.state.status.issue or self.request.session.target.issue

    @property
    def problem(self) -> ProblemReply | None:
        return ProblemReply.of("this run", self.request.problem) if self.request.problem else None

    @cached_property
    def has_disabled_schedule(self) -> bool:
        """Whether lost events would not be found. This is determined once, by a run that did something."""
        if not self.is_stopped or self.request.unrequested:
            return False
        try:
            return self.hub.is_disabled(SCHEDULE_PATH.rpartition("/")[2])
        except HubProblem:  # the token may not read workflows
            return False

    def view(self, pull: Pull | None, tracking: Issue | None = None) -> StatusView:
        return build_status_view(
            self.pull_view,
            self.state.status,
            self.request.stop,
            problem=self.problem,
            notes=tuple(self.notes),
            pull_url=pull.url if pull else "",
            run_url=self.request.run_url,
            tracking=tracking.number if tracking else None,
            refuted=self.refuted,
            ci=describe_ci(self.config.ci_workflows, starts_by_itself=self.hub.me() != GITHUB_ACTIONS),
            schedule=DISABLED_SCHEDULE if self.has_disabled_schedule else "",
        )

    def attempt(self, part: str, act: Callable[[], T]) -> T | None:
        """Publish one part.

        A failure is recorded with its remedy and does not prevent the publication of other parts.
        """
        try:
            return act()
        except Stopped:
            raise
        except Prd2prError as problem:
            self.notes.append(ProblemReply.of(part, problem))
            return None


@dataclass(frozen=True)
class PublishRequest:
    """The input for publishing, apart from the branch, whose commits are already pushed."""

    session: Session
    stop: NoAction | None = None  # why the run stopped, or None while it is working
    problem: Prd2prError | None = None
    commit_url: str = ""  # for example `https://github.com/octo/calc/commit/`
    run_url: str = ""
    find_refuted: Callable[[str], BranchRefutation | None] = lambda _: (
        None
    )  # called for a head whose stories are all finished
    passing_merges: Callable[[str], frozenset[str]] = lambda _: (
        frozenset()
    )  # returns the merges of the base after which the tests pass
    problem_reported: bool = False  # whether the problem has its own comment
    unrequested: bool = False  # nothing was requested of this run, and it did nothing


@dataclass(frozen=True)
class PublishedLinks:
    pull: Pull | None = None
    comment: Comment | None = None
    tracking: Issue | None = None
    notes: tuple[ProblemReply, ...] = ()  # parts that could not be published, with their remedy
