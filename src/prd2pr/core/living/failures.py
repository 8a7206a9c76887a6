"""FAILURES: what the gates refused on the way, what did not work, and what to do instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from prd2pr.core.findings import FINDINGS
from prd2pr.core.living.words import beginning
from prd2pr.core.living.worked import LivingFacts, StoryDone
from prd2pr.core.memory.makers import is_by_code
from prd2pr.core.memory.records import Failure, Lesson
from prd2pr.core.records import CycleState, Phase

MOST_FAILURES = 200
MOST_ATTEMPTS = 20  # of one story


class AttemptRow(NamedTuple):
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str
    became: str


class FailedStory(NamedTuple):
    """What its own records say; else what memory keeps of it."""

    story: str
    title: str
    tried: str
    attempts: tuple[AttemptRow, ...]
    more: int
    why: str  # where no attempts are on record, or the story is blocked
    lesson: str


class CodeRow(NamedTuple):
    code: str
    title: str
    hint: str
    times: int


class LookedBack(NamedTuple):
    title: str
    surprises: tuple[str, ...]
    would_change: tuple[str, ...]


class FailuresView(NamedTuple):
    failures: tuple[FailedStory, ...]
    more_failures: int
    codes: tuple[CodeRow, ...]
    lessons: tuple[LookedBack, ...]
    stories: int  # that were worked on
    smooth: int  # of these, without a refusal


def failures(facts: LivingFacts) -> FailuresView:
    begun = [each for worked in facts.prds for each in worked.begun]
    told = [*failed_stories(facts, begun)]
    counted = Counter(code for each in begun for attempt in each.cycle.refused for code in attempt.codes)
    looked_back = [looking_back(lesson, facts.memory.failures) for lesson in reversed(facts.memory.lessons)]
    return FailuresView(
        failures=tuple(told[:MOST_FAILURES]),
        more_failures=max(0, len(told) - MOST_FAILURES),
        codes=tuple(
            CodeRow(code, FINDINGS[code].title, FINDINGS[code].hint, counted[code])
            for code in sorted(counted, key=lambda code: (-counted[code], code))
            if code in FINDINGS
        ),
        lessons=tuple(each for each in looked_back if each.surprises or each.would_change),
        stories=len(begun),
        smooth=sum(not each.cycle.refused for each in begun),
    )


def failed_stories(facts: LivingFacts, begun: list[StoryDone]) -> Iterator[FailedStory]:
    """The newest first: of a story the last word that memory has, and what its own records say."""
    remembered = {(each.prd, each.story or each.id): each for each in facts.memory.failures}
    known = {(each.of.prd.id, each.id): each for each in begun if each.cycle.refused}
    for key, each in reversed(known.items()):
        if key not in remembered:
            yield failed(each, None)
    for key, failure in reversed(remembered.items()):
        yield failed(known[key], failure) if key in known else of_memory(failure)


def failed(done: StoryDone, failure: Failure | None) -> FailedStory:
    """A lesson that code made repeats what the table of its attempts says."""
    refused = done.cycle.refused
    lesson = failure.lesson if failure and not is_by_code(failure.lesson) else ""
    design = done.cycle.design
    rows = [
        AttemptRow(each.phase.value, each.attempt, each.codes, each.summary, became(done, each.phase))
        for each in refused[-MOST_ATTEMPTS:]
    ]
    tried = failure.approach if failure else design.summary if design else ""
    more = max(0, len(refused) - MOST_ATTEMPTS)
    return FailedStory(done.id, done.title, beginning(tried), tuple(rows), more, done.cycle.blocked, lesson)


def of_memory(failure: Failure) -> FailedStory:
    """Of a story whose own records are not here any more, or that no attempt was made at."""
    return FailedStory(
        failure.story, failure.feature, beginning(failure.approach), (), 0, failure.why_failed, failure.lesson
    )


def looking_back(lesson: Lesson, told: tuple[Failure, ...]) -> LookedBack:
    """Without what the failures above have said already."""
    stories = tuple(f"{each.story}: " for each in told if each.story)
    lessons = {each.lesson for each in told}
    return LookedBack(
        lesson.feature,
        tuple(text for text in lesson.surprises if not text.startswith(stories)),
        tuple(text for text in lesson.would_change if text not in lessons),
    )


def became(done: StoryDone, phase: Phase) -> str:
    if any(step.phase is phase for step in done.worked):
        return "a later attempt was accepted"
    if done.cycle.blocked:
        return "the story is blocked"
    if done.cycle.state is CycleState.ABORTED:
        return "the story was given up"
    if phase is Phase.REFACTOR and done.cycle.state is CycleState.COMMIT:
        return "dropped; the code stayed as it was proved"
    return "done by other means" if done.cycle.state is CycleState.COMMIT else "still open"
