"""The seams: what the flows ask of the outside, as narrow Protocols. Adapters implement them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from prd2pr.core.bite.plan import BitePlan
from prd2pr.core.bite.record import Bite
from prd2pr.core.ci import CheckResult
from prd2pr.core.evidence import RunReport
from prd2pr.core.hub import Actor, Check, Comment, Given, Issue, Label, Level, Ours, Pull, Reaction
from prd2pr.core.parity.plan import ParityPlan
from prd2pr.core.parity.record import Parity
from prd2pr.core.records import Spend
from prd2pr.core.stacks.stack import Stack

# --- the model --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Purpose:
    """Who asks, and for what. A transcript is looked up by this, so it survives reworded prompts and restarts."""

    role: str
    subject: str  # the story's id, or the PRD's
    phase: str
    attempt: int = 1
    turn: int = 1

    def key(self) -> str:
        return f"{self.subject}/{self.phase}/{self.role}/{self.attempt}/{self.turn}"


@dataclass(frozen=True)
class Text:
    text: str
    cache: bool = False  # a prefix that ends here is worth caching
    part: str = ""  # of the prompt, for who counts where tokens go


@dataclass(frozen=True)
class ToolUse:
    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class ToolResult:
    tool_use_id: str
    content: str
    is_error: bool = False
    cache: bool = False


Block = Text | ToolUse | ToolResult


@dataclass(frozen=True)
class Message:
    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


# The tool by which a role hands in its work, whichever model plays it.
SUBMIT = "submit"


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    purpose: Purpose
    model: str
    system: tuple[Text, ...]
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    output_schema: Mapping[str, Any] | None = None  # structured output: the reply's text is JSON of this schema
    max_tokens: int = 16_000
    workspace: Path | None = None  # for workers that edit files themselves (`command:`, `human`)
    writable: tuple[str, ...] = ()  # globs, told to such workers


@dataclass(frozen=True)
class Reply:
    blocks: tuple[Block, ...]
    spend: Spend
    stop: Literal["end", "tool_use", "max_tokens", "refusal"] = "end"
    model: str = ""

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


class Model(Protocol):
    name: str  # for people: "claude-sonnet-5-5", "replay of loyalty.jsonl"

    def reply(self, request: Request) -> Reply: ...


# --- the test runner --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunRequest:
    code_tree: str
    paths: tuple[str, ...] = ()  # empty: the whole suite
    order: Literal["normal", "reversed"] = "normal"
    hash_seed: int = 0
    restore: Mapping[str, str] = field(default_factory=dict)  # path -> blob put back before the run (locked files)
    canary_dirs: tuple[str, ...] = ()  # directories whose conftest the canaries must live under
    afresh: bool = False  # run it, whatever is known of an earlier run
    stack: Stack | None = None  # of a repository with several: None asks all of them
    # Hash seeds of the runs that will be asked for at once after this one, if it is known; no part of the question.
    followed_by: tuple[int, ...] | None = None
    # Those that come later, for which nothing need be ready before this run is over; no part of the question either.
    later: tuple[int, ...] = ()


OTHER_SEED = 1  # than that of the run of the whole suite
RED_AGAIN = (OTHER_SEED, OTHER_SEED)  # the runs that follow RED's own: its tests with stand-ins, and once more


@dataclass(frozen=True)
class BiteRequest:
    """Deliberate faults to try on a story's tests."""

    code_tree: str
    tests: tuple[str, ...]  # node ids; one without parameters stands for all its cases
    plan: BitePlan
    most: int  # mutants, and wrong expectations, that are tried
    restore: Mapping[str, str] = field(default_factory=dict)
    ways: bool = True  # whether the tests are also run in another order, twice, and at another time
    hash_seed: int = OTHER_SEED
    stack: Stack | None = None  # None: that of the tests


@dataclass(frozen=True)
class ParityRequest:
    """The code before and after a refactoring, to be given the same calls."""

    code_tree: str
    tests: tuple[str, ...]  # that show how the code is called
    plan: ParityPlan
    partial: bool = False  # there are more tests than these
    restore: Mapping[str, str] = field(default_factory=dict)
    hash_seed: int = 0
    stack: Stack | None = None  # None: that of the tests


class TestRunner(Protocol):
    def run(self, request: RunRequest) -> RunReport:
        """A clean run: fresh checkout, clean environment, secret result path, canaries."""
        ...

    def start_bite(self, request: BiteRequest) -> Callable[[], Bite]:
        """Begin to try faults, in as clean a room; the function that is given back waits for what came of it."""
        ...

    def start_parity(self, request: ParityRequest) -> Callable[[], Parity]:
        """Begin to compare old code with new, likewise."""
        ...

    def expect(self, hash_seed: int = 0) -> None:
        """A run will be asked for soon; whoever can prepare for it may."""
        ...

    def begin(self, request: RunRequest, *, beside: bool = False) -> None:
        """This very run will be asked for soon, and may be under way until then.

        `beside`: while others are, so only where runs cannot be in each other's way."""
        ...

    def let_go(self) -> None:
        """What was begun, and was not asked for until now, nobody will ask for."""
        ...


@dataclass(frozen=True)
class Surveyed:
    """A run for whoever is at work, with what each test file entered; it is no evidence."""

    report: RunReport
    reached: Mapping[str, frozenset[str]] | None  # test file -> files of the project; None: it could not be told


@runtime_checkable
class Surveyor(Protocol):
    def survey(self, request: RunRequest) -> Surveyed: ...


# --- pages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PageRequest:
    """A page of the project, to be looked at as it is in this tree."""

    code_tree: str
    command: tuple[str, ...]  # starts what serves it
    url: str  # on the loopback
    paths: tuple[str, ...]
    ready_seconds: int


@dataclass(frozen=True)
class Pictures:
    taken: tuple[tuple[str, bytes], ...] = ()  # path of the page, PNG
    note: str = ""  # why not all of them could be taken


class Camera(Protocol):
    def take(self, request: PageRequest) -> Pictures: ...


# --- the forge --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PullRequest:
    title: str
    body: str
    head: str
    base: str
    page: str = ""  # the same as one HTML file, for forges that have no page of their own


class Forge(Protocol):
    def publish(self, pull: PullRequest) -> str:
        """Create or update; the answer is where a person finds it. Doing it twice changes nothing."""
        ...


class BranchWriter(Protocol):
    """Moves the PRD's branch, on this machine or on the code host: always by compare-and-swap."""

    def move(self, branch: str, new: str, old: str | None) -> str:
        """From `old` (None: the branch is made) to `new`. Raises BranchMoved where somebody was quicker.

        The answer is the commit that the branch is on now: `new`, or a commit of the same tree that the host signed.
        """
        ...


class Hub(Protocol):
    """A code host with people on it. Every writing call may be made twice: it looks up what is there first."""

    def me(self) -> Actor:
        """Whose name our own comments and pull requests carry."""
        ...

    def ours(self) -> Ours:
        """`me` first, then whom the same work may have been begun by: what they wrote is gone on with."""
        ...

    def permission(self, login: str) -> Level: ...

    def default_branch(self) -> str: ...

    def issue(self, number: int) -> Issue | None: ...

    def issues_labelled(self, label: str) -> tuple[Issue, ...]: ...

    def label_given(self, number: int, label: str) -> Given | None:
        """Who gave the issue this label last, and when; None where the host does not say."""
        ...

    def issue_marked(self, marker: str) -> Issue | None:
        """Ours, with `marker` in its body."""
        ...

    def open_issue(self, title: str, body: str, labels: tuple[str, ...], *, marker: str) -> Issue: ...

    def edit_issue(
        self, number: int, *, title: str | None = None, body: str | None = None, closed: bool | None = None
    ) -> None: ...

    def sub_issues(self, number: int) -> tuple[Issue, ...]: ...

    def add_sub_issue(self, number: int, child: Issue) -> None: ...

    def pull(self, number: int) -> Pull | None: ...

    def pull_of(self, branch: str, base: str = "") -> Pull | None:
        """The open pull request from this branch of this repository; else the newest closed one.

        One into `base` (empty: the default branch) by us or by somebody who may write, since anybody can open others;
        one into another branch only if it is ours, and so was given another base.
        """
        ...

    def open_pull(self, title: str, body: str, head: str, base: str, *, draft: bool) -> Pull: ...

    def edit_pull(self, pull: Pull, *, title: str | None = None, body: str | None = None) -> None: ...

    def set_draft(self, pull: Pull, *, draft: bool) -> None: ...

    def comments(self, number: int, after: int = 0) -> tuple[Comment, ...]:
        """In order of their ids, those above `after`."""
        ...

    def comment_marked(self, number: int, marker: str) -> Comment | None:
        """Ours, with `marker` in it."""
        ...

    def comment(self, number: int, body: str, *, marker: str) -> Comment:
        """Posts it, unless one of ours with this marker is there already: then that one is the answer."""
        ...

    def edit_comment(self, comment: int, body: str) -> None: ...

    def reacted(self, comment: int, reaction: Reaction) -> bool:
        """Whether this reaction of ours stands below the comment."""
        ...

    def react(self, comment: int, reaction: Reaction) -> None: ...

    def react_to_issue(self, number: int, reaction: Reaction) -> None: ...

    def set_labels(self, number: int, wanted: tuple[Label, ...], among: tuple[str, ...]) -> None:
        """Of the labels named in `among` the issue or pull request has exactly `wanted`; others are left alone."""
        ...

    def check(self, check: Check) -> None: ...

    def check_results(self, sha: str) -> tuple[CheckResult, ...]:
        """All checks of a commit. Ours have `core.ci.OUR_CHECKS` as their App."""
        ...

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None: ...

    def runs_at_work(self, workflow: str) -> frozenset[str]:
        """Ids of this workflow's runs that are under way, ours among them."""
        ...

    def jobs_at_work(self, workflow: str, *, besides: str) -> frozenset[str]:
        """Names of the jobs of these runs, but for one run, that have not ended yet."""
        ...


class Clock(Protocol):
    def now(self) -> str:
        """UTC, ISO 8601 with a Z."""
        ...

    def monotonic(self) -> float: ...


class Progress(Protocol):
    """Live news for whoever watches; losing it loses nothing."""

    def say(self, event: str, **facts: object) -> None: ...
