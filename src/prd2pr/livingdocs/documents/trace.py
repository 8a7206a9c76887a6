"""TRACE: requirement → story → criterion → test → step → verdict, as in the pull request."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from prd2pr.domain.records import Status
from prd2pr.domain.wording import clean_line, clip
from prd2pr.livingdocs.history import LivingFacts, PrdHistory, StoryHistory
from prd2pr.views.models import RequirementRow, TracedTest, TraceRow
from prd2pr.views.pull_request.page import select_shown_stories
from prd2pr.views.stories.facts import PrdFacts
from prd2pr.views.stories.trace import build_requirement_rows, iter_trace_rows, list_uncovered_requirements


class StepName(NamedTuple):
    phase: str
    name: str  # loyalty-1/3: the trailer Tdd-Step without the PRD's id


class NamedTest(NamedTuple):
    name: str  # without parameters: the cases are unknown until the tests can be imported
    outcome: str  # empty if all cases pass


class TestedFile(NamedTuple):
    path: str
    tests: tuple[NamedTest, ...]


class TracedCriterion(NamedTuple):
    row: TraceRow
    groups: tuple[TestedFile, ...]


class TracedStory(NamedTuple):
    """A story with its steps, test files and criteria."""

    id: str
    title: str
    requirements: tuple[str, ...]
    steps: tuple[StepName, ...]
    files: tuple[str, ...]  # that its tests are in
    criteria: tuple[TracedCriterion, ...]


class TracedPrd(NamedTuple):
    id: str
    title: str
    path: str
    requirements: tuple[RequirementRow, ...]
    uncovered: tuple[str, ...]
    stories: tuple[TracedStory, ...]
    more: int


class TraceView(NamedTuple):
    prds: tuple[TracedPrd, ...]
    not_traced: tuple[str, ...]  # PRDs with too many stories to trace
    example: str  # the name of an existing step


def build_trace_view(facts: LivingFacts) -> TraceView:
    prds = tuple(trace_prd(worked) for worked in facts.prds if worked.started and not worked.partial)
    names = (f"{prd.id}/{step.name}" for prd in prds for each in prd.stories for step in each.steps)
    return TraceView(prds, tuple(worked.title for worked in facts.prds if worked.partial), next(names, ""))


def trace_prd(worked: PrdHistory) -> TracedPrd:
    """Trace one PRD. Commits are named by step: a commit cannot contain its own SHA, and a rebase changes it."""
    facts = PrdFacts(worked.prd, worked.backlog, Status(), worked.cycles, worked.proofs, {})
    near = select_shown_stories(facts)
    shown = PrdFacts(worked.prd, near, Status(), worked.cycles, worked.proofs, {})
    requirements = build_requirement_rows(facts)
    return TracedPrd(
        worked.prd.id,
        worked.title,
        worked.prd.path,
        requirements,
        list_uncovered_requirements(requirements),
        tuple(trace_stories(worked, tuple(iter_trace_rows(shown)))),
        len(worked.backlog.stories) - len(near.stories),
    )


def trace_stories(worked: PrdHistory, rows: tuple[TraceRow, ...]) -> Iterator[TracedStory]:
    started = {each.id: each for each in worked.started}
    titles = {clean_line(story.id): clip(clean_line(story.title), 160) for story in worked.backlog.stories}
    for story, of_story in groupby(rows, key=lambda row: row.story):
        own = tuple(of_story)
        steps = list_step_names(started[story]) if story in started else ()
        criteria = tuple(TracedCriterion(row, group_tests_by_file(row.tests)) for row in own)
        files = dict.fromkeys(group.path for each in criteria for group in each.groups)
        yield TracedStory(story, titles.get(story, ""), own[0].requirements, steps, tuple(files), criteria)


def group_tests_by_file(tests: tuple[TracedTest, ...]) -> tuple[TestedFile, ...]:
    """Group tests by file, with the cases of a test as one."""
    found: dict[str, dict[str, list[str]]] = {}
    for test in tests:
        path, _, name = test.id.partition("::")
        found.setdefault(path, {}).setdefault(name.partition("[")[0], []).append(test.outcome)
    return tuple(
        TestedFile(path, tuple(summarize_test(name, outcomes) for name, outcomes in names.items()))
        for path, names in found.items()
    )


def summarize_test(name: str, outcomes: list[str]) -> NamedTest:
    others = [outcome for outcome in outcomes if outcome != "passes"]
    return NamedTest(name, others[0] if others else "")


def list_step_names(done: StoryHistory) -> tuple[StepName, ...]:
    return tuple(StepName(step.phase.value, f"{done.id}/{step.n}") for step in done.gated)
