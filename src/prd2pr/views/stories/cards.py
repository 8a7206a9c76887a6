"""The card of a story: its state, one cell for each phase, tests, attempts and cost."""

from __future__ import annotations

from prd2pr.domain.machines.branch_records import share_field_sets
from prd2pr.domain.machines.next_phase import NoAction, find_next_phase
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import (
    DESIGN_SKIPPED,
    NO_TESTS_REQUIRED,
    NOTHING_TO_REFACTOR,
    PLAIN_BY_MEASURE,
    REFACTORING_DROPPED,
    REFACTORING_SKIPPED,
    UNTESTED_KINDS,
    Cycle,
    CycleState,
    Phase,
    Spend,
    Step,
    Story,
)
from prd2pr.domain.wording import clean_line, clip, count, format_ordinal
from prd2pr.views.models import (
    BOARD_PHASES,
    NOT_MEASURED,
    Cell,
    Column,
    ColumnCount,
    StoryCard,
    make_html_anchor,
    sum_column_counts,
)
from prd2pr.views.stories.facts import BLOCKED, PAUSED, SETTLED_PROGRESS, WAITING, PrdFacts, StoryProgress

SKIPPED_BY = {Phase.DESIGN: DESIGN_SKIPPED, Phase.REFACTOR: REFACTORING_SKIPPED}
REFACTOR_NOTES = {
    NOTHING_TO_REFACTOR: "nothing to do",
    PLAIN_BY_MEASURE: "nothing to do",
    REFACTORING_DROPPED: "refused, dropped",
}
STATES_AFTER_GREEN = (CycleState.REFACTOR, CycleState.COMMIT)


def build_cards(facts: PrdFacts) -> tuple[StoryCard, ...]:
    cards, known = tuple(build_card(facts, story) for story in facts.backlog.stories), dict[frozenset[str], set[str]]()
    for card in cards:
        share_field_sets(card, known)
    return cards


def build_card(facts: PrdFacts, story: Story) -> StoryCard:
    progress = facts.progress(story)
    steps = facts.steps(story.id)
    cycle = facts.cycles.get(story.id)
    return StoryCard(
        repo=facts.repo,
        prd=facts.prd.id,
        id=clip(clean_line(story.id), 80),
        title=clip(clean_line(story.title), 120),
        kind=story.kind,
        column=choose_column(facts, story),
        outcome=progress.word,
        tone=progress.tone,
        phase=find_shown_phase(facts, story),
        attempts=count_attempts(facts, story, cycle),
        refused=count_refused(cycle),
        spend=sum((step.spend for step in steps), Spend()),
        seconds=sum(step.seconds for step in steps),
        since=max((step.at for step in steps), default=facts.planned_at),
        cells=build_cells(facts, story, progress),
        tests=format_story_tests(facts, story.id),
        bite=format_story_mutation_score(facts, story),
        reason=clip(clean_line(cycle.blocked), 300) if cycle else "",
        depends_on=tuple(clip(clean_line(name), 80) for name in story.depends_on),
    )


def choose_column(facts: PrdFacts, story: Story) -> Column:
    progress = facts.progress(story)
    if progress is BLOCKED:
        return Column.BLOCKED
    if progress in SETTLED_PROGRESS:
        return Column.COMPLETE
    if progress is WAITING or (progress is PAUSED and not facts.steps(story.id)):
        return Column.PENDING
    return Column.PASSING if is_story_passing(facts, story) else Column.IN_PROGRESS


def is_story_passing(facts: PrdFacts, story: Story) -> bool:
    """Return whether GREEN is proved and none of the story's tests failed in a later run."""
    cycle = facts.cycles.get(story.id)
    if cycle is None or cycle.state not in STATES_AFTER_GREEN or story.kind in UNTESTED_KINDS:
        return False
    tests = facts.tests(story.id)
    return bool(tests) and all(test.outcome == "passes" for test in tests)


def find_shown_phase(facts: PrdFacts, story: Story) -> str:
    """Return the next phase of a story in progress, the last phase of a finished story, or an empty string."""
    passed = [step.phase for step in facts.effective_steps(story.id) if step.phase in BOARD_PHASES]
    cycle = facts.cycles.get(story.id)
    if not passed and not (cycle and cycle.refused):
        return ""
    open_phase = None if facts.progress(story) in SETTLED_PROGRESS else find_open_phase(facts, story)
    return open_phase.value if open_phase else passed[-1].value if passed else ""


def count_attempts(facts: PrdFacts, story: Story, cycle: Cycle | None) -> int:
    """Count all attempts: those recorded in the steps of passed phases, and the refused ones at the open phase."""
    if cycle is None:
        return 0
    passed = {step.phase for step in cycle.steps}
    counted = sum(step.attempts for step in facts.steps(story.id) if step.phase in BOARD_PHASES)
    return counted + sum(each.attempt > 0 for each in cycle.refused if each.phase not in passed)


def count_refused(cycle: Cycle | None) -> int:
    """Count the refused attempts by roles. Commits by people do not count as attempts."""
    return sum(each.attempt > 0 for each in cycle.refused) if cycle else 0


def count_columns(shown: tuple[StoryCard, ...]) -> tuple[ColumnCount, ...]:
    return sum_column_counts(ColumnCount(each.column, 1) for each in shown)


# --- cells ------------------------------------------------------------------------------------------------------------


def build_cells(facts: PrdFacts, story: Story, progress: StoryProgress) -> tuple[Cell, ...]:
    """Build the cells of all phases: passed phases, then the status of the first open phase, then empty cells."""
    open_phase = find_open_phase(facts, story) if progress not in SETTLED_PROGRESS else None
    made = []
    for phase in BOARD_PHASES:
        step = facts.last_step(story.id, phase)
        if step:
            made.append(build_passed_cell(facts, story, step))
        elif phase is open_phase:
            made.append(build_pending_cell(facts.cycles.get(story.id), phase, progress))
        else:
            made.append(build_omitted_cell(facts, story, phase))
    return tuple(made)


def find_open_phase(facts: PrdFacts, story: Story) -> Phase | None:
    """Return the phase that `next` would work on, even if the story is paused."""
    cycle = facts.cycles.get(story.id)
    phase = find_next_phase(story, cycle.model_copy(update={"paused": False}) if cycle else None)
    return None if isinstance(phase, NoAction) else phase


def list_skipped_phases(facts: PrdFacts, story: Story) -> frozenset[Phase]:
    cycle = facts.cycles.get(story.id)
    if story.kind in UNTESTED_KINDS:
        return frozenset({Phase.RED, Phase.REFACTOR})
    return frozenset({Phase.RED, Phase.GREEN, Phase.REFACTOR}) if cycle and cycle.pre_implemented else frozenset()


def build_passed_cell(facts: PrdFacts, story: Story, step: Step) -> Cell:
    sha = facts.sha(story.id, step)
    link = make_html_anchor("step", story.id, step.n)
    if facts.is_unproven(story.id, step):
        return Cell(sha[:7] or "no commit", "no proof", sha, link, "unproven")
    detail = f"{format_ordinal(step.attempts)} attempt" if step.attempts > 1 else ""
    if step.phase is Phase.REFACTOR and (not sha or is_unchanged(facts, story.id, step)):
        return Cell("nothing to do", detail, sha, link, "quiet")
    tested = step.phase in GATED and story.kind not in UNTESTED_KINDS
    return Cell(sha[:7] or "done", detail, sha, link, "proven" if tested else "quiet")


def is_unchanged(facts: PrdFacts, story: str, step: Step) -> bool:
    proof = facts.proof_summary(story, step)
    return proof is not None and not proof.has_changes


def build_pending_cell(cycle: Cycle | None, phase: Phase, progress: StoryProgress) -> Cell:
    """Build the cell of an open phase, with its last refused attempt."""
    refused = [(n, attempt) for n, attempt in enumerate(cycle.refused, 1) if attempt.phase is phase] if cycle else []
    codes = clip(" ".join(clean_line(code) for code in refused[-1][1].codes), 60) if refused else ""
    link = make_html_anchor("refused", cycle.story, refused[-1][0]) if cycle and refused else ""
    if progress is BLOCKED:
        return Cell("blocked", codes, anchor=link, tone="blocked")
    if progress is PAUSED:
        return Cell("paused", anchor=link, tone="waiting")
    if refused:
        tries = sum(attempt.attempt > 0 for _, attempt in refused)  # commits by people do not count as attempts
        tried = f", {count(tries, 'attempt')}" if tries else ""
        return Cell("refused", f"{codes}{tried}", anchor=link, tone="refused")
    return Cell("waiting", tone="waiting")


def build_omitted_cell(facts: PrdFacts, story: Story, phase: Phase) -> Cell:
    cycle = facts.cycles.get(story.id)
    if phase is Phase.REFACTOR and (note := find_refactor_note(facts, story.id)):
        return Cell(note)
    if phase in SKIPPED_BY and any(step.note.startswith(SKIPPED_BY[phase]) for step in facts.effective_steps(story.id)):
        return Cell("left out")
    if phase not in list_skipped_phases(facts, story) or cycle is None:
        return Cell()
    if story.kind in UNTESTED_KINDS:
        return Cell(NO_TESTS_REQUIRED if phase is Phase.RED else "")
    return Cell("already built" if phase is Phase.RED else "nothing to do")


def find_refactor_note(facts: PrdFacts, story: str) -> str:
    """Return the note why there is no refactoring commit, which is recorded in the integration step."""
    step = facts.last_step(story, Phase.INTEGRATED)
    return REFACTOR_NOTES.get(step.note, "") if step else ""


def format_story_mutation_score(facts: PrdFacts, story: Story) -> str:
    """Return `12 of 13 mutants killed` from the last step with mutation testing."""
    step = facts.last_step(story.id, Phase.GREEN)
    if step is None or story.kind in UNTESTED_KINDS:
        return ""
    later = facts.last_step(story.id, Phase.REFACTOR)
    proofs = [facts.proof_summary(story.id, each) for each in (later, step) if each]
    mutations = [proof.mutation for proof in proofs if proof and proof.mutation]
    measured = [mutation for mutation in mutations if mutation.judged] or mutations
    return measured[0].score if measured else NOT_MEASURED


def format_story_tests(facts: PrdFacts, story: str) -> str:
    """Return `9 of 9 pass`, where each parametrized case counts as a test."""
    tests = facts.tests(story)
    if not tests:
        return ""
    if all(test.outcome == "fails as expected" for test in tests):
        return format_planned_failures(len(tests))
    passing = sum(test.outcome == "passes" for test in tests)
    return f"{passing} of {len(tests)} {'passes' if passing == 1 else 'pass'}"


def format_planned_failures(failing: int) -> str:
    return f"{failing} {'fails' if failing == 1 else 'fail'} as expected"
