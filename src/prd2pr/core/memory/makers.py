"""What a step teaches, made from its own records: no model is asked. Ids follow from story and step alone.

A session is one attempt at one phase. It is planned once for each role of the story, and counted as often as it was
tried.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from prd2pr.core.complexity import measure
from prd2pr.core.deeds import standing_steps
from prd2pr.core.estimate import ROLES_OF_TESTED_STORY, ROLES_OF_UNTESTED_STORY, guessed_minutes
from prd2pr.core.findings import FINDINGS
from prd2pr.core.memory.factor import Taken
from prd2pr.core.memory.files import record_id
from prd2pr.core.memory.records import ComplexitySnapshot, Decision, EstimateRecord, Failure, FileMeasure, Lesson
from prd2pr.core.records import (
    NOTHING_TO_REFACTOR,
    PLAIN_BY_MEASURE,
    UNTESTED_KINDS,
    Cycle,
    Design,
    Phase,
    Prd,
    RefusedAttempt,
    Spend,
    Story,
)
from prd2pr.core.testfacts_model import parse
from prd2pr.core.wording import clip, plain

WORKED = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.REFACTOR)
LONGEST_TEXT = 600
LONGEST_TITLE = 100
LONGEST_DECISION = 1200
MOST_LESSONS = 3
MOST_TOLD = 5
REFUSED = "Mind what was refused: "  # how a lesson begins that code has made
NO_LESSON = "Look at the refused attempts before trying the same again."


def planned_sessions(story: Story) -> int:
    return len(ROLES_OF_UNTESTED_STORY if story.kind in UNTESTED_KINDS else ROLES_OF_TESTED_STORY)


def planned_steps(story: Story) -> int:
    """A session for each role, and the integration, which is done by code."""
    return planned_sessions(story) + 1


# --- failures ---------------------------------------------------------------------------------------------------------


def failure_of(
    prd: str, story: Story, cycle: Cycle, *, step: int, at: str, blocked: str = "", lesson: str = ""
) -> Failure | None:
    """What was refused on the way, or why the story is blocked; None where all went well.

    `step`: the one that writes it down. `lesson`: what a model made of it; else code says what was wrong and passed.
    """
    refused = cycle.refused
    if not refused and not blocked:
        return None
    return Failure(
        id=record_id([story.id, step]),
        prd=prd,
        story=story.id,
        at=at,
        feature=clip(plain(story.title), LONGEST_TEXT),
        approach=approach_of(story, cycle),
        why_failed=reasons(refused, blocked),
        lesson=clip(plain(lesson), LONGEST_TEXT) or lesson_by_code(story, cycle),
        phase=refused[-1].phase.value if refused else "",
        codes=tuple(sorted({code for attempt in refused for code in attempt.codes})),
    )


def approach_of(story: Story, cycle: Cycle) -> str:
    if cycle.design is None:
        return clip(plain(story.description or story.title), LONGEST_TEXT)
    return clip(plain(" ".join((cycle.design.summary, *cycle.design.decisions))), LONGEST_TEXT)


def reasons(refused: Sequence[RefusedAttempt], blocked: str) -> str:
    """The block first, since it is the end of the story; then what was refused, each reason once."""
    told = dict.fromkeys(f"{attempt.phase.value}: {plain(attempt.summary)}" for attempt in refused)
    shown = [*([plain(blocked)] if blocked else []), *list(told)[-MOST_TOLD:]]
    return clip("; ".join(shown), 2 * LONGEST_TEXT)


def lesson_by_code(story: Story, cycle: Cycle) -> str:
    """What was wrong, the most frequent first, and where that stands which passed in the end. It is told to models, so
    what people could do about a finding is left out."""
    counted = Counter(code for attempt in cycle.refused for code in attempt.codes if code in FINDINGS)
    ordered = sorted(counted, key=lambda code: (-counted[code], code))[:MOST_LESSONS]
    wrong = "; ".join(f"{FINDINGS[code].title} ({code})" for code in ordered)
    told = " ".join((f"{REFUSED}{wrong}.", *passed_in_the_end(story, cycle)))
    return clip(plain(told), LONGEST_TEXT) if wrong else NO_LESSON


def passed_in_the_end(story: Story, cycle: Cycle) -> Iterator[str]:
    """Of the phases in which attempts were refused."""
    tried = {attempt.phase for attempt in cycle.refused}
    paths = (cycle.design.source_paths if cycle.design else ()) or story.source_paths
    for step in standing_steps(cycle.steps):
        if step.phase in tried and step.phase in WORKED:
            place = f", in {', '.join(paths)}" if paths and step.phase is not Phase.RED else ""
            yield f"{step.phase.value} passed at attempt {step.attempts}{place}."


def is_by_code(lesson: str) -> bool:
    return lesson == NO_LESSON or lesson.startswith(REFUSED)


# --- estimates --------------------------------------------------------------------------------------------------------


def estimate_of(
    prd: str, story: Story, cycle: Cycle, *, step: int, at: str, created: int = 0, modified: int = 0
) -> EstimateRecord:
    """What was guessed of a story, and what it came to. `cycle` has all steps in it, the integration too.

    The guess is without the factor of earlier stories: else a factor that is right would teach that none is needed.
    """
    spend = sum((each.spend for each in cycle.steps), Spend())
    return EstimateRecord(
        id=record_id([story.id, step]),
        prd=prd,
        story=story.id,
        at=at,
        feature=clip(plain(story.title), LONGEST_TEXT),
        estimated_minutes=guessed_minutes(story),
        actual_minutes=round(sum(each.seconds for each in cycle.steps) / 60, 3),
        estimated_sessions=planned_sessions(story),
        actual_sessions=sessions_taken(cycle),
        complexity=story.complexity,
        files_created=created,
        files_modified=modified,
        tokens=spend.tokens,
        usd=spend.usd,
    )


def sessions_taken(cycle: Cycle) -> int:
    """Every attempt at a phase that a role works on: those that crossed, those refused, and a look that changed
    nothing."""
    crossed = sum(step.phase in WORKED for step in cycle.steps)
    unchanged = (step.note for step in cycle.steps if step.note.startswith(NOTHING_TO_REFACTOR))
    looked = any(not note.startswith(PLAIN_BY_MEASURE) for note in unchanged)
    return crossed + len(cycle.refused) + int(looked)


# --- code -------------------------------------------------------------------------------------------------------------


def snapshot_of(prd: str, story: str, texts: Mapping[str, str], *, step: int, at: str) -> ComplexitySnapshot | None:
    """Of the source files that a story changed (path → text as it is now); None where it changed none."""
    files = tuple(file_measure(path, texts[path]) for path in sorted(texts))
    if not files:
        return None
    return ComplexitySnapshot(id=record_id([story, step]), prd=prd, story=story, at=at, files=files)


def file_measure(path: str, text: str) -> FileMeasure:
    measured = measure(text)
    return FileMeasure(
        path=path,
        lines=measured["lines"],
        functions=measured["functions"],
        dependencies=len(imported_modules(text)),
        complexity=measured["complexity_sum"],
    )


def imported_modules(text: str) -> frozenset[str]:
    """As they are written: `.points` is another module than `points`."""
    tree = parse(text)
    found: set[str] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(f"{'.' * node.level}{node.module or ''}")
    return frozenset(found)


# --- decisions --------------------------------------------------------------------------------------------------------


def decisions_of(prd: str, story: str, design: Design | None, *, step: int, at: str) -> tuple[Decision, ...]:
    """One for each that the design names; what it was decided for is the design's own summary."""
    texts = [plain(text) for text in (design.decisions if design else ()) if plain(text)]
    why = clip(plain(design.summary), LONGEST_TEXT) if design else ""
    return tuple(
        Decision(
            id=record_id([story, step, number]),
            prd=prd,
            story=story,
            at=at,
            title=clip(first_sentence(text), LONGEST_TITLE),
            text=clip(text, LONGEST_DECISION),
            why=why,
        )
        for number, text in enumerate(texts, 1)
    )


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;!?])\s", text, maxsplit=1)[0].rstrip(".;")


# --- the end of a PRD -------------------------------------------------------------------------------------------------


def retrospective_of(
    prd: Prd,
    estimates: Sequence[EstimateRecord],
    failures: Sequence[Failure],
    *,
    at: str,
    new_patterns: Sequence[str] = (),
) -> Lesson:
    """What code can tell of a PRD that is done: what took longer than planned, what failed and what to do about it."""
    over = [each for each in estimates if each.actual_sessions > each.estimated_sessions]
    surprises = [
        f"{each.story} took {each.actual_sessions} sessions, planned {each.estimated_sessions}" for each in over
    ]
    surprises += [f"{each.story}: {clip(each.why_failed, 200)}" for each in failures]
    minutes = Taken(sum(each.estimated_minutes for each in estimates), sum(each.actual_minutes for each in estimates))
    return Lesson(
        id=record_id([prd.id, "done", at.replace(":", "")]),
        prd=prd.id,
        at=at,
        feature=clip(plain(prd.title), LONGEST_TEXT),
        surprises=tuple(surprises),
        would_change=tuple(dict.fromkeys(each.lesson for each in failures)),
        new_patterns=tuple(new_patterns),
        variance=None if minutes.quotient is None else round(minutes.quotient, 3),
    )
