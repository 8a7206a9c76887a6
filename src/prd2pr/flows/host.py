"""A run on a code host: what it works with, wired once by the Action's entry or by the App's worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from prd2pr.config import Config
from prd2pr.core.decide import Rest
from prd2pr.core.records import Prd
from prd2pr.core.waves import Wave
from prd2pr.errors import HubProblem
from prd2pr.flows.session import Session
from prd2pr.ports import Clock, Hub, Progress
from prd2pr.repo.git import Git
from prd2pr.repo.remote import Remote

# Stories that can be worked on side by side: this run's own jobs take them, a new run does, or nobody else.
HandsOn = Literal["to jobs", "to a run", ""]
STORY_JOB = "Story "  # so begins the name of a story's job in the workflow that `init` writes
LEAST_LEFT = 120.0  # seconds: no phase is begun with less
MARGIN = 1.5  # times the longest phase so far


@dataclass
class Deadline:
    """Our own end, before the job's: a phase that would be cut off is not begun."""

    clock: Clock
    ends: float | None  # of the monotonic clock; None: there is none
    longest: float = 0.0

    def passed(self) -> Rest | None:
        if self.ends is None or not self.longest:  # each run does something, or its followers would go on for ever
            return None
        left = self.ends - self.clock.monotonic()
        if left >= max(LEAST_LEFT, MARGIN * self.longest):
            return None
        return Rest("deadline", "this run's time is used up; another run goes on with it")

    def took(self, seconds: float) -> None:
        self.longest = max(self.longest, seconds)


@dataclass(frozen=True)
class Host:
    hub: Hub
    git: Git
    remote: Remote
    config: Config  # of the default branch
    repository: str
    base_branch: str
    base_commit: str
    open_session: Callable[[Prd, int | None], Session]  # a PRD, and the issue that it came from
    progress: Progress
    deadline: Deadline
    hands_on: HandsOn = ""
    wave_before: Wave | None = None  # that this run's other jobs have worked on
    workflow: str = ""  # file name of the workflow that goes on where this run must stop
    run_url: str = ""
    server_url: str = "https://github.com"
    summarise: Callable[[str], None] = lambda _: None  # where a run's report to people goes

    def branch_of(self, prd_id: str) -> str:
        return f"{self.config.branch_prefix}{prd_id}"

    @property
    def run_number(self) -> str:
        return self.run_url.rpartition("/")[2]

    def others_at_work(self) -> bool:
        """Whether another run of this workflow is under way. Where the host does not say, nobody is known to be."""
        try:
            return bool(self.workflow and self.hub.runs_at_work(self.workflow) - {self.run_number})
        except HubProblem as problem:
            self.progress.say("note", text=f"whether another run is at work is not known: {problem.what}")
            return False

    def stories_at_work(self) -> frozenset[str]:
        """Stories that jobs of other runs are working on, or will be. Where the host does not say, none is known."""
        try:
            jobs = self.hub.jobs_at_work(self.workflow, besides=self.run_number) if self.workflow else frozenset()
        except HubProblem as problem:
            self.progress.say("note", text=f"whether another run is at work is not known: {problem.what}")
            return frozenset()
        return frozenset(name.removeprefix(STORY_JOB) for name in jobs if name.startswith(STORY_JOB))

    @property
    def clock(self) -> Clock:
        return self.deadline.clock

    @property
    def commit_url(self) -> str:
        return f"{self.server_url}/{self.repository}/commit/"
