"""Lessons of a sprint: a person's feedback, and deviations from the plan found in the records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.memory_records import Lesson
from prd2pr.domain.records import Cycle, Retrospective, Sprint, Story
from prd2pr.domain.wording import clean_line, clip, count

LATE_FACTOR = 1.5  # relative to the estimate
MAX_TEXT = 300
MAX_SURPRISES = 20  # surprises per sprint


# Feedback is free text. A part begins with `went well: …`, `improve: …` or `actions: …`, or with `+`, `-` or `>`
# at the start of a line.

RetrospectivePart = Literal["went_well", "improve", "actions"]
PART_PATTERNS: dict[RetrospectivePart, str] = {
    "went_well": r"(?:what )?went well|good|keep",
    "improve": r"(?:to |what to )?improve|bad|less",
    "actions": r"actions?|next time|to do|todo",
}
PART_SIGNS: dict[str, RetrospectivePart] = {"+": "went_well", "-": "improve", ">": "actions"}
PART_HEADING = re.compile(
    r"(?:^|(?<=[.;,\n]))\s*(?:"
    + "|".join(f"(?P<{part}>{words})" for part, words in PART_PATTERNS.items())
    + r")\s*:\s*",
    re.IGNORECASE,
)


def parse_retrospective(text: str, *, by: str, at: str) -> Retrospective:
    found: dict[RetrospectivePart, list[str]] = {part: [] for part in PART_PATTERNS}
    for line in text.splitlines():
        for part, body in split_parts(line.strip()):
            found[part] += [each for piece in body.split(";") if (each := piece.strip(" .,"))]
    return Retrospective(
        by=by,
        at=at,
        text=text.strip(),
        went_well=tuple(found["went_well"]),
        improve=tuple(found["improve"]),
        actions=tuple(found["actions"]),
    )


def split_parts(line: str) -> list[tuple[RetrospectivePart, str]]:
    if line[:1] in PART_SIGNS and line[1:2].isspace():
        return [(PART_SIGNS[line[0]], line[1:])]
    openings = list(PART_HEADING.finditer(line))
    starts = [*(opening.start() for opening in openings), len(line)]
    return [
        (find_matched_part(opening), line[opening.end() : starts[n]]) for n, opening in enumerate(openings, start=1)
    ]


def find_matched_part(opening: re.Match[str]) -> RetrospectivePart:
    return next(part for part in PART_PATTERNS if opening[part] is not None)


def build_sprint_lesson(found: BranchRecords, sprint: Sprint, feedback: Retrospective, decision: Decision) -> Lesson:
    stories = [story for story in found.backlog.stories if story.id in sprint.stories]
    suggestions = (*feedback.improve, *feedback.actions) or (
        (feedback.text,) if feedback.text and not feedback.went_well else ()
    )
    return Lesson(
        id=build_lesson_id(found.prd.id, sprint, decision.at),
        prd=found.prd.id,
        at=decision.at,
        feature=clip(clean_line(sprint.goal), MAX_TEXT),
        surprises=tuple(surprise for story in stories for surprise in find_surprises(found, story))[:MAX_SURPRISES],
        would_change=tuple(clip(clean_line(text), MAX_TEXT) for text in suggestions),
        variance=compute_variance(found, stories),
    )


def build_lesson_id(prd: str, sprint: Sprint, at: str) -> str:
    """Build a unique id with a timestamp, since sprint ids start again when a PRD is built another time."""
    stamp = at.replace("-", "").replace(":", "")
    return f"{prd[:60].rstrip('._-')}-{sprint.id}-{stamp}"


def find_surprises(found: BranchRecords, story: Story) -> Iterator[str]:
    """Yield deviations from the plan.

    Do not reword these texts: branches store them, and `verify` compares them.
    """
    cycle = found.cycle(story.id)
    if story.status == "skipped":
        yield f"{story.id} was left out"
    if cycle is None:
        return
    refused = Counter(each.phase.value for each in cycle.refused)
    for phase, times in refused.items():
        codes = sorted({code for each in cycle.refused if each.phase.value == phase for code in each.codes})
        yield f"{story.id}: {phase} was refused {count(times, 'time')} ({', '.join(codes)})"
    minutes = sum_cycle_minutes(cycle)
    if story.status == "done" and story.estimate_minutes and minutes > LATE_FACTOR * story.estimate_minutes:
        yield f"{story.id} took {minutes:.0f} min, and was estimated at {story.estimate_minutes}"


def compute_variance(found: BranchRecords, stories: list[Story]) -> float | None:
    """Return the ratio of actual to estimated minutes of the finished stories, or None without an estimate."""
    done = [(story, cycle) for story in stories if story.status == "done" and (cycle := found.cycle(story.id))]
    estimated = sum(story.estimate_minutes for story, _ in done)
    return round(sum(sum_cycle_minutes(cycle) for _, cycle in done) / estimated, 3) if estimated else None


def sum_cycle_minutes(cycle: Cycle) -> float:
    return sum(step.seconds for step in cycle.steps) / 60
