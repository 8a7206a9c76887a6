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
    """What people asked of this run, and what became of it."""

    requested: bool = False  # work was requested, by an event or a command
    queried: bool = False  # a query was answered; it changes nothing
    deferred: bool = False  # paid work is left to another run, because this one only answers a query
    changed: bool = False  # a command that needs no phase changed the branch
    error: Prd2prError | None = None  # of the last command that failed
    refusal: str = ""  # the last command that was not executed, and why
    problem_reported: bool = False  # the problem already has its own comment or check
    blocked_before: bool = False  # an earlier run reported the block
    not_wanted: PrdOutcome | None = None  # why no work starts automatically any more; a command clears it


@dataclass
class ProofCache:
    """Results per head commit, because each one takes a run of the whole test suite."""

    refutations: dict[str, BranchRefutation | None] = field(default_factory=dict)
    passing_merges: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass
class ParallelStories:
    """Stories that are worked on in their own jobs and branches."""

    wave: Wave | None = None  # handed to other jobs after this one
    may_exist: bool = True  # stories may have their own branches; checked at least once
    set_aside: set[str] = field(default_factory=set)  # cannot be integrated now


@dataclass
class PrdRun:
    context: GitHubContext
    session: Session
    queue: CommandQueue
    pull: Pull | None
    activity: RunActivity = field(default_factory=RunActivity)
    steps: int = 0
    links: PublishedLinks = field(default_factory=PublishedLinks)
    tracking: int | None = None  # number of the tracking issue; None: not looked up yet
    pull_opened: bool = False  # by this run
    proofs: ProofCache = field(default_factory=ProofCache)
    parallel: ParallelStories = field(default_factory=ParallelStories)
