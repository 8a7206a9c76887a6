"""The context of a run on GitHub, built once by the Action's entry point or by the App's worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.config import Config
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Prd
from prd2pr.errors import HubProblem
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.wave import Wave
from prd2pr.state.git import Git
from prd2pr.state.remote import Remote
from prd2pr.workflow.interfaces import Clock, Progress
from prd2pr.workflow.session import Session

# Where stories that can run in parallel are handed off to: jobs of this run, a new run, or nowhere.
Handoff = Literal["to jobs", "to a run", ""]
STORY_JOB_PREFIX = "Story "  # prefix of the names of story jobs in the workflow that `init` writes
CALLED_JOB = " / "  # GitHub names a job of a called workflow `CALLER / JOB`
MIN_SECONDS_LEFT = 120.0  # no phase starts with less time left
PHASE_MARGIN = 1.5  # factor for the longest phase so far


@dataclass
class Deadline:
    """The time limit of a run, which is shorter than that of the job.

    No phase is started that the limit would probably cut off.
    """

    clock: Clock
    ends_at: float | None  # on the monotonic clock; None for no limit
    longest_phase: float = 0.0

    def stop_if_passed(self) -> NoAction | None:
        # each run must make progress; otherwise, new runs would follow forever
        if self.ends_at is None or not self.longest_phase:
            return None
        left = self.ends_at - self.clock.monotonic()
        if left >= max(MIN_SECONDS_LEFT, PHASE_MARGIN * self.longest_phase):
            return None
        return NoAction("deadline", "this run's time is used up; another run continues")

    def record_phase(self, seconds: float) -> None:
        self.longest_phase = max(self.longest_phase, seconds)


@dataclass(frozen=True)
class JobContext:
    """The workflow job that this run is part of."""

    handoff: Handoff = ""
    previous_wave: Wave | None = None  # the stories that other jobs of this run worked on
    workflow: str = ""  # file name of the workflow to start when this run has to stop
    run_url: str = ""
    write_summary: Callable[[str], None] = lambda _: None  # writes the job summary

    @property
    def run_number(self) -> str:
        return self.run_url.rpartition("/")[2]


@dataclass(frozen=True)
class GitHubContext:
    hub: GitHubHub
    git: Git
    remote: Remote
    config: Config  # from the default branch
    repository: str
    base_branch: str
    base_commit: str
    open_session: Callable[[Prd, int | None], Session]  # called with a PRD and the issue it came from
    progress: Progress
    deadline: Deadline
    job: JobContext = field(default_factory=JobContext)
    server_url: str = "https://github.com"

    def branch_of(self, prd_id: str) -> str:
        return f"{self.config.branch_prefix}{prd_id}"

    def has_other_active_runs(self) -> bool:
        """Return whether another run of this workflow is active. False if GitHub cannot be reached."""
        try:
            return bool(self.job.workflow and self.hub.active_runs(self.job.workflow) - {self.job.run_number})
        except HubProblem as problem:
            self.progress.say("note", text=f"cannot find out whether another run is active: {problem.what}")
            return False

    def active_stories(self) -> frozenset[str]:
        """Return the stories of unfinished jobs in other runs, or nothing if GitHub cannot be reached."""
        job = self.job
        try:
            jobs = self.hub.active_jobs(job.workflow, besides=job.run_number) if job.workflow else frozenset()
        except HubProblem as problem:
            self.progress.say("note", text=f"cannot find out whether another run is active: {problem.what}")
            return frozenset()
        names = (name.rpartition(CALLED_JOB)[2] for name in jobs)
        return frozenset(name.removeprefix(STORY_JOB_PREFIX) for name in names if name.startswith(STORY_JOB_PREFIX))

    @property
    def clock(self) -> Clock:
        return self.deadline.clock

    @property
    def commit_url(self) -> str:
        return f"{self.server_url}/{self.repository}/commit/"
