"""One card for each story: its state, attempts and cost."""

from __future__ import annotations

from prd2pr.domain.records import UNTESTED_KINDS, Cycle, CycleState, Spend, Story
from prd2pr.domain.wording import clean_line, clip
from prd2pr.views.board.models import Column, ColumnCount, StoryCard, sum_column_counts
from prd2pr.views.board.source import PrdSource
from prd2pr.views.pull_request.board import build_story_row, find_open_phase
from prd2pr.views.pull_request.facts import BLOCKED, PAUSED, SETTLED_PROGRESS, WAITING, PrdFacts
from prd2pr.views.pull_request.models import BOARD_PHASES

# States after the GREEN gate.
STATES_AFTER_GREEN = (CycleState.REFACTOR, CycleState.COMMIT)


def build_cards(source: PrdSource) -> tuple[StoryCard, ...]:
    return tuple(build_card(source, story) for story in source.facts.backlog.stories)


def build_card(source: PrdSource, story: Story) -> StoryCard:
    facts = source.facts
    row = build_story_row(facts, story)
    steps = facts.steps(story.id)
    cycle = facts.cycles.get(story.id)
    return StoryCard(
        repo=source.repo,
        prd=facts.prd.id,
        id=row.id,
        title=row.title,
        kind=row.kind,
        column=choose_column(facts, story),
        outcome=row.outcome,
        tone=row.tone,
        phase=find_shown_phase(facts, story),
        attempts=count_attempts(facts, story, cycle),
        refused=count_refused(cycle),
        spend=sum((step.spend for step in steps), Spend()),
        seconds=sum(step.seconds for step in steps),
        since=max((step.at for step in steps), default=source.planned_at),
        cells=row.cells,
        tests=row.tests,
        bite=row.bite,
        reason=row.reason,
        depends_on=tuple(clip(clean_line(name), 80) for name in story.depends_on),
    )


def choose_column(facts: PrdFacts, story: Story) -> Column:
    progress = facts.progress(story)
    if progress is BLOCKED:
        return Column.BLOCKED
    if progress in SETTLED_PROGRESS:
        return Column.COMPLETE
    if progress is WAITING or (progress is PAUSED and not facts.steps(story.id)):
        return Column.PENDING
    return Column.PASSING if is_story_passing(facts, story) else Column.IN_PROGRESS


def is_story_passing(facts: PrdFacts, story: Story) -> bool:
    """Whether GREEN is proved and no later run saw one of the story's tests fail."""
    cycle = facts.cycles.get(story.id)
    if cycle is None or cycle.state not in STATES_AFTER_GREEN or story.kind in UNTESTED_KINDS:
        return False
    tests = facts.tests(story.id)
    return bool(tests) and all(test.outcome == "passes" for test in tests)


def find_shown_phase(facts: PrdFacts, story: Story) -> str:
    """Return the next phase; for a settled story the last one; empty if nothing was started."""
    passed = [step.phase for step in facts.effective_steps(story.id) if step.phase in BOARD_PHASES]
    cycle = facts.cycles.get(story.id)
    if not passed and not (cycle and cycle.refused):
        return ""
    open_phase = None if facts.progress(story) in SETTLED_PROGRESS else find_open_phase(facts, story)
    return open_phase.value if open_phase else passed[-1].value if passed else ""


def count_attempts(facts: PrdFacts, story: Story, cycle: Cycle | None) -> int:
    """Count attempts: steps count those of passed phases, refused attempts the others."""
    if cycle is None:
        return 0
    passed = {step.phase for step in cycle.steps}
    counted = sum(step.attempts for step in facts.steps(story.id) if step.phase in BOARD_PHASES)
    return counted + sum(each.attempt > 0 for each in cycle.refused if each.phase not in passed)


def count_refused(cycle: Cycle | None) -> int:
    """Count refused attempts of roles; commits of people do not count."""
    return sum(each.attempt > 0 for each in cycle.refused) if cycle else 0


def count_columns(shown: tuple[StoryCard, ...]) -> tuple[ColumnCount, ...]:
    return sum_column_counts(ColumnCount(each.column, 1) for each in shown)
