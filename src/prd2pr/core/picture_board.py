"""The board: one row for each story, one cell for each phase."""

from __future__ import annotations

from prd2pr.core.bite.words import bite_words
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.decide import Rest, next_phase
from prd2pr.core.picture_facts import BLOCKED, PAUSED, SETTLED_STANDINGS, BranchFacts, Standing, anchor
from prd2pr.core.picture_parts import BOARD_PHASES, NOT_MEASURED, Cell, Refusal, StoryRow
from prd2pr.core.records import (
    DESIGN_SKIPPED,
    NOTHING_TO_REFACTOR,
    PLAIN_BY_MEASURE,
    REFACTORING_DROPPED,
    REFACTORING_SKIPPED,
    UNTESTED_KINDS,
    Cycle,
    Phase,
    Step,
    Story,
)
from prd2pr.core.wording import clip, count, ordinal, plain

SKIPPED_BY = {Phase.DESIGN: DESIGN_SKIPPED, Phase.REFACTOR: REFACTORING_SKIPPED}
REFACTOR_NOTES = {
    NOTHING_TO_REFACTOR: "nothing to do",
    PLAIN_BY_MEASURE: "nothing to do",
    REFACTORING_DROPPED: "refused, dropped",
}


def board(facts: BranchFacts) -> tuple[StoryRow, ...]:
    return tuple(story_row(facts, story) for story in facts.backlog.stories)


def story_row(facts: BranchFacts, story: Story) -> StoryRow:
    standing = facts.standing(story)
    cycle = facts.cycles.get(story.id)
    return StoryRow(
        id=clip(plain(story.id), 80),
        title=clip(plain(story.title), 120),
        kind=story.kind,
        anchor=anchor("story", story.id),
        outcome=standing.word,
        tone=standing.tone,
        cells=cells(facts, story, standing),
        tests=tests_text(facts, story.id),
        bite=bite_text(facts, story),
        reason=clip(plain(cycle.blocked), 300) if cycle else "",
    )


def cells(facts: BranchFacts, story: Story, standing: Standing) -> tuple[Cell, ...]:
    """Crossed phases as they were crossed; the first one that is missing says what it waits for; the rest are empty."""
    open_phase = first_open(facts, story) if standing not in SETTLED_STANDINGS else None
    made = []
    for phase in BOARD_PHASES:
        step = facts.last_step(story.id, phase)
        if step:
            made.append(crossed(facts, story, step))
        elif phase is open_phase:
            made.append(pending(facts.cycles.get(story.id), phase, standing))
        else:
            made.append(left_out(facts, story, phase))
    return tuple(made)


def first_open(facts: BranchFacts, story: Story) -> Phase | None:
    """What `next` would work on, paused or not."""
    cycle = facts.cycles.get(story.id)
    phase = next_phase(story, cycle.model_copy(update={"paused": False}) if cycle else None)
    return None if isinstance(phase, Rest) else phase


def skipped_phases(facts: BranchFacts, story: Story) -> frozenset[Phase]:
    """Phases that this story openly does without."""
    cycle = facts.cycles.get(story.id)
    if story.kind in UNTESTED_KINDS:
        return frozenset({Phase.RED, Phase.REFACTOR})
    return frozenset({Phase.RED, Phase.GREEN, Phase.REFACTOR}) if cycle and cycle.pre_implemented else frozenset()


def crossed(facts: BranchFacts, story: Story, step: Step) -> Cell:
    sha = facts.sha(story.id, step)
    link = anchor("step", story.id, step.n)
    if facts.unproven(story.id, step):
        return Cell(sha[:7] or "no commit", "no proof", sha, link, "unproven")
    detail = f"{ordinal(step.attempts)} attempt" if step.attempts > 1 else ""
    if step.phase is Phase.REFACTOR and (not sha or nothing_changed(facts, story.id, step)):
        return Cell("nothing to do", detail, sha, link, "quiet")
    tested = step.phase in GATED and story.kind not in UNTESTED_KINDS
    return Cell(sha[:7] or "done", detail, sha, link, "proven" if tested else "quiet")


def nothing_changed(facts: BranchFacts, story: str, step: Step) -> bool:
    proof = facts.proof(story, step)
    return proof is not None and not proof.evidence.changes


def pending(cycle: Cycle | None, phase: Phase, standing: Standing) -> Cell:
    """A phase that is not crossed yet. The last refused attempt of it is named."""
    refused = [(n, attempt) for n, attempt in enumerate(cycle.refused, 1) if attempt.phase is phase] if cycle else []
    codes = clip(" ".join(plain(code) for code in refused[-1][1].codes), 60) if refused else ""
    link = anchor("refused", cycle.story, refused[-1][0]) if cycle and refused else ""
    if standing is BLOCKED:
        return Cell("blocked", codes, anchor=link, tone="blocked")
    if standing is PAUSED:
        return Cell("paused", anchor=link, tone="waiting")
    if refused:
        tries = sum(attempt.attempt > 0 for _, attempt in refused)  # what people pushed is counted as none
        tried = f", {count(tries, 'attempt')}" if tries else ""
        return Cell("refused", f"{codes}{tried}", anchor=link, tone="refused")
    return Cell("waiting", tone="waiting")


def left_out(facts: BranchFacts, story: Story, phase: Phase) -> Cell:
    cycle = facts.cycles.get(story.id)
    if phase is Phase.REFACTOR and (note := refactor_note(facts, story.id)):
        return Cell(note)
    if phase in SKIPPED_BY and any(step.note.startswith(SKIPPED_BY[phase]) for step in facts.standing_steps(story.id)):
        return Cell("left out")
    if phase not in skipped_phases(facts, story) or cycle is None:
        return Cell()
    if story.kind in UNTESTED_KINDS:
        return Cell("no tests asked for" if phase is Phase.RED else "")
    return Cell("already built" if phase is Phase.RED else "nothing to do")


def refactor_note(facts: BranchFacts, story: str) -> str:
    """A refactoring without a commit is recorded with the integration that followed it."""
    step = facts.last_step(story, Phase.INTEGRATED)
    return REFACTOR_NOTES.get(step.note, "") if step else ""


def bite_text(facts: BranchFacts, story: Story) -> str:
    """`12 of 13 noticed`, of the last step that measured it."""
    step = facts.last_step(story.id, Phase.GREEN)
    if step is None or story.kind in UNTESTED_KINDS:
        return ""
    later = facts.last_step(story.id, Phase.REFACTOR)
    proofs = [facts.proof(story.id, each) for each in (later, step) if each]
    bites = [proof.evidence.bite for proof in proofs if proof and proof.evidence.bite]
    measured = [bite for bite in bites if bite.judged] or bites
    return bite_words(measured[0]) if measured else NOT_MEASURED


def tests_text(facts: BranchFacts, story: str) -> str:
    """`9 of 9 pass`; what does not pass is named."""
    tests = facts.tests(story)
    if not tests:
        return ""
    if all(test.outcome == "fails as planned" for test in tests):
        return planned_text(len(tests))
    passing = sum(test.outcome == "passes" for test in tests)
    return f"{passing} of {len(tests)} {'passes' if passing == 1 else 'pass'}"


def planned_text(failing: int) -> str:
    return f"{failing} {'fails' if failing == 1 else 'fail'} as planned"


def refusals(facts: BranchFacts) -> tuple[Refusal, ...]:
    return tuple(
        Refusal(
            anchor=anchor("refused", story.id, number),
            story=plain(story.id),
            phase=attempt.phase.value,
            attempt=attempt.attempt,
            codes=tuple(plain(code) for code in attempt.codes),
            summary=clip(plain(attempt.summary), 600),
            crossed=facts.last_step(story.id, attempt.phase) is not None,
        )
        for story in facts.backlog.stories
        if story.id in facts.cycles
        for number, attempt in enumerate(facts.cycles[story.id].refused, 1)
    )
