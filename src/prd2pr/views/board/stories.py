"""The story page, as a lab notebook: criteria, evidence of each phase, refused attempts."""

from __future__ import annotations

from prd2pr.domain.records import Cycle, RefusedWriteRecord, Requirement, Step, Story
from prd2pr.domain.remarks import collect_remarks
from prd2pr.domain.results.mutation import FaultOutcome, MutantResult, MutationResult
from prd2pr.domain.wording import clean_line, clip, escape_invisible
from prd2pr.views.board.cards import build_card
from prd2pr.views.board.models import FaultLabel, FaultView, NotebookStep, StoryView
from prd2pr.views.board.source import PrdSource
from prd2pr.views.mutation_text import format_mutation_score
from prd2pr.views.pull_request.board import build_refusal_views
from prd2pr.views.pull_request.facts import PrdFacts
from prd2pr.views.pull_request.models import RefusedWriteView
from prd2pr.views.pull_request.page import sanitize_refused_write
from prd2pr.views.pull_request.steps import build_step_view
from prd2pr.views.pull_request.trace import build_requirement_rows, build_trace_row, find_covering_ids

MAX_TEXT = 2000
MAX_CHANGE = 300
MAX_FAULTS = 200
# The same as `MutationResult.judged`: a timeout says nothing about the tests.
FAULT_LABELS: dict[FaultOutcome, FaultLabel] = {
    "killed": "noticed",
    "survived": "not noticed",
    "timeout": "not judged",
    "not_judged": "not judged",
}
FAULT_ORDER: tuple[FaultLabel, ...] = ("not noticed", "not judged", "noticed")


def build_story_view(source: PrdSource, story_id: str) -> StoryView | None:
    """Build the story page; None if the plan has no such story."""
    facts = source.facts
    story = facts.stories.get(story_id)
    if story is None:
        return None
    cycle = facts.cycles.get(story.id) or Cycle(story=story.id)
    design = cycle.design
    return StoryView(
        card=build_card(source, story),
        prd_title=clip(clean_line(facts.prd.title), 160),
        prd_path=escape_invisible(facts.prd.path),
        branch=escape_invisible(source.branch),
        description=clip(clean_line(story.description), MAX_TEXT),
        requirements=build_requirement_rows(
            facts, [each for each in facts.prd.requirements if is_served_by(facts, each, story)]
        ),
        criteria=tuple(build_trace_row(facts, story, criterion) for criterion in story.criteria),
        design=clip(clean_line(design.summary), MAX_TEXT) if design else "",
        decisions=tuple(clip(clean_line(each), 300) for each in design.decisions) if design else (),
        symbols=tuple(clip(escape_invisible(each.declaration), 300) for each in design.symbols) if design else (),
        notebook=tuple(build_notebook_step(facts, story, step) for step in cycle.steps),
        refusals=build_refusal_views(restrict_to_story(facts, story)),
        refused_writes=tuple(build_refused_write(story.id, each) for each in cycle.refused_writes),
        remarks=collect_remarks(source.roles_by_story.get(story.id, ())),
    )


def is_served_by(facts: PrdFacts, requirement: Requirement, story: Story) -> bool:
    return not find_covering_ids(facts, requirement).isdisjoint(story.requirements)


def restrict_to_story(facts: PrdFacts, story: Story) -> PrdFacts:
    """Return the facts with only this story in the plan."""
    backlog = facts.backlog.model_copy(update={"stories": (story,)})
    return PrdFacts(facts.prd, backlog, facts.status, facts.cycles, facts.proofs, facts.commits, facts.files)


def build_notebook_step(facts: PrdFacts, story: Story, step: Step) -> NotebookStep:
    proof = facts.proof(story.id, step)
    mutation = proof.evidence.bite if proof else None
    view = build_step_view(facts, story.id, step)
    return (
        NotebookStep(view, build_fault_views(mutation), format_mutation_score(mutation))
        if mutation
        else NotebookStep(view)
    )


def build_fault_views(mutation: MutationResult) -> tuple[FaultView, ...]:
    """Build the list of mutants, surviving ones first."""
    tried = [build_fault_view(each) for each in (*mutation.mutants, *mutation.knock_outs)]
    return tuple(sorted(tried, key=lambda each: FAULT_ORDER.index(each.outcome)))[:MAX_FAULTS]


def build_fault_view(fault: MutantResult) -> FaultView:
    change = fault.change or f"`{fault.function}` raises at once"
    return FaultView(
        change=clip(escape_invisible(change), MAX_CHANGE),
        place=escape_invisible(f"{fault.path}:{fault.line}" if fault.line else fault.path),
        outcome=FAULT_LABELS[fault.outcome],
        by=escape_invisible(fault.by),
        why=clip(clean_line(fault.why), 300) or ("it ran out of time" if fault.outcome == "timeout" else ""),
    )


def build_refused_write(story: str, write: RefusedWriteRecord) -> RefusedWriteView:
    return sanitize_refused_write(RefusedWriteView(story, write.phase.value, write.path, write.code, write.message))
