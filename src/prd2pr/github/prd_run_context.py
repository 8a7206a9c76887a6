"""The state of one PRD in one run on GitHub."""

from __future__ import annotations

from dataclasses import dataclass, field

from prd2pr.domain.forge import Pull
from prd2pr.errors import Prd2prError
from prd2pr.github.command_queue import CommandQueue
from prd2pr.github.context import GitHubContext
from prd2pr.github.outcome import PrdOutcome
from prd2pr.github.publish.context import PublishedLinks
from prd2pr.github.wave import Wave
from prd2pr.verification.commit_check import BranchRefutation
from prd2pr.workflow.session import Session


@dataclass
class RunActivity:
    """The requests to this run and their results."""

    requested: bool = False  # an event or a command requested work
    queried: bool = False  # a query was answered; queries change nothing
    deferred: bool = False  # this run only answers a query and leaves paid work to another run
    changed: bool = False  # a command that needs no phase changed the branch
    error: Prd2prError | None = None  # error of the last failed command
    refusal: str = ""  # reason why the last command was not executed
    problem_reported: bool = False  # the problem already has its own comment or check
    blocked_before: bool = False  # an earlier run already reported the block
    not_wanted: PrdOutcome | None = None  # why no work starts automatically; a command clears it


@dataclass
class ProofCache:
    """Verification results by head commit, cached because each one requires a run of the whole test suite."""

    refutations: dict[str, BranchRefutation | None] = field(default_factory=dict)
    passing_merges: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass
class ParallelStories:
    """Stories that have their own jobs and branches."""

    wave: Wave | None = None  # handed off to other jobs after this one
    may_exist: bool = True  # stories may have their own branches; checked at least once
    set_aside: set[str] = field(default_factory=set)  # stories that cannot be integrated now


@dataclass
class PrdRun:
    context: GitHubContext
    session: Session
    queue: CommandQueue
    pull: Pull | None
    activity: RunActivity = field(default_factory=RunActivity)
    steps: int = 0
    links: PublishedLinks = field(default_factory=PublishedLinks)
    tracking: int | None = None  # number of the tracking issue, or None if it was not looked up yet
    pull_opened: bool = False  # whether this run opened it
    proofs: ProofCache = field(default_factory=ProofCache)
    parallel: ParallelStories = field(default_factory=ParallelStories)
