"""The story page, which reads like a lab notebook: what was asked, what was seen at each phase, what was refused."""

from __future__ import annotations

from prd2pr.core.bite.record import Bite, Bitten, FaultOutcome
from prd2pr.core.bite.words import bite_words
from prd2pr.core.board.cards import card
from prd2pr.core.board.source import PrdSource
from prd2pr.core.board.view import FaultView, FaultWord, Notebook, StoryView
from prd2pr.core.judgement.remarks import remarks
from prd2pr.core.picture import shown_write
from prd2pr.core.picture_board import refusals
from prd2pr.core.picture_facts import BranchFacts
from prd2pr.core.picture_parts import RefusedWrite
from prd2pr.core.picture_steps import step_view
from prd2pr.core.picture_trace import covered_as, requirement_rows, trace_row
from prd2pr.core.records import Cycle, RefusedWriteRecord, Requirement, Step, Story
from prd2pr.core.wording import clip, plain, visible

LONGEST_TEXT = 2000
LONGEST_CHANGE = 300
SHOWN_FAULTS = 200
# As `Bite.judged` counts them: who ran out of time says nothing about the tests.
OUTCOMES: dict[FaultOutcome, FaultWord] = {
    "killed": "noticed",
    "survived": "not noticed",
    "timeout": "not judged",
    "not_judged": "not judged",
}
ORDER: tuple[FaultWord, ...] = ("not noticed", "not judged", "noticed")


def story_page(source: PrdSource, story_id: str) -> StoryView | None:
    """None where the plan has no such story."""
    facts = source.facts
    story = facts.stories.get(story_id)
    if story is None:
        return None
    cycle = facts.cycles.get(story.id) or Cycle(story=story.id)
    design = cycle.design
    return StoryView(
        card=card(source, story),
        prd_title=clip(plain(facts.prd.title), 160),
        prd_path=visible(facts.prd.path),
        branch=visible(source.branch),
        description=clip(plain(story.description), LONGEST_TEXT),
        requirements=requirement_rows(facts, [each for each in facts.prd.requirements if is_for(facts, each, story)]),
        criteria=tuple(trace_row(facts, story, criterion) for criterion in story.criteria),
        design=clip(plain(design.summary), LONGEST_TEXT) if design else "",
        decisions=tuple(clip(plain(each), 300) for each in design.decisions) if design else (),
        symbols=tuple(clip(visible(each.declared), 300) for each in design.symbols) if design else (),
        notebook=tuple(notes_of(facts, story, step) for step in cycle.steps),
        refusals=refusals(facts_of_one(facts, story)),
        refused_writes=tuple(written(story.id, each) for each in cycle.refused_writes),
        remarks=remarks(source.roles_by_story.get(story.id, ())),
    )


def is_for(facts: BranchFacts, requirement: Requirement, story: Story) -> bool:
    return not covered_as(facts, requirement).isdisjoint(story.requirements)


def facts_of_one(facts: BranchFacts, story: Story) -> BranchFacts:
    """The same, with this story alone in the plan."""
    backlog = facts.backlog.model_copy(update={"stories": (story,)})
    return BranchFacts(facts.prd, backlog, facts.status, facts.cycles, facts.proofs, facts.commits, facts.files)


def notes_of(facts: BranchFacts, story: Story, step: Step) -> Notebook:
    proof = facts.proof(story.id, step)
    bite = proof.evidence.bite if proof else None
    view = step_view(facts, story.id, step)
    return Notebook(view, faults(bite), bite_words(bite)) if bite else Notebook(view)


def faults(bite: Bite) -> tuple[FaultView, ...]:
    """What was not noticed comes first: it is what a reader looks for."""
    tried = [fault_view(each) for each in (*bite.mutants, *bite.knock_outs)]
    return tuple(sorted(tried, key=lambda each: ORDER.index(each.outcome)))[:SHOWN_FAULTS]


def fault_view(fault: Bitten) -> FaultView:
    change = fault.change or f"`{fault.function}` raises at once"
    return FaultView(
        change=clip(visible(change), LONGEST_CHANGE),
        place=visible(f"{fault.path}:{fault.line}" if fault.line else fault.path),
        outcome=OUTCOMES[fault.outcome],
        by=visible(fault.by),
        why=clip(plain(fault.why), 300) or ("it ran out of time" if fault.outcome == "timeout" else ""),
    )


def written(story: str, write: RefusedWriteRecord) -> RefusedWrite:
    return shown_write(RefusedWrite(story, write.phase.value, write.path, write.code, write.message))
