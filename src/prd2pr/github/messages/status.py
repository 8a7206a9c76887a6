"""The state of a PRD for the status comment, and its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.config import Labels
from prd2pr.domain.forge import Label
from prd2pr.domain.machines.next_action import PhaseAction
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import ProjectState, Status
from prd2pr.domain.wording import capitalize_first, end_sentence
from prd2pr.errors import Stopped
from prd2pr.github.messages.replies import ProblemReply
from prd2pr.verification.commit_check import BranchRefutation
from prd2pr.views.blocked_story import BlockedView
from prd2pr.views.models import Column, NextStep, RefusalView
from prd2pr.views.pull_request.models import PullRequestView
from prd2pr.views.pull_request.next_step import build_budget_step

LabelState = Literal["active", "waiting", "blocked", "done"]
StoryLabelState = Literal["todo", "in_progress", "blocked", "done"]
Headline = Literal[
    "done",
    "working",
    "waiting",
    "paused",
    "blocked",
    "budget",
    "deadline",
    "stopped",
    "cancelled",
    "unproved",
    "unjudged",
    "partly",
]

MAX_REFUSALS = 3
DISABLED_SCHEDULE = (
    "The schedule that finds lost events is disabled; GitHub does that after 60 days without activity. "
    "To enable it: `gh workflow enable prd2pr-schedule.yml`, or Actions → prd2pr schedule → Enable workflow."
)


@dataclass(frozen=True)
class StatusView:
    pr: PullRequestView
    headline: Headline
    reason: str
    next: NextStep
    refusals: tuple[RefusalView, ...] = ()  # the latest ones without a later accepted attempt
    questions: tuple[str, ...] = ()
    problem: ProblemReply | None = None
    notes: tuple[ProblemReply, ...] = ()  # parts that could not be published
    pull_url: str = ""
    run_url: str = ""
    tracking: int | None = None
    hints: tuple[str, ...] = ()  # how the project's own checks start on this branch; a disabled schedule

    @property
    def blocked(self) -> BlockedView | None:
        return self.pr.blocked if self.headline == "blocked" else None


def build_status_view(
    pull_view: PullRequestView,
    status: Status,
    stop: NoAction | None,
    *,
    problem: ProblemReply | None = None,
    notes: tuple[ProblemReply, ...] = (),
    pull_url: str = "",
    run_url: str = "",
    tracking: int | None = None,
    refuted: BranchRefutation | None = None,
    ci: str = "",
    schedule: str = "",
) -> StatusView:
    headline = choose_headline(pull_view, status, stop, problem, refuted)
    waiting = headline == "waiting" and status.state is ProjectState.BACKLOG_READY
    return StatusView(
        pr=pull_view,
        headline=headline,
        reason=refuted.sentence() if refuted else format_headline_reason(pull_view, status, headline, stop),
        next=choose_next_step(pull_view, stop, problem),
        refusals=tuple(each for each in pull_view.refusals if not each.crossed)[-MAX_REFUSALS:],
        questions=pull_view.questions if waiting else (),
        problem=problem,
        notes=notes,
        pull_url=pull_url,
        run_url=run_url,
        tracking=tracking,
        hints=tuple(filter(None, (ci if headline == "done" else "", schedule))),
    )


def describe_ci(workflows: tuple[str, ...], *, starts_by_itself: bool) -> str:
    """Describe how the project's own workflows are started on the pull request's branch."""
    if workflows:
        return f"prd2pr starts {', '.join(f'`{name}`' for name in workflows)} on this branch after each push."
    if starts_by_itself:
        return ""
    return (
        "GitHub starts no workflows for pushes with `GITHUB_TOKEN`, or waits for an approval. `ci_workflows` in "
        "`.prd2pr.yml` names those that prd2pr starts, and with a GitHub App all start by themselves."
    )


def format_headline_reason(
    pull_view: PullRequestView, status: Status, headline: Headline, stop: NoAction | None
) -> str:
    """Return the reason for the headline, without parts that the next step mentions."""
    if headline == "blocked":
        blocked = next((row for row in pull_view.board if row.tone == "blocked"), None)
        reason = f"`{blocked.id}`: {blocked.reason}" if blocked and blocked.reason else ""
        return reason or status.blocked_reason or "a story is out of attempts"
    return stop.reason if stop and headline == "budget" else ""


def choose_headline(
    pull_view: PullRequestView,
    status: Status,
    stop: NoAction | None,
    problem: ProblemReply | None,
    refuted: BranchRefutation | None = None,
) -> Headline:
    """Choose the headline. `stop` is the reason why the run stopped, or None while it is working."""
    if problem or refuted:
        return "unproved" if not problem else "cancelled" if problem.code == Stopped.code else "stopped"
    if pull_view.tone in ("proven", "unproven"):
        return "unjudged" if pull_view.unjudged else "partly" if pull_view.tone == "unproven" else "done"
    following = pull_view.next_action
    if isinstance(following, NoAction) and following.outcome == "blocked":
        return "blocked"
    if stop is None or stop.outcome in RUN_HEADLINES:
        return RUN_HEADLINES[stop.outcome if stop else "in progress"]
    if isinstance(following, PhaseAction):
        return "working" if status.order == "run" else "waiting"
    return "paused" if following.outcome == "paused" else "waiting"


RUN_HEADLINES: dict[str, Headline] = {
    "in progress": "working",
    "budget": "budget",
    "deadline": "deadline",
    "handed-on": "working",
}


def choose_next_step(pull_view: PullRequestView, stop: NoAction | None, problem: ProblemReply | None) -> NextStep:
    """Return the next step of the branch or, if something else stopped this run, the step that resolves that."""
    if problem:
        return NextStep(problem.remedy or "Check the run's log.")
    if pull_view.tone in ("proven", "unproven") or stop is None:
        return pull_view.next
    if stop.outcome == "budget":
        return build_budget_step(stop.next)
    if stop.outcome == "handed-on":
        return NextStep(f"{end_sentence(capitalize_first(stop.reason))} No action is needed.")
    return NEXT_STEPS_BY_RUN.get(stop.outcome, pull_view.next)


NEXT_STEPS_BY_RUN = {"deadline": NextStep("Another run continues automatically. No action is needed.")}


# --- labels -----------------------------------------------------------------------------------------------------------


LABEL_STATES: dict[Headline, LabelState] = {
    "done": "done",
    "working": "active",
    "deadline": "active",
    "waiting": "waiting",
    "paused": "waiting",
    "budget": "waiting",
    "stopped": "blocked",
    "cancelled": "waiting",
    "unproved": "blocked",
    "unjudged": "waiting",
    "partly": "done",
    "blocked": "blocked",
}
# These colors are distinguishable in dark mode and for color-blind people.
LABEL_STYLES: dict[LabelState, tuple[str, str]] = {
    "active": ("1d76db", "prd2pr is working; no action is needed"),
    "waiting": ("fbca04", "prd2pr is waiting for a person"),
    "blocked": ("b60205", "prd2pr is blocked; a person has to decide"),
    "done": ("0e8a16", "every story is finished; ready for review"),
}


def get_state_label(names: Labels, headline: Headline) -> Label:
    light = LABEL_STATES[headline]
    colour, words = LABEL_STYLES[light]
    return Label(getattr(names, light), colour, words)


def list_state_label_names(names: Labels) -> tuple[str, ...]:
    return names.active, names.waiting, names.blocked, names.done


STORY_LABELS: dict[Column, tuple[StoryLabelState, str, str]] = {
    Column.PENDING: ("todo", "ededed", "this story has not started"),
    Column.IN_PROGRESS: ("in_progress", "1d76db", "this story is in progress"),
    Column.PASSING: ("in_progress", "1d76db", "this story is in progress"),
    Column.BLOCKED: ("blocked", *LABEL_STYLES["blocked"]),
    Column.COMPLETE: ("done", *LABEL_STYLES["done"]),
}


def get_story_label(names: Labels, column: Column) -> Label:
    name, colour, words = STORY_LABELS[column]
    return Label(getattr(names, name), colour, words)


def list_story_label_names(names: Labels) -> tuple[str, ...]:
    return names.todo, names.in_progress, names.blocked, names.done
