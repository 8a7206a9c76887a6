"""The trace: requirement → story → criterion → test → commit → verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prd2pr.core.evidence import Coverage
from prd2pr.core.picture_facts import (
    ABORTED,
    ALREADY_BUILT,
    PROVEN,
    SKIPPED,
    UNTESTED,
    BranchFacts,
    Covering,
    Standing,
    anchor,
)
from prd2pr.core.picture_parts import RequirementRow, Tone, TracedTest, TraceRow
from prd2pr.core.records import Criterion, Requirement, Step, Story
from prd2pr.core.wording import clip, plain, visible

NO_CRITERION = Criterion(id="", text="")
NAMED_STORIES = 20
NO_STORY = "no story covers it"
NOT_BUILT = "not built: "
LEFT_OUT = {SKIPPED: "skipped", ABORTED: "given up"}


def requirement_rows(facts: BranchFacts, wanted: Iterable[Requirement] | None = None) -> tuple[RequirementRow, ...]:
    """Of some requirements, or of all."""
    asked = facts.prd.requirements if wanted is None else wanted
    return tuple(requirement_row(facts, each, facts.covering(covered_as(facts, each))) for each in asked)


def requirement_row(facts: BranchFacts, requirement: Requirement, by: Covering) -> RequirementRow:
    verdict, tone = requirement_verdict(facts, requirement, by)
    rest = [f"and {len(by.stories) - NAMED_STORIES} more"] if len(by.stories) > NAMED_STORIES else []
    return RequirementRow(
        id=plain(requirement.id),
        text=clip(plain(requirement.text), 240),
        stories=(*map(plain, by.stories[:NAMED_STORIES]), *rest),
        verdict=verdict,
        tone=tone,
    )


def covered_as(facts: BranchFacts, requirement: Requirement) -> frozenset[str]:
    """The names under which stories build it: its own, else those of its parts, else that of what it is a part of."""
    for names in ({requirement.id}, facts.parts.get(requirement.id, set()), {requirement.parent}):
        if any(name in facts.by_requirement for name in names):
            return frozenset(names)
    return frozenset()


def requirement_verdict(facts: BranchFacts, requirement: Requirement, by: Covering) -> tuple[str, Tone]:
    stories, standings = by.stories, by.standings
    if not stories:
        assumed = any(requirement.id in assumption for assumption in facts.backlog.assumptions)
        return ("by assumption", "quiet") if assumed else (NO_STORY, "refused")
    if standings.keys() <= LEFT_OUT.keys():
        return f"{NOT_BUILT}{lost_by(facts, stories)}", "refused"
    if standings.keys() == {UNTESTED}:
        return UNTESTED.word, UNTESTED.tone
    proven = standings[PROVEN] + standings[ALREADY_BUILT]
    text = f"{proven} of {len(stories)} {'story' if len(stories) == 1 else 'stories'} proven"
    if proven == len(stories):
        return text, "proven"
    if standings.keys() <= {PROVEN, ALREADY_BUILT, UNTESTED}:
        return f"{text}, the rest needs no tests", "quiet"
    return text, "working" if proven else "waiting"


def lost_by(facts: BranchFacts, stories: tuple[str, ...]) -> str:
    shown = [f"{plain(story)} was {LEFT_OUT[facts.standings[story]]}" for story in stories[:NAMED_STORIES]]
    return ", ".join(shown)


def uncovered(rows: Sequence[RequirementRow]) -> tuple[str, ...]:
    """What the PRD asks for and no story builds: none was planned for it, or it was removed, skipped or given up."""
    lost = (row for row in rows if row.tone == "refused")
    return tuple(
        row.id if row.verdict == NO_STORY else f"{row.id} ({row.verdict.removeprefix(NOT_BUILT)})" for row in lost
    )


def trace_rows(facts: BranchFacts) -> tuple[TraceRow, ...]:
    return tuple(
        trace_row(facts, story, criterion)
        for story in facts.backlog.stories
        for criterion in story.criteria or (NO_CRITERION,)
    )


def trace_row(facts: BranchFacts, story: Story, criterion: Criterion) -> TraceRow:
    tests = criterion_tests(facts, story.id, criterion.id)
    step = last_proved(facts, story.id)
    verdict, tone = trace_verdict(facts.standing(story), story, tests)
    return TraceRow(
        requirements=tuple(plain(requirement) for requirement in story.requirements),
        story=plain(story.id),
        criterion=plain(criterion.id),
        text=clip(plain(criterion.text), 240),
        tests=tests,
        commit=facts.sha(story.id, step) if step else "",
        anchor=anchor("step", story.id, step.n) if step else anchor("story", story.id),
        verdict=verdict,
        tone=tone,
    )


def criterion_tests(facts: BranchFacts, story: str, criterion: str) -> tuple[TracedTest, ...]:
    """The tests that a gate saw naming the criterion, as they stand now. Coverage names functions, runs name cases."""
    coverage = next(filter(None, (coverage_seen(facts, story, step) for step in facts.steps(story))), ())
    named = [
        visible(facts.promoted(story, test)) for part in coverage if part.criterion == criterion for test in part.tests
    ]
    return tuple(
        test for test in facts.tests(story) if any(test.id == name or test.id.startswith(f"{name}[") for name in named)
    )


def coverage_seen(facts: BranchFacts, story: str, step: Step) -> tuple[Coverage, ...]:
    proof = facts.proof(story, step)
    return (proof.evidence.coverage or ()) if proof else ()


def last_proved(facts: BranchFacts, story: str) -> Step | None:
    steps = [step for step in facts.steps(story) if facts.proved(story, step) and facts.sha(story, step)]
    return steps[-1] if steps else None


def trace_verdict(standing: Standing, story: Story, tests: Sequence[TracedTest]) -> tuple[str, Tone]:
    if standing is UNTESTED or not story.criteria:
        return standing.word, standing.tone
    if not tests:
        return ("no test named", "unproven") if standing is PROVEN else ("no test yet", "waiting")
    if any(test.tone == "refused" for test in tests):
        return "a test does not pass", "refused"
    if standing in (PROVEN, ALREADY_BUILT):
        return standing.word, standing.tone
    if all(test.outcome == "fails as planned" for test in tests):
        return "fails as planned, code to come", "working"
    return f"{standing.word}, tests pass" if all(
        test.tone == "proven" for test in tests
    ) else standing.word, standing.tone
