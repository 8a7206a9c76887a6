"""DECISIONS: what was decided for which story, the newest story first."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.core.living.words import beginning
from prd2pr.core.living.worked import LivingFacts, StoryDone
from prd2pr.core.memory.makers import LONGEST_DECISION
from prd2pr.core.memory.records import Decision, SpikeRecord
from prd2pr.core.wording import clip, plain

MOST_STORIES = 200
LONGEST_CONTEXT = 600


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


def decisions(facts: LivingFacts) -> DecisionsView:
    by_story: dict[tuple[str, str], list[Decision]] = {}
    for record in facts.memory.decisions:
        by_story.setdefault((record.prd, record.story), []).append(record)
    found = [(each.begun_at, of_story(each, by_story.pop((each.of.prd.id, each.id), []))) for each in facts.done()]
    found += [(records[0].at, of_memory(records)) for records in by_story.values()]
    ordered = sorted((each for each in found if each[1].rows), key=lambda each: each[1].story)
    ordered.sort(key=lambda each: each[0], reverse=True)
    return DecisionsView(
        stories=tuple(each for _, each in ordered[:MOST_STORIES]),
        more=max(0, len(ordered) - MOST_STORIES),
        assumptions=tuple(
            AssumptionGroup(worked.title, worked.backlog.assumptions)
            for worked in facts.prds
            if worked.backlog.assumptions and worked.done
        ),
        spikes=facts.memory.spikes,
    )


def of_story(done: StoryDone, remembered: list[Decision]) -> StoryDecisions:
    """The design's own; then what memory knows besides."""
    design = done.cycle.design
    told = tuple(design.decisions) if design else ()
    known = {clip(plain(text), LONGEST_DECISION) for text in told}
    more = [each for each in remembered if each.text not in known]
    rows = [(text, "") for text in told if text.strip()] + [(f"{each.title}. {each.text}", each.why) for each in more]
    return StoryDecisions(
        done.id,
        done.title,
        done.of.title,
        done.of.prd.path,
        done.begun_at[:10],
        beginning(done.story.description.strip() or (design.summary if design else ""), LONGEST_CONTEXT),
        tuple(DecisionRow(f"{done.id}.{number}", text, why) for number, (text, why) in enumerate(rows, 1)),
    )


def of_memory(records: list[Decision]) -> StoryDecisions:
    """Of a story whose own records are not here any more."""
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
