"""TRACE: requirement → story → criterion → test → step → verdict, as in the pull request."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from prd2pr.domain.records import Status
from prd2pr.domain.wording import clean_line, clip
from prd2pr.livingdocs.history import LivingFacts, PrdHistory
from prd2pr.views.models import RequirementRow, TracedTest, TraceRow
from prd2pr.views.pull_request.page import select_shown_stories
from prd2pr.views.stories.facts import PrdFacts
from prd2pr.views.stories.trace import build_requirement_rows, iter_trace_rows

# By file: test names without parameters, since the cases are unknown until the tests can be imported, each with its
# outcome, which is empty if all cases pass.
TestsByFile = dict[str, list[tuple[str, str]]]


class TracedStory(NamedTuple):
    id: str
    title: str
    requirements: tuple[str, ...]
    steps: list[tuple[str, str]]  # phase and the trailer Tdd-Step without the PRD's id, such as loyalty-1/3
    files: tuple[str, ...]  # files with its tests
    criteria: list[tuple[TraceRow, TestsByFile]]


def build_trace_view(facts: LivingFacts) -> dict[str, object]:
    prds = [trace_prd(worked) for worked in facts.prds if worked.started and not worked.partial]
    steps = (f"{worked.prd.id}/{name}" for worked, _, stories, _ in prds for each in stories for _, name in each.steps)
    return {
        "prds": prds,
        "not_traced": [worked.title for worked in facts.prds if worked.partial],  # these have too many stories
        "example": next(steps, ""),
    }


def trace_prd(worked: PrdHistory) -> tuple[PrdHistory, tuple[RequirementRow, ...], list[TracedStory], int]:
    """Return a PRD with its requirements, its stories and the number of stories that are not shown.

    Commits are identified by step, since a commit cannot contain its own SHA and a rebase changes it.
    """
    facts = PrdFacts(worked.prd, worked.backlog, Status(), worked.cycles, worked.proofs, {})
    near = select_shown_stories(facts)
    shown = PrdFacts(worked.prd, near, Status(), worked.cycles, worked.proofs, {})
    stories = list(trace_stories(worked, tuple(iter_trace_rows(shown))))
    return worked, build_requirement_rows(facts), stories, len(worked.backlog.stories) - len(near.stories)


def trace_stories(worked: PrdHistory, rows: tuple[TraceRow, ...]) -> Iterator[TracedStory]:
    started = {each.id: each for each in worked.started}
    planned = {clean_line(story.id): story for story in worked.backlog.stories}
    for story, of_story in groupby(rows, key=lambda row: row.story):
        own = tuple(of_story)
        gated = started[story].gated if story in started else ()
        steps = [(step.phase.value, f"{story}/{step.n}") for step in gated]
        criteria = [(row, group_tests_by_file(row.tests)) for row in own]
        files = dict.fromkeys(path for _, groups in criteria for path in groups)
        title = clip(clean_line(planned[story].title), 160)
        requirements = tuple(map(clean_line, planned[story].requirements))
        yield TracedStory(story, title, requirements, steps, tuple(files), criteria)


def group_tests_by_file(tests: tuple[TracedTest, ...]) -> TestsByFile:
    """Group tests by file, counting the cases of a test as one."""
    found: dict[str, dict[str, list[str]]] = {}
    for test in tests:
        path, _, name = test.id.partition("::")
        found.setdefault(path, {}).setdefault(name.partition("[")[0], []).append(test.outcome)
    return {
        path: [(name, next((each for each in outcomes if each != "passes"), "")) for name, outcomes in names.items()]
        for path, names in found.items()
    }
