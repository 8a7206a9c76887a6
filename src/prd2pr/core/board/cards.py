"""One card for each story: where it stands, what it took."""

from __future__ import annotations

from prd2pr.core.board.source import PrdSource
from prd2pr.core.board.view import Column, ColumnCount, StoryCard, added_counts
from prd2pr.core.picture_board import first_open, story_row
from prd2pr.core.picture_facts import BLOCKED, PAUSED, SETTLED_STANDINGS, WAITING, BranchFacts
from prd2pr.core.picture_parts import BOARD_PHASES
from prd2pr.core.records import UNTESTED_KINDS, Cycle, CycleState, Spend, Story
from prd2pr.core.wording import clip, plain

# Past the gate of GREEN.
PAST_GREEN = (CycleState.REFACTOR, CycleState.COMMIT)


def cards(source: PrdSource) -> tuple[StoryCard, ...]:
    return tuple(card(source, story) for story in source.facts.backlog.stories)


def card(source: PrdSource, story: Story) -> StoryCard:
    facts = source.facts
    row = story_row(facts, story)
    steps = facts.steps(story.id)
    cycle = facts.cycles.get(story.id)
    return StoryCard(
        repo=source.repo,
        prd=facts.prd.id,
        id=row.id,
        title=row.title,
        kind=row.kind,
        column=column_of(facts, story),
        outcome=row.outcome,
        tone=row.tone,
        phase=phase_of(facts, story),
        attempts=attempts(facts, story, cycle),
        refused=refused(cycle),
        spend=sum((step.spend for step in steps), Spend()),
        seconds=sum(step.seconds for step in steps),
        since=max((step.at for step in steps), default=source.planned_at),
        cells=row.cells,
        tests=row.tests,
        bite=row.bite,
        reason=row.reason,
        depends_on=tuple(clip(plain(name), 80) for name in story.depends_on),
    )


def column_of(facts: BranchFacts, story: Story) -> Column:
    standing = facts.standing(story)
    if standing is BLOCKED:
        return Column.BLOCKED
    if standing in SETTLED_STANDINGS:
        return Column.COMPLETE
    if standing is WAITING or (standing is PAUSED and not facts.steps(story.id)):
        return Column.PENDING
    return Column.PASSING if passes(facts, story) else Column.IN_PROGRESS


def passes(facts: BranchFacts, story: Story) -> bool:
    """GREEN is proved, and no later run has seen one of its tests not passing."""
    cycle = facts.cycles.get(story.id)
    if cycle is None or cycle.state not in PAST_GREEN or story.kind in UNTESTED_KINDS:
        return False
    tests = facts.tests(story.id)
    return bool(tests) and all(test.outcome == "passes" for test in tests)


def phase_of(facts: BranchFacts, story: Story) -> str:
    """The phase that is due; of a settled story the last one; empty where nothing was begun."""
    crossed = [step.phase for step in facts.standing_steps(story.id) if step.phase in BOARD_PHASES]
    cycle = facts.cycles.get(story.id)
    if not crossed and not (cycle and cycle.refused):
        return ""
    due = None if facts.standing(story) in SETTLED_STANDINGS else first_open(facts, story)
    return due.value if due else crossed[-1].value if crossed else ""


def attempts(facts: BranchFacts, story: Story, cycle: Cycle | None) -> int:
    """Those that crossed a phase were counted with it; the others stand among the refused."""
    if cycle is None:
        return 0
    crossed = {step.phase for step in cycle.steps}
    counted = sum(step.attempts for step in facts.steps(story.id) if step.phase in BOARD_PHASES)
    return counted + sum(each.attempt > 0 for each in cycle.refused if each.phase not in crossed)


def refused(cycle: Cycle | None) -> int:
    """Of the roles; what people pushed is counted as none."""
    return sum(each.attempt > 0 for each in cycle.refused) if cycle else 0


def counted(shown: tuple[StoryCard, ...]) -> tuple[ColumnCount, ...]:
    return added_counts(ColumnCount(each.column, 1) for each in shown)
