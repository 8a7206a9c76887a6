"""The trace: requirement → story → criterion → test → commit → verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prd2pr.domain.evidence import Coverage
from prd2pr.domain.records import Criterion, Requirement, Step, Story
from prd2pr.domain.wording import clean_line, clip, escape_invisible
from prd2pr.views.models import RequirementRow, Tone, TracedTest, TraceRow, make_html_anchor
from prd2pr.views.stories.facts import (
    ABORTED,
    ALREADY_BUILT,
    PROVEN,
    SKIPPED,
    UNTESTED,
    PrdFacts,
    RequirementCoverage,
    StoryProgress,
)

NO_CRITERION = Criterion(id="", text="")
MAX_NAMED_STORIES = 20
NO_STORY = "no story covers it"
NOT_BUILT = "not built: "
LEFT_OUT = {SKIPPED: "skipped", ABORTED: "given up"}


def build_requirement_rows(facts: PrdFacts, wanted: Iterable[Requirement] | None = None) -> tuple[RequirementRow, ...]:
    """Build the rows of the given requirements, or of all requirements."""
    requirements = facts.prd.requirements if wanted is None else wanted
    return tuple(
        build_requirement_row(facts, each, facts.requirement_coverage(find_covering_ids(facts, each)))
        for each in requirements
    )


def build_requirement_row(facts: PrdFacts, requirement: Requirement, by: RequirementCoverage) -> RequirementRow:
    verdict, tone = judge_requirement(facts, requirement, by)
    rest = [f"and {len(by.stories) - MAX_NAMED_STORIES} more"] if len(by.stories) > MAX_NAMED_STORIES else []
    return RequirementRow(
        id=clean_line(requirement.id),
        text=clip(clean_line(requirement.text), 240),
        stories=(*map(clean_line, by.stories[:MAX_NAMED_STORIES]), *rest),
        verdict=verdict,
        tone=tone,
    )


def find_covering_ids(facts: PrdFacts, requirement: Requirement) -> frozenset[str]:
    """Return the ids by which stories refer to a requirement: its own, those of its parts, or that of its parent."""
    for names in ({requirement.id}, facts.parts.get(requirement.id, set()), {requirement.parent}):
        if any(name in facts.by_requirement for name in names):
            return frozenset(names)
    return frozenset()


def judge_requirement(facts: PrdFacts, requirement: Requirement, by: RequirementCoverage) -> tuple[str, Tone]:
    stories, counts = by.stories, by.progress_counts
    if not stories:
        assumed = any(requirement.id in assumption for assumption in facts.backlog.assumptions)
        return ("by assumption", "quiet") if assumed else (NO_STORY, "refused")
    if counts.keys() <= LEFT_OUT.keys():
        return f"{NOT_BUILT}{format_dropped_stories(facts, stories)}", "refused"
    if counts.keys() == {UNTESTED}:
        return UNTESTED.word, UNTESTED.tone
    proven = counts[PROVEN] + counts[ALREADY_BUILT]
    text = f"{proven} of {len(stories)} {'story' if len(stories) == 1 else 'stories'} proven"
    if proven == len(stories):
        return text, "proven"
    if counts.keys() <= {PROVEN, ALREADY_BUILT, UNTESTED}:
        return f"{text}, the rest needs no tests", "quiet"
    return text, "working" if proven else "waiting"


def format_dropped_stories(facts: PrdFacts, stories: tuple[str, ...]) -> str:
    shown = [
        f"{clean_line(story)} was {LEFT_OUT[facts.progress_by_story[story]]}" for story in stories[:MAX_NAMED_STORIES]
    ]
    return ", ".join(shown)


def list_uncovered_requirements(rows: Sequence[RequirementRow]) -> tuple[str, ...]:
    """List requirements that no story covers: none was planned, or it was removed, skipped or aborted."""
    lost = (row for row in rows if row.tone == "refused")
    return tuple(
        row.id if row.verdict == NO_STORY else f"{row.id} ({row.verdict.removeprefix(NOT_BUILT)})" for row in lost
    )


def iter_trace_rows(facts: PrdFacts) -> Iterator[TraceRow]:
    """Yield the trace of all stories, one story after the other."""
    for story in facts.backlog.stories:
        for criterion in story.criteria or (NO_CRITERION,):
            yield build_trace_row(facts, story, criterion)


def build_trace_row(facts: PrdFacts, story: Story, criterion: Criterion) -> TraceRow:
    tests = find_criterion_tests(facts, story.id, criterion.id)
    step = find_last_proved_step(facts, story.id)
    verdict, tone = judge_criterion(facts.progress(story), story, tests)
    return TraceRow(
        requirements=tuple(clean_line(requirement) for requirement in story.requirements),
        story=clean_line(story.id),
        id=clean_line(criterion.id),
        text=clip(clean_line(criterion.text), 240),
        tests=tests,
        commit=facts.sha(story.id, step) if step else "",
        anchor=make_html_anchor("step", story.id, step.n) if step else make_html_anchor("story", story.id),
        verdict=verdict,
        tone=tone,
    )


def find_criterion_tests(facts: PrdFacts, story: str, criterion: str) -> tuple[TracedTest, ...]:
    """Return the tests that name the criterion, with their current outcome.

    Coverage lists test functions, while runs list their parametrized cases.
    """
    coverage = next(filter(None, (read_coverage(facts, story, step) for step in facts.steps(story))), ())
    named = [
        escape_invisible(facts.promoted_test_id(story, test))
        for part in coverage
        if part.criterion == criterion
        for test in part.tests
    ]
    return tuple(
        test for test in facts.tests(story) if any(test.id == name or test.id.startswith(f"{name}[") for name in named)
    )


def read_coverage(facts: PrdFacts, story: str, step: Step) -> tuple[Coverage, ...]:
    proof = facts.proof(story, step)
    return (proof.evidence.coverage or ()) if proof else ()


def find_last_proved_step(facts: PrdFacts, story: str) -> Step | None:
    steps = [step for step in facts.steps(story) if facts.is_proved(story, step) and facts.sha(story, step)]
    return steps[-1] if steps else None


def judge_criterion(progress: StoryProgress, story: Story, tests: Sequence[TracedTest]) -> tuple[str, Tone]:
    if progress is UNTESTED or not story.criteria:
        return progress.word, progress.tone
    if not tests:
        return ("no test named", "unproven") if progress is PROVEN else ("no test yet", "waiting")
    if any(test.tone == "refused" for test in tests):
        return "a test does not pass", "refused"
    if progress in (PROVEN, ALREADY_BUILT):
        return progress.word, progress.tone
    if all(test.outcome == "fails as expected" for test in tests):
        return "fails as expected, code to come", "working"
    return f"{progress.word}, tests pass" if all(
        test.tone == "proven" for test in tests
    ) else progress.word, progress.tone
