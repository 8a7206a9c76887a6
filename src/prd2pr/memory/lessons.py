"""Make memory records from the records of a step, without a model. Ids depend only on the story and step.

A session is one attempt at one phase. One is planned for each role of the story, and every attempt counts.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from prd2pr.domain.costs.estimate import ROLES_OF_TESTED_STORY, ROLES_OF_UNTESTED_STORY, get_guessed_minutes
from prd2pr.domain.machines.story_transitions import drop_undone_steps
from prd2pr.domain.memory_records import (
    ComplexitySnapshot,
    DecisionRecord,
    EstimateRecord,
    FailureRecord,
    FileMeasure,
    Lesson,
)
from prd2pr.domain.records import (
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
from prd2pr.domain.wording import clean_line, clip
from prd2pr.languages.python.complexity import measure
from prd2pr.languages.python.test_model.module import parse_python
from prd2pr.memory.correction_factor import EffortPair
from prd2pr.memory.files import make_record_id
from prd2pr.verification.findings import FINDINGS

WORKED_PHASES = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.REFACTOR)
MAX_TEXT_LENGTH = 600
MAX_TITLE_LENGTH = 100
MAX_DECISION_LENGTH = 1200
MAX_LESSONS = 3
MAX_REASONS = 5
REFUSED_PREFIX = "Mind what was refused: "  # start of a lesson made by code
NO_LESSON = "Look at the refused attempts before trying the same again."


def count_planned_sessions(story: Story) -> int:
    return len(ROLES_OF_UNTESTED_STORY if story.kind in UNTESTED_KINDS else ROLES_OF_TESTED_STORY)


def count_story_steps(story: Story) -> int:
    """Return one session for each role, plus the integration."""
    return count_planned_sessions(story) + 1


# --- failures ---------------------------------------------------------------------------------------------------------


def make_failure_record(
    prd: str, story: Story, cycle: Cycle, *, step: int, at: str, blocked: str = "", lesson: str = ""
) -> FailureRecord | None:
    """Record the refused attempts, or why the story is blocked. Return None if nothing failed.

    `step` is the step that saves the record. `lesson` is written by a model; without it, code describes the findings
    and what passed.
    """
    refused = tuple(each for each in cycle.refused if not (cycle.pre_implemented and each.codes == ("RED105",)))
    if not refused and not blocked:
        return None
    return FailureRecord(
        id=make_record_id([story.id, step]),
        prd=prd,
        story=story.id,
        at=at,
        feature=clip(clean_line(story.title), MAX_TEXT_LENGTH),
        approach=describe_approach(story, cycle),
        why_failed=join_reasons(refused, blocked),
        lesson=clip(clean_line(lesson), MAX_TEXT_LENGTH) or make_lesson(story, cycle),
        phase=refused[-1].phase.value if refused else "",
        codes=tuple(sorted({code for attempt in refused for code in attempt.codes})),
    )


def describe_approach(story: Story, cycle: Cycle) -> str:
    if cycle.design is None:
        return clip(clean_line(story.description or story.title), MAX_TEXT_LENGTH)
    return clip(clean_line(" ".join((cycle.design.summary, *cycle.design.decisions))), MAX_TEXT_LENGTH)


def join_reasons(refused: Sequence[RefusedAttempt], blocked: str) -> str:
    """Join the reason for the block with each distinct reason for a refusal."""
    summaries = dict.fromkeys(f"{attempt.phase.value}: {clean_line(attempt.summary)}" for attempt in refused)
    shown = [*([clean_line(blocked)] if blocked else []), *list(summaries)[-MAX_REASONS:]]
    return clip("; ".join(shown), 2 * MAX_TEXT_LENGTH)


def make_lesson(story: Story, cycle: Cycle) -> str:
    """Describe the most frequent findings first, and then where the solution that passed is.

    Models read this text, so hints for people are left out.
    """
    counts = Counter(code for attempt in cycle.refused for code in attempt.codes if code in FINDINGS)
    ordered = sorted(counts, key=lambda code: (-counts[code], code))[:MAX_LESSONS]
    wrong = "; ".join(f"{FINDINGS[code].title} ({code})" for code in ordered)
    text = " ".join((f"{REFUSED_PREFIX}{wrong}.", *describe_passed_phases(story, cycle)))
    return clip(clean_line(text), MAX_TEXT_LENGTH) if wrong else NO_LESSON


def describe_passed_phases(story: Story, cycle: Cycle) -> Iterator[str]:
    """Describe the phases that passed after refused attempts."""
    tried = {attempt.phase for attempt in cycle.refused}
    paths = (cycle.design.source_paths if cycle.design else ()) or story.source_paths
    for step in drop_undone_steps(cycle.steps):
        if step.phase in tried and step.phase in WORKED_PHASES:
            place = f", in {', '.join(paths)}" if paths and step.phase is not Phase.RED else ""
            yield f"{step.phase.value} passed at attempt {step.attempts}{place}."


def is_generated_lesson(lesson: str) -> bool:
    return lesson == NO_LESSON or lesson.startswith(REFUSED_PREFIX)


# --- estimates --------------------------------------------------------------------------------------------------------


def make_estimate_record(
    prd: str, story: Story, cycle: Cycle, *, step: int, at: str, created: int = 0, modified: int = 0
) -> EstimateRecord:
    """Record a story's estimated and actual effort. `cycle` has all steps, including the integration.

    The estimate is the one without the correction factor; otherwise a correct factor would suggest that none is needed.
    """
    spend = sum((each.spend for each in cycle.steps), Spend())
    return EstimateRecord(
        id=make_record_id([story.id, step]),
        prd=prd,
        story=story.id,
        at=at,
        feature=clip(clean_line(story.title), MAX_TEXT_LENGTH),
        estimated_minutes=get_guessed_minutes(story),
        actual_minutes=round(sum(each.seconds for each in cycle.steps) / 60, 3),
        estimated_sessions=count_planned_sessions(story),
        actual_sessions=count_sessions(cycle),
        complexity=story.complexity,
        files_created=created,
        files_modified=modified,
        tokens=spend.tokens,
        usd=spend.usd,
    )


def count_sessions(cycle: Cycle) -> int:
    """Count every attempt at a phase of a role: passed, refused, and checks that changed nothing."""
    passed = sum(step.phase in WORKED_PHASES for step in cycle.steps)
    unchanged = (step.note for step in cycle.steps if step.note.startswith(NOTHING_TO_REFACTOR))
    checked = any(not note.startswith(PLAIN_BY_MEASURE) for note in unchanged)
    return passed + len(cycle.refused) + int(checked)


# --- code -------------------------------------------------------------------------------------------------------------


def make_complexity_snapshot(
    prd: str, story: str, texts: Mapping[str, str], *, step: int, at: str
) -> ComplexitySnapshot | None:
    """Measure the source files that a story changed; return None if it changed none.

    `texts` maps each path to its current text.
    """
    files = tuple(measure_file(path, texts[path]) for path in sorted(texts))
    if not files:
        return None
    return ComplexitySnapshot(id=make_record_id([story, step]), prd=prd, story=story, at=at, files=files)


def measure_file(path: str, text: str) -> FileMeasure:
    measured = measure(text)
    return FileMeasure(
        path=path,
        lines=measured["lines"],
        functions=measured["functions"],
        dependencies=len(list_imported_modules(text)),
        complexity=measured["complexity_sum"],
    )


def list_imported_modules(text: str) -> frozenset[str]:
    """Return module names as written, since `.points` and `points` are different modules."""
    tree = parse_python(text)
    found: set[str] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(f"{'.' * node.level}{node.module or ''}")
    return frozenset(found)


# --- decisions --------------------------------------------------------------------------------------------------------


def make_decisions(prd: str, story: str, design: Design | None, *, step: int, at: str) -> tuple[DecisionRecord, ...]:
    """Make one record for each decision of the design. A design gives no reasons for single decisions."""
    texts = [clean_line(text) for text in (design.decisions if design else ()) if clean_line(text)]
    return tuple(
        DecisionRecord(
            id=make_record_id([story, step, number]),
            prd=prd,
            story=story,
            at=at,
            title=clip(extract_first_sentence(text), MAX_TITLE_LENGTH),
            text=clip(text, MAX_DECISION_LENGTH),
        )
        for number, text in enumerate(texts, 1)
    )


def extract_first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;!?])\s", text, maxsplit=1)[0].rstrip(".;")


# --- the end of a PRD -------------------------------------------------------------------------------------------------


def make_retrospective(
    prd: Prd,
    estimates: Sequence[EstimateRecord],
    failures: Sequence[FailureRecord],
    *,
    at: str,
    new_patterns: Sequence[str] = (),
) -> Lesson:
    """Report on a finished PRD without a model: what took longer than planned, what failed, and the lessons."""
    over = [each for each in estimates if each.actual_sessions > each.estimated_sessions]
    surprises = [
        f"{each.story} took {each.actual_sessions} sessions, planned {each.estimated_sessions}" for each in over
    ]
    surprises += [f"{each.story}: {clip(each.why_failed, 200)}" for each in failures]
    minutes = EffortPair(
        sum(each.estimated_minutes for each in estimates), sum(each.actual_minutes for each in estimates)
    )
    return Lesson(
        id=make_record_id([prd.id, "done", at.replace(":", "")]),
        prd=prd.id,
        at=at,
        feature=clip(clean_line(prd.title), MAX_TEXT_LENGTH),
        surprises=tuple(surprises),
        would_change=tuple(dict.fromkeys(each.lesson for each in failures)),
        new_patterns=tuple(new_patterns),
        variance=None if minutes.quotient is None else round(minutes.quotient, 3),
    )
