"""TRACE: requirement → story → criterion → test → step → verdict, made as the pull request's own trace is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from prd2pr.core.living.worked import LivingFacts, StoryDone, WorkedPrd
from prd2pr.core.picture import window
from prd2pr.core.picture_facts import BranchFacts
from prd2pr.core.picture_parts import RequirementRow, TracedTest, TraceRow
from prd2pr.core.picture_trace import requirement_rows, trace_rows, uncovered
from prd2pr.core.records import Status
from prd2pr.core.wording import clip, plain


class StepName(NamedTuple):
    phase: str
    name: str  # loyalty-1/3, as in the trailer Tdd-Step after the PRD's id


class NamedTest(NamedTuple):
    name: str  # without its parameters: how many cases there are is known only once the tests can be imported
    outcome: str  # empty where all cases pass


class TestedFile(NamedTuple):
    path: str
    tests: tuple[NamedTest, ...]


class TracedCriterion(NamedTuple):
    row: TraceRow
    groups: tuple[TestedFile, ...]


class TracedStory(NamedTuple):
    """With what all of its criteria have in common."""

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
    untold: tuple[str, ...]  # PRDs with more stories than can be traced here
    example: str  # the name of a step that there is


def trace(facts: LivingFacts) -> TraceView:
    prds = tuple(traced(worked) for worked in facts.prds if worked.begun and not worked.partial)
    names = (f"{prd.id}/{step.name}" for prd in prds for each in prd.stories for step in each.steps)
    return TraceView(prds, tuple(worked.title for worked in facts.prds if worked.partial), next(names, ""))


def traced(worked: WorkedPrd) -> TracedPrd:
    """Commits are named by their steps: no commit can hold its own SHA, and none keeps it through a rebase."""
    facts = BranchFacts(worked.prd, worked.backlog, Status(), worked.cycles, worked.proofs, {})
    near = window(facts)
    shown = BranchFacts(worked.prd, near, Status(), worked.cycles, worked.proofs, {})
    requirements = requirement_rows(facts)
    return TracedPrd(
        worked.prd.id,
        worked.title,
        worked.prd.path,
        requirements,
        uncovered(requirements),
        tuple(stories_of(worked, trace_rows(shown))),
        len(worked.backlog.stories) - len(near.stories),
    )


def stories_of(worked: WorkedPrd, rows: tuple[TraceRow, ...]) -> Iterator[TracedStory]:
    begun = {each.id: each for each in worked.begun}
    titles = {plain(story.id): clip(plain(story.title), 160) for story in worked.backlog.stories}
    for story, of_story in groupby(rows, key=lambda row: row.story):
        own = tuple(of_story)
        steps = steps_of(begun[story]) if story in begun else ()
        criteria = tuple(TracedCriterion(row, grouped(row.tests)) for row in own)
        files = dict.fromkeys(group.path for each in criteria for group in each.groups)
        yield TracedStory(story, titles.get(story, ""), own[0].requirements, steps, tuple(files), criteria)


def grouped(tests: tuple[TracedTest, ...]) -> tuple[TestedFile, ...]:
    """By file, and the cases of one test as one."""
    found: dict[str, dict[str, list[str]]] = {}
    for test in tests:
        path, _, name = test.id.partition("::")
        found.setdefault(path, {}).setdefault(name.partition("[")[0], []).append(test.outcome)
    return tuple(
        TestedFile(path, tuple(named_test(name, outcomes) for name, outcomes in names.items()))
        for path, names in found.items()
    )


def named_test(name: str, outcomes: list[str]) -> NamedTest:
    others = [outcome for outcome in outcomes if outcome != "passes"]
    return NamedTest(name, others[0] if others else "")


def steps_of(done: StoryDone) -> tuple[StepName, ...]:
    return tuple(StepName(step.phase.value, f"{done.id}/{step.n}") for step in done.gated)
