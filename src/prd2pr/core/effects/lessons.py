"""What a sprint has taught: the person's words, and what the records show that nobody had planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prd2pr.core.decision import Decision
from prd2pr.core.found import Found
from prd2pr.core.memory.records import Lesson
from prd2pr.core.records import Cycle, Retrospective, Sprint, Story
from prd2pr.core.wording import clip, count, plain

LATE = 1.5  # times the estimate
LONGEST = 300
MOST = 20  # surprises of one sprint


def lesson_of(found: Found, sprint: Sprint, said: Retrospective, decision: Decision) -> Lesson:
    stories = [story for story in found.backlog.stories if story.id in sprint.stories]
    asked_for = (*said.improve, *said.actions) or ((said.text,) if said.text and not said.went_well else ())
    return Lesson(
        id=lesson_id(found.prd.id, sprint, decision.at),
        prd=found.prd.id,
        at=decision.at,
        feature=clip(plain(sprint.goal), LONGEST),
        surprises=tuple(surprise for story in stories for surprise in surprises(found, story))[:MOST],
        would_change=tuple(clip(plain(text), LONGEST) for text in asked_for),
        variance=variance(found, stories),
    )


def lesson_id(prd: str, sprint: Sprint, at: str) -> str:
    """A PRD that is built in another round has a first sprint again; the moment tells them apart."""
    stamp = at.replace("-", "").replace(":", "")
    return f"{prd[:60].rstrip('._-')}-{sprint.id}-{stamp}"


def surprises(found: Found, story: Story) -> Iterator[str]:
    cycle = found.cycle(story.id)
    if story.status == "skipped":
        yield f"{story.id} was left out"
    if cycle is None:
        return
    refused = Counter(each.phase.value for each in cycle.refused)
    for phase, times in refused.items():
        codes = sorted({code for each in cycle.refused if each.phase.value == phase for code in each.codes})
        yield f"{story.id}: {phase} was refused {count(times, 'time')} ({', '.join(codes)})"
    minutes = took(cycle)
    if story.status == "done" and story.estimate_minutes and minutes > LATE * story.estimate_minutes:
        yield f"{story.id} took {minutes:.0f} min, and was estimated at {story.estimate_minutes}"


def variance(found: Found, stories: list[Story]) -> float | None:
    """Actual minutes ÷ estimated, of what was built."""
    done = [(story, cycle) for story in stories if story.status == "done" and (cycle := found.cycle(story.id))]
    estimated = sum(story.estimate_minutes for story, _ in done)
    return round(sum(took(cycle) for _, cycle in done) / estimated, 3) if estimated else None


def took(cycle: Cycle) -> float:
    return sum(step.seconds for step in cycle.steps) / 60
