"""The plan as a person approves it, and a changed plan as a difference."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.approval import next_to_approve
from prd2pr.core.estimate import Estimate, stories_text
from prd2pr.core.picture_parts import NO_LIMITS, SpendLimits
from prd2pr.core.records import Backlog, Prd, Story
from prd2pr.core.wording import clip, dollars, duration, plain, token_count, tokens


@dataclass(frozen=True)
class PlannedStory:
    id: str
    title: str
    kind: str
    criteria: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlanView:
    """`command` is what approves it; empty: nothing has to be approved."""

    title: str
    path: str
    stories: tuple[PlannedStory, ...]
    questions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    estimate: Estimate | None = None
    limits: SpendLimits = NO_LIMITS
    head: str = ""  # the commit that an approval holds for
    command: str = "/approve"
    single: str = ""  # a story that can be approved alone

    @property
    def criteria(self) -> int:
        return sum(len(story.criteria) for story in self.stories)


@dataclass(frozen=True)
class PlanDiff:
    """What a changed PRD makes of the plan. Stories by id, requirements by id."""

    kept: tuple[PlannedStory, ...] = ()
    new: tuple[PlannedStory, ...] = ()
    changed: tuple[PlannedStory, ...] = ()
    dropped: tuple[PlannedStory, ...] = ()
    asked: tuple[str, ...] = ()  # questions that a person must answer first

    @property
    def in_all(self) -> int:
        """Stories of the plan as it was."""
        return len(self.kept) + len(self.changed) + len(self.dropped)


def diff_lines(diff: PlanDiff, shown: int = 60) -> str:
    """As a difference is written: `+` new, `-` dropped, `!` changed; what is kept is counted."""
    signs = (("-", diff.dropped), ("!", diff.changed), ("+", diff.new))
    lines = [
        f"{sign} {plain(story.id)}  {clip(plain(story.title), 100)}" for sign, stories in signs for story in stories
    ]
    rest = [f"  … and {len(lines) - shown} more"] if len(lines) > shown else []
    kept = [f"  {len(diff.kept)} of {diff.in_all} unchanged"] if diff.kept else []
    return "\n".join([*lines[:shown], *rest, *kept]) or "  nothing changes"


def estimate_text(guess: Estimate) -> str:
    """$1.10 to $2.40, 20 to 35 min, 60k to 150k tokens"""
    usd = "no price known" if guess.usd_low is None or guess.usd_high is None else _range(guess.usd_low, guess.usd_high)
    minutes = _span(str(guess.minutes_low), str(guess.minutes_high))
    spent = f"{usd}, {minutes} min, {_span(tokens(guess.tokens_low), tokens(guess.tokens_high))} tokens"
    return " · ".join(filter(None, (spent, stories_text(guess))))


def _range(low: float, high: float) -> str:
    return _span(dollars(low), dollars(high))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def planned_story(story: Story) -> PlannedStory:
    return PlannedStory(
        id=story.id,
        title=story.title,
        kind=f"{story.kind}, verify only" if story.verify_only else story.kind,
        criteria=tuple(criterion.text for criterion in story.criteria),
        requirements=story.requirements,
        depends_on=story.depends_on,
    )


def plan_view(
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
        stories=tuple(map(planned_story, wanted(backlog))),
        questions=backlog.questions,
        assumptions=backlog.assumptions,
        estimate=estimate,
        limits=limits,
        head=head,
        command=command,
        single=next_to_approve(backlog, approved),
    )


def wanted(backlog: Backlog) -> tuple[Story, ...]:
    """What is built or will be; neither skipped nor waiting to be dropped."""
    return tuple(s for s in backlog.stories if s.status != "skipped" and s.id not in backlog.dropping)


def budget_text(limits: SpendLimits) -> str:
    """budget $5.00, 200k tokens"""
    known = (
        None if limits.usd is None else dollars(limits.usd),
        None if limits.tokens is None else token_count(limits.tokens),
        None if limits.minutes is None else duration(limits.minutes * 60),
    )
    parts = [each for each in known if each]
    if parts:
        return f"budget {', '.join(parts)}"
    return "no budget set" if limits.none else "budget by run or story"
