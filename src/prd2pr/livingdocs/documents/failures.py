"""FAILURES: refused attempts, failed stories, frequent findings and lessons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from prd2pr.domain.memory_records import FailureRecord, Lesson
from prd2pr.domain.records import CycleState, Phase, RefusedAttempt
from prd2pr.livingdocs.history import LivingFacts, StoryHistory
from prd2pr.livingdocs.text import extract_first_sentences
from prd2pr.memory.lessons import is_generated_lesson
from prd2pr.verification.findings import FINDINGS


class FailedStory(NamedTuple):
    """A story with refused attempts, from its own records or from memory."""

    story: str
    title: str
    tried: str
    attempts: list[tuple[RefusedAttempt, str]]  # each with its outcome
    why: str  # set if no attempts are recorded or the story is blocked
    lesson: str


def build_failures_view(facts: LivingFacts) -> dict[str, object]:
    started = [each for worked in facts.prds for each in worked.started]
    counted = Counter(code for each in started for attempt in each.cycle.refused for code in attempt.codes)
    looked_back = [collect_lessons(lesson, facts.memory.failures) for lesson in reversed(facts.memory.lessons)]
    return {
        "failures": [*list_failed_stories(facts, started)],
        "codes": [
            (FINDINGS[code], counted[code])
            for code in sorted(counted, key=lambda code: (-counted[code], code))
            if code in FINDINGS
        ],
        "lessons": [(title, *texts) for title, *texts in looked_back if any(texts)],
        "stories": len(started),
        "smooth": sum(not each.cycle.refused for each in started),
    }


def list_failed_stories(facts: LivingFacts, started: list[StoryHistory]) -> Iterator[FailedStory]:
    """Yield failed stories, newest first, from their own records and the latest failure in memory."""
    remembered = {(each.prd, each.story or each.id): each for each in facts.memory.failures}
    known = {(each.history.prd.id, each.id): each for each in started if each.cycle.refused}
    for key, each in reversed(known.items()):
        if key not in remembered:
            yield describe_failed_story(each, None)
    for key, failure in reversed(remembered.items()):
        yield describe_failed_story(known[key], failure) if key in known else describe_remembered_failure(failure)


def describe_failed_story(done: StoryHistory, failure: FailureRecord | None) -> FailedStory:
    """Describe a story from its records. A generated lesson is left out, since it repeats the table of attempts."""
    lesson = failure.lesson if failure and not is_generated_lesson(failure.lesson) else ""
    design = done.cycle.design
    attempts = [(each, describe_attempt_outcome(done, each.phase)) for each in done.cycle.refused]
    tried = failure.approach if failure else design.summary if design else ""
    return FailedStory(done.id, done.title, extract_first_sentences(tried), attempts, done.cycle.blocked, lesson)


def describe_remembered_failure(failure: FailureRecord) -> FailedStory:
    """Describe a failure recorded in memory, for a story without records or recorded attempts."""
    return FailedStory(
        failure.story,
        failure.feature,
        extract_first_sentences(failure.approach),
        [],
        failure.why_failed,
        failure.lesson,
    )


def collect_lessons(lesson: Lesson, known: tuple[FailureRecord, ...]) -> tuple[str, list[str], list[str]]:
    """Return a retrospective's lessons, except those that are already listed with the failures."""
    stories = tuple(f"{each.story}: " for each in known if each.story)
    lessons = {each.lesson for each in known}
    return (
        lesson.feature,
        [text for text in lesson.surprises if not text.startswith(stories)],
        [text for text in lesson.would_change if text not in lessons],
    )


def describe_attempt_outcome(done: StoryHistory, phase: Phase) -> str:
    if any(step.phase is phase for step in done.worked):
        return "a later attempt was accepted"
    if done.cycle.blocked:
        return "the story is blocked"
    if done.cycle.state is CycleState.ABORTED:
        return "the story was abandoned"
    if phase is Phase.REFACTOR and done.cycle.state is CycleState.COMMIT:
        return "dropped; the proved code was kept"
    return "completed another way" if done.cycle.state is CycleState.COMMIT else "still open"
