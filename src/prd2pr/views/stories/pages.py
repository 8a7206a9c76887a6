"""The story page in the style of a lab notebook: criteria, evidence of each phase, refused attempts."""

from __future__ import annotations

import base64

from prd2pr.domain.records import Cycle, Phase, RefusedWriteRecord, Requirement, Story
from prd2pr.domain.remarks import collect_remarks
from prd2pr.domain.wording import clean_line, clip, escape_invisible
from prd2pr.prd.requirement_ids import get_requirement_key
from prd2pr.views.models import (
    MAX_TITLE,
    PageView,
    RefusalView,
    RefusedWriteView,
    StoryCard,
    StoryView,
    make_html_anchor,
)
from prd2pr.views.stories.cards import build_card
from prd2pr.views.stories.facts import PrdFacts
from prd2pr.views.stories.steps import build_step_view, format_line_coverage
from prd2pr.views.stories.trace import build_requirement_rows, build_trace_row, find_covering_keys

MAX_TEXT = 2000


def build_story_view(facts: PrdFacts, story: Story, card: StoryCard | None = None) -> StoryView:
    """Build the story page. Pass the story's `card` if it was already built."""
    cycle = facts.cycles.get(story.id) or Cycle(story=story.id)
    design = cycle.design
    return StoryView(
        **dict(card or build_card(facts, story)),
        prd_title=clip(clean_line(facts.prd.title), MAX_TITLE),
        prd_path=escape_invisible(facts.prd.path),
        branch=escape_invisible(facts.branch),
        description=clip(clean_line(story.description), MAX_TEXT),
        requirements=build_requirement_rows(
            facts, [each for each in facts.prd.requirements if is_served_by(facts, each, story)]
        ),
        criteria=tuple(build_trace_row(facts, story, criterion) for criterion in story.criteria),
        design=clip(clean_line(design.summary), MAX_TEXT) if design else "",
        decisions=tuple(clip(clean_line(each), 300) for each in design.decisions) if design else (),
        symbols=tuple(clip(escape_invisible(each.declaration), 300) for each in design.symbols) if design else (),
        steps=tuple(build_step_view(facts, story.id, step) for step in cycle.steps),
        refusals=build_refusal_views(facts, story),
        refused_writes=tuple(build_refused_write(story.id, each) for each in cycle.refused_writes),
        remarks=collect_remarks(facts.roles_by_story.get(story.id, ())),
        pages=build_page_views(facts, story.id),
        coverage=format_line_coverage(*facts.find_line_coverage(story.id)) if cycle.line_coverage else "",
    )


def is_served_by(facts: PrdFacts, requirement: Requirement, story: Story) -> bool:
    return not find_covering_keys(facts, requirement).isdisjoint(map(get_requirement_key, story.requirements))


def build_refusal_views(facts: PrdFacts, story: Story) -> tuple[RefusalView, ...]:
    cycle = facts.cycles.get(story.id)
    return tuple(
        RefusalView(
            phase=attempt.phase.value,
            attempt=attempt.attempt,
            codes=tuple(clean_line(code) for code in attempt.codes),
            summary=clip(clean_line(attempt.summary), 600),
            crossed=facts.last_step(story.id, attempt.phase) is not None,
            story=clean_line(story.id),
            anchor=make_html_anchor("refused", story.id, number),
        )
        for number, attempt in enumerate(cycle.refused if cycle else (), 1)
    )


def build_page_views(facts: PrdFacts, story: str) -> tuple[PageView, ...]:
    """Build the screenshots. Image data is included only if it matches the digest in the evidence."""
    step = facts.last_step(story, Phase.INTEGRATED)
    proof = facts.proof(story, step) if step else None
    return tuple(
        PageView(
            path=clip(escape_invisible(each.path), 200),
            file=escape_invisible(each.file),
            digest=escape_invisible(each.digest),
            data=base64.b64encode(facts.files.get(each.digest, b"")).decode(),
            sha=facts.sha(story, step) if step else "",
        )
        for each in (proof.evidence.pages if proof else ())
    )


def build_refused_write(story: str, write: RefusedWriteRecord) -> RefusedWriteView:
    return sanitize_refused_write(RefusedWriteView(story, write.phase.value, write.path, write.code, write.message))


def sanitize_refused_write(write: RefusedWriteView) -> RefusedWriteView:
    return RefusedWriteView(
        clean_line(write.story),
        clean_line(write.phase),
        escape_invisible(write.path),
        clean_line(write.code),
        clip(clean_line(write.message), 300),
    )
