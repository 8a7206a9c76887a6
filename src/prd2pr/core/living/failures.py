"""FAILURES: what the gates refused on the way, what did not work, and what to do instead."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from prd2pr.core.findings import FINDINGS
from prd2pr.core.living.worked import LivingFacts, StoryDone
from prd2pr.core.memory.records import Failure, Lesson
from prd2pr.core.records import CycleState, Phase

MOST_FAILURES = 200
MOST_ATTEMPTS = 200


class AttemptRow(NamedTuple):
    story: str
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str
    became: str


class CodeRow(NamedTuple):
    code: str
    title: str
    hint: str
    times: int


class FailuresView(NamedTuple):
    failures: tuple[Failure, ...]
    more_failures: int
    attempts: tuple[AttemptRow, ...]
    more_attempts: int
    codes: tuple[CodeRow, ...]
    lessons: tuple[Lesson, ...]
    stories: int  # that were worked on
    smooth: int  # of these, without a refusal


def failures(facts: LivingFacts) -> FailuresView:
    begun = [each for worked in facts.prds for each in worked.begun]
    attempts = [row for each in begun for row in attempts_of(each)]
    told = tuple(reversed(facts.memory.failures))
    counted = Counter(code for row in attempts for code in row.codes)
    return FailuresView(
        failures=told[:MOST_FAILURES],
        more_failures=max(0, len(told) - MOST_FAILURES),
        attempts=tuple(attempts[:MOST_ATTEMPTS]),
        more_attempts=max(0, len(attempts) - MOST_ATTEMPTS),
        codes=tuple(
            CodeRow(code, FINDINGS[code].title, FINDINGS[code].hint, counted[code])
            for code in sorted(counted, key=lambda code: (-counted[code], code))
            if code in FINDINGS
        ),
        lessons=tuple(reversed([each for each in facts.memory.lessons if each.surprises or each.would_change])),
        stories=len(begun),
        smooth=sum(not each.cycle.refused for each in begun),
    )


def attempts_of(done: StoryDone) -> list[AttemptRow]:
    return [
        AttemptRow(done.id, each.phase.value, each.attempt, each.codes, each.summary, became(done, each.phase))
        for each in done.cycle.refused
    ]


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
