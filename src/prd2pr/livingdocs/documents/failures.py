"""FAILURES: refused attempts, failed stories, frequent findings and lessons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from prd2pr.domain.memory_records import FailureRecord, Lesson
from prd2pr.domain.records import CycleState, Phase
from prd2pr.livingdocs.history import LivingFacts, StoryHistory
from prd2pr.livingdocs.text import first_sentences
from prd2pr.memory.lessons import is_generated_lesson
from prd2pr.verification.findings import FINDINGS

MAX_FAILURES = 200
MAX_ATTEMPTS = 20  # of one story


class AttemptRow(NamedTuple):
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str
    became: str


class FailedStory(NamedTuple):
    """A story with refused attempts, from its own records or from memory."""

    story: str
    title: str
    tried: str
    attempts: tuple[AttemptRow, ...]
    more: int
    why: str  # if no attempts are recorded, or the story is blocked
    lesson: str


class CodeRow(NamedTuple):
    code: str
    title: str
    hint: str
    times: int


class LessonGroup(NamedTuple):
    title: str
    surprises: tuple[str, ...]
    would_change: tuple[str, ...]


class FailuresView(NamedTuple):
    failures: tuple[FailedStory, ...]
    more_failures: int
    codes: tuple[CodeRow, ...]
    lessons: tuple[LessonGroup, ...]
    stories: int  # started stories
    smooth: int  # of these, stories without a refusal


def build_failures_view(facts: LivingFacts) -> FailuresView:
    started = [each for worked in facts.prds for each in worked.started]
    failed = [*list_failed_stories(facts, started)]
    counted = Counter(code for each in started for attempt in each.cycle.refused for code in attempt.codes)
    looked_back = [collect_lessons(lesson, facts.memory.failures) for lesson in reversed(facts.memory.lessons)]
    return FailuresView(
        failures=tuple(failed[:MAX_FAILURES]),
        more_failures=max(0, len(failed) - MAX_FAILURES),
        codes=tuple(
            CodeRow(code, FINDINGS[code].title, FINDINGS[code].hint, counted[code])
            for code in sorted(counted, key=lambda code: (-counted[code], code))
            if code in FINDINGS
        ),
        lessons=tuple(each for each in looked_back if each.surprises or each.would_change),
        stories=len(started),
        smooth=sum(not each.cycle.refused for each in started),
    )


def list_failed_stories(facts: LivingFacts, started: list[StoryHistory]) -> Iterator[FailedStory]:
    """Yield failed stories, newest first: the story's own records with the latest failure from memory."""
    remembered = {(each.prd, each.story or each.id): each for each in facts.memory.failures}
    known = {(each.history.prd.id, each.id): each for each in started if each.cycle.refused}
    for key, each in reversed(known.items()):
        if key not in remembered:
            yield describe_failed_story(each, None)
    for key, failure in reversed(remembered.items()):
        yield describe_failed_story(known[key], failure) if key in known else describe_remembered_failure(failure)


def describe_failed_story(done: StoryHistory, failure: FailureRecord | None) -> FailedStory:
    """Describe a story from its records. A generated lesson is left out: it repeats the table of attempts."""
    refused = done.cycle.refused
    lesson = failure.lesson if failure and not is_generated_lesson(failure.lesson) else ""
    design = done.cycle.design
    rows = [
        AttemptRow(each.phase.value, each.attempt, each.codes, each.summary, describe_attempt_outcome(done, each.phase))
        for each in refused[-MAX_ATTEMPTS:]
    ]
    tried = failure.approach if failure else design.summary if design else ""
    more = max(0, len(refused) - MAX_ATTEMPTS)
    return FailedStory(done.id, done.title, first_sentences(tried), tuple(rows), more, done.cycle.blocked, lesson)


def describe_remembered_failure(failure: FailureRecord) -> FailedStory:
    """Describe a failure whose story has no records any more, or no attempts."""
    return FailedStory(
        failure.story, failure.feature, first_sentences(failure.approach), (), 0, failure.why_failed, failure.lesson
    )


def collect_lessons(lesson: Lesson, known: tuple[FailureRecord, ...]) -> LessonGroup:
    """Return a retrospective's lessons without those already listed with the failures."""
    stories = tuple(f"{each.story}: " for each in known if each.story)
    lessons = {each.lesson for each in known}
    return LessonGroup(
        lesson.feature,
        tuple(text for text in lesson.surprises if not text.startswith(stories)),
        tuple(text for text in lesson.would_change if text not in lessons),
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
