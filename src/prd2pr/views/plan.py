"""The view of a plan that needs approval, and of the differences from a changed plan."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.costs.estimate import Estimate, describe_story_minutes
from prd2pr.domain.machines.approval import find_next_to_approve
from prd2pr.domain.questions import format_questions
from prd2pr.domain.records import Backlog, Prd, Story
from prd2pr.domain.wording import clean_line, clip, format_dollars, format_duration, format_token_count, format_tokens
from prd2pr.views.pull_request.models import NO_LIMITS, SpendLimits


@dataclass(frozen=True)
class PlanView:
    """A plan for approval. `command` approves it and is empty if no approval is needed."""

    title: str
    path: str
    stories: tuple[Story, ...]
    questions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    estimate: Estimate | None = None
    limits: SpendLimits = NO_LIMITS
    head: str = ""  # commit that an approval applies to
    command: str = "/approve"
    single: str = ""  # a story that can be approved on its own

    @property
    def criteria(self) -> int:
        return sum(len(story.criteria) for story in self.stories)


@dataclass(frozen=True)
class PlanDiff:
    """Differences between two plans after a change of the PRD."""

    kept: tuple[Story, ...] = ()
    new: tuple[Story, ...] = ()
    changed: tuple[Story, ...] = ()
    dropped: tuple[Story, ...] = ()
    asked: tuple[str, ...] = ()  # questions that a person must answer first

    @property
    def in_all(self) -> int:
        """Return the number of stories before the change."""
        return len(self.kept) + len(self.changed) + len(self.dropped)


def format_plan_diff(diff: PlanDiff, shown: int = 60) -> str:
    """Format a diff with `+` for new, `-` for dropped and `!` for changed stories, and a count of unchanged ones."""
    signs = (("-", diff.dropped), ("!", diff.changed), ("+", diff.new))
    lines = [
        f"{sign} {clean_line(story.id)}  {clip(clean_line(story.title), 100)}"
        for sign, stories in signs
        for story in stories
    ]
    rest = [f"  … and {len(lines) - shown} more"] if len(lines) > shown else []
    kept = [f"  {len(diff.kept)} of {diff.in_all} unchanged"] if diff.kept else []
    return "\n".join([*lines[:shown], *rest, *kept]) or "  nothing changes"


def format_plan_estimate(guess: Estimate) -> str:
    """Format an estimate as `$1.10 to $2.40, 20 to 35 min, 60k to 150k tokens`."""
    usd = (
        "no price known"
        if guess.usd_low is None or guess.usd_high is None
        else _format_dollar_range(guess.usd_low, guess.usd_high)
    )
    minutes = _format_range(str(guess.minutes_low), str(guess.minutes_high))
    tokens = _format_range(format_tokens(guess.tokens_low), format_tokens(guess.tokens_high))
    spent = f"{usd}, {minutes} min, {tokens} tokens"
    return " · ".join(filter(None, (spent, describe_story_minutes(guess))))


def _format_dollar_range(low: float, high: float) -> str:
    return _format_range(format_dollars(low), format_dollars(high))


def _format_range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def build_plan_view(
    prd: Prd,
    backlog: Backlog,
    *,
    estimate: Estimate | None = None,
    limits: SpendLimits = NO_LIMITS,
    head: str = "",
    command: str = "/approve",
    approved: frozenset[str] = frozenset(),
) -> PlanView:
    return PlanView(
        title=prd.title,
        path=prd.path,
        stories=list_wanted_stories(backlog),
        questions=format_questions(backlog),
        assumptions=backlog.assumptions,
        estimate=estimate,
        limits=limits,
        head=head,
        command=command,
        single=find_next_to_approve(backlog, approved),
    )


def list_wanted_stories(backlog: Backlog) -> tuple[Story, ...]:
    """List the stories that are neither skipped nor about to be dropped."""
    return tuple(s for s in backlog.stories if s.status != "skipped" and s.id not in backlog.dropping)


def format_budget(limits: SpendLimits) -> str:
    """Format budget limits as `budget $5.00, 200k tokens`."""
    known = (
        None if limits.usd is None else format_dollars(limits.usd),
        None if limits.tokens is None else format_token_count(limits.tokens),
        None if limits.minutes is None else format_duration(limits.minutes * 60),
    )
    parts = [each for each in known if each]
    if parts:
        return f"budget {', '.join(parts)}"
    return "no budget set" if limits.none else "budget by run or story"
