"""DECISIONS: design decisions by story, newest first; assumptions and spikes."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.domain.memory_records import DecisionRecord, SpikeRecord
from prd2pr.domain.wording import clean_line, clip
from prd2pr.livingdocs.history import LivingFacts, StoryHistory
from prd2pr.livingdocs.text import first_sentences
from prd2pr.memory.lessons import MAX_DECISION_LENGTH

MAX_STORIES = 200
MAX_CONTEXT = 600


class DecisionRow(NamedTuple):
    id: str  # of the story, and its number among the story's decisions
    text: str
    why: str = ""


class StoryDecisions(NamedTuple):
    story: str
    title: str
    prd: str
    prd_path: str
    date: str
    context: str
    rows: tuple[DecisionRow, ...]


class AssumptionGroup(NamedTuple):
    prd: str
    texts: tuple[str, ...]


class DecisionsView(NamedTuple):
    stories: tuple[StoryDecisions, ...]
    more: int
    assumptions: tuple[AssumptionGroup, ...]
    spikes: tuple[SpikeRecord, ...]


def build_decisions_view(facts: LivingFacts) -> DecisionsView:
    by_story: dict[tuple[str, str], list[DecisionRecord]] = {}
    for record in facts.memory.decisions:
        by_story.setdefault((record.prd, record.story), []).append(record)
    found = [
        (each.started_at, list_story_decisions(each, by_story.pop((each.history.prd.id, each.id), [])))
        for each in facts.done()
    ]
    found += [(records[0].at, list_remembered_decisions(records)) for records in by_story.values()]
    ordered = sorted((each for each in found if each[1].rows), key=lambda each: each[1].story)
    ordered.sort(key=lambda each: each[0], reverse=True)
    return DecisionsView(
        stories=tuple(each for _, each in ordered[:MAX_STORIES]),
        more=max(0, len(ordered) - MAX_STORIES),
        assumptions=tuple(
            AssumptionGroup(worked.title, worked.backlog.assumptions)
            for worked in facts.prds
            if worked.backlog.assumptions and worked.done
        ),
        spikes=facts.memory.spikes,
    )


def list_story_decisions(done: StoryHistory, remembered: list[DecisionRecord]) -> StoryDecisions:
    """Return the decisions of the design, then further ones from memory."""
    design = done.cycle.design
    own = tuple(design.decisions) if design else ()
    known = {clip(clean_line(text), MAX_DECISION_LENGTH) for text in own}
    more = [each for each in remembered if each.text not in known]
    rows = [(text, "") for text in own if text.strip()] + [(f"{each.title}. {each.text}", each.why) for each in more]
    return StoryDecisions(
        done.id,
        done.title,
        done.history.title,
        done.history.prd.path,
        done.started_at[:10],
        first_sentences(done.story.description.strip() or (design.summary if design else ""), MAX_CONTEXT),
        tuple(DecisionRow(f"{done.id}.{number}", text, why) for number, (text, why) in enumerate(rows, 1)),
    )


def list_remembered_decisions(records: list[DecisionRecord]) -> StoryDecisions:
    """Return the remembered decisions of a story whose own records no longer exist."""
    first = records[0]
    name = first.story or first.prd
    return StoryDecisions(
        name,
        "",
        first.prd,
        "",
        first.at[:10],
        first.why,
        tuple(DecisionRow(f"{name}.{number}", each.text or each.title) for number, each in enumerate(records, 1)),
    )
