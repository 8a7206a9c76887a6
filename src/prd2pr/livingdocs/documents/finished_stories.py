"""CHANGELOG, DECISIONS and ESTIMATES: the changes, decisions and effort of finished stories.

The changelog follows the format of Keep a Changelog. A person makes a release by moving lines out of the generated
part, under a heading with a version. A story whose id is named there counts as released and is not listed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prd2pr.domain.costs.estimate import get_guessed_minutes
from prd2pr.domain.memory_records import DecisionRecord, EstimateRecord
from prd2pr.domain.wording import clean_line, clip
from prd2pr.livingdocs.history import LivingFacts, StoryHistory
from prd2pr.livingdocs.mermaid import draw_bar_chart
from prd2pr.livingdocs.text import extract_first_sentences
from prd2pr.memory.correction_factor import CorrectionFactor, EffortPair, compute_mean_factor, make_finished_story
from prd2pr.memory.lessons import MAX_DECISION_LENGTH, count_planned_sessions, count_sessions
from prd2pr.views.untrusted_text import escape_line, format_code_span

SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
_SECTION_OF = {"feature": "Added", "bug": "Fixed"}  # all other kinds: Changed
MAX_ENTRIES = 300


def build_changelog_view(facts: LivingFacts) -> dict[str, object]:
    done = [each for each in facts.done() if not each.cycle.pre_implemented]  # nothing changed for users
    released = {each.id for each in done if is_story_named(each.id, facts.released)}
    unreleased = [each for each in done if each.id not in released]
    shown = unreleased[-MAX_ENTRIES:]
    sections = ((name, list(group_by_prd(shown, name))) for name in SECTIONS)
    return {
        "sections": [(name, groups) for name, groups in sections if groups],
        "more": len(unreleased) - len(shown),
        "released": bool(released),
    }


def group_by_prd(stories: list[StoryHistory], section: str) -> Iterator[tuple[str, list[StoryHistory]]]:
    own = [each for each in stories if _SECTION_OF.get(each.story.kind, "Changed") == section]
    for prd in dict.fromkeys(each.history.prd.id for each in own):
        of_prd = [each for each in own if each.history.prd.id == prd]
        yield of_prd[0].history.title, of_prd


def build_readme_view(facts: LivingFacts) -> dict[str, object]:
    return {"prds": [(worked, worked.done) for worked in facts.prds if worked.done]}


def list_changelog_entries(
    facts: LivingFacts, integrated: tuple[str, str] | None, listed: str, text: str
) -> list[tuple[str, str]]:
    """Return the entries to add to the project's own changelog, each with its section.

    The story that is being integrated gets one, and so do the stories named in an earlier generated changelog
    (`listed`). People may edit or delete the others. Refactorings and chores get none.
    """
    new = [
        each
        for each in facts.done()
        if ((each.history.prd.id, each.id) == integrated or is_story_named(each.id, listed))
        and not is_story_named(each.id, text)
        and not each.cycle.pre_implemented
    ]
    return [
        (_SECTION_OF[each.story.kind], f"{escape_line(each.title)} ({format_code_span(each.id)})")
        for each in new
        if each.story.kind in _SECTION_OF
    ]


def is_story_named(story: str, text: str) -> bool:
    """Return whether the text names exactly this story id, not `loyalty-12` or `my-loyalty-1` for `loyalty-1`."""
    return bool(re.search(rf"(?<![\w.-]){re.escape(story)}(?![\w-])", text))


MAX_STORIES = 200
MAX_CONTEXT = 600


class StoryDecisions(NamedTuple):
    story: str
    title: str
    prd: str
    prd_path: str
    date: str
    context: str
    rows: list[tuple[str, str, str]]  # id, text and reason; the id is the story's id with a number


def build_decisions_view(facts: LivingFacts) -> dict[str, object]:
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
    return {
        "stories": [each for _, each in ordered[:MAX_STORIES]],
        "more": max(0, len(ordered) - MAX_STORIES),
        "assumptions": [worked for worked in facts.prds if worked.backlog.assumptions and worked.done],
        "spikes": facts.memory.spikes,
    }


def list_story_decisions(done: StoryHistory, remembered: list[DecisionRecord]) -> StoryDecisions:
    """Return the decisions of the story's design, followed by those recorded in memory."""
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
        extract_first_sentences(done.story.description.strip() or (design.summary if design else ""), MAX_CONTEXT),
        [(f"{done.id}.{number}", text, why) for number, (text, why) in enumerate(rows, 1)],
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
        [(f"{name}.{number}", each.text or each.title, "") for number, each in enumerate(records, 1)],
    )


CHARTED = 12
LISTED = 200


class EstimateRow(NamedTuple):
    story: str
    title: str
    at: str
    complexity: int
    minutes: EffortPair
    sessions: EffortPair


def build_estimates_view(facts: LivingFacts) -> dict[str, object]:
    rows = sorted(list_estimate_rows(facts), key=lambda row: (row.at, row.story))
    replayed = frozenset(worked.prd.id for worked in facts.prds if worked.replayed)
    return {
        "rows": rows[: -LISTED - 1 : -1],
        "more": len(rows) - LISTED,
        "chart": draw_estimates(rows[-CHARTED:], "sessions" if replayed else "minutes"),
        "factor": compute_factor(facts, replayed),
        "replayed": bool(replayed),  # recorded answers take no time, so minutes are meaningless
    }


def compute_factor(facts: LivingFacts, replayed: frozenset[str]) -> CorrectionFactor:
    """Compute the correction factor as of the newest story, since documents must not depend on the clock."""
    stories = [make_finished_story(record) for record in facts.memory.estimates]
    return compute_mean_factor(stories, replayed, until=max((each.at for each in stories), default=0))


def draw_estimates(rows: Sequence[EstimateRow], unit: str) -> tuple[str, ...]:
    taken = [row.sessions if unit == "sessions" else row.minutes for row in rows]
    series = [each.estimated for each in taken], [each.actual for each in taken]
    return draw_bar_chart("Bars: estimated. Line: actual.", unit, [row.story for row in rows], series)


def list_estimate_rows(facts: LivingFacts) -> Iterator[EstimateRow]:
    """Yield a row per finished story, from memory or, if it is not recorded there, from its own records."""
    titles = {(each.history.prd.id, each.id): each.title for each in facts.done()}
    remembered = {(record.prd, record.story): record for record in facts.memory.estimates}
    for key, record in remembered.items():
        yield build_remembered_row(record, titles.get(key, record.feature))
    for each in facts.done():
        if (each.history.prd.id, each.id) not in remembered:
            yield build_recorded_row(each)


def build_remembered_row(record: EstimateRecord, title: str) -> EstimateRow:
    return EstimateRow(
        record.story or record.prd,
        title,
        record.at,
        record.complexity,
        EffortPair(record.estimated_minutes, record.actual_minutes),
        EffortPair(record.estimated_sessions, record.actual_sessions),
    )


def build_recorded_row(each: StoryHistory) -> EstimateRow:
    return EstimateRow(
        each.id,
        each.title,
        each.last_worked_at,
        each.story.complexity,
        EffortPair(get_guessed_minutes(each.story), each.minutes),
        EffortPair(count_planned_sessions(each.story), count_sessions(each.cycle)),
    )
