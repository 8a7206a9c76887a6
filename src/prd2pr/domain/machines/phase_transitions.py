"""Changes of the records when a phase passes, a story is blocked or a plan is made. The workflow commits the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.domain.evidence import Evidence, Verdict
from prd2pr.domain.machines.project_machine import apply_project_command, apply_project_event, record_transition
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.machines.story_machine import pass_phase, pass_pre_implemented, pass_untested
from prd2pr.domain.paths import promote
from prd2pr.domain.records import (
    SETTLED,
    UNTESTED_KINDS,
    Backlog,
    Cycle,
    CycleState,
    DeclaredTestChange,
    Design,
    HiddenExamples,
    Phase,
    RefusedAttempt,
    RefusedWriteRecord,
    Sprint,
    Status,
    Step,
    StepWarning,
    Story,
    StoryStatus,
    TestFile,
    TestFileStatus,
    format_untested_note,
)


@dataclass(frozen=True)
class PassedPhase:
    """Everything that a passed phase changes in a cycle's record."""

    step: Step
    verdict: Verdict
    evidence: Evidence
    story: Story
    design: Design | None = None
    refused: tuple[RefusedAttempt, ...] = ()
    refused_writes: tuple[RefusedWriteRecord, ...] = ()
    test_blobs: tuple[tuple[str, str], ...] = ()  # path and blob of the story's files under tests/tdd


def advance_cycle(cycle: Cycle, passed: PassedPhase) -> Cycle:
    """Return the cycle after the phase, or raise IllegalCommand if the state machine does not allow it."""
    return cycle.model_copy(
        update={
            "state": compute_next_state(cycle, passed),
            "steps": (*cycle.steps, record_gate_result(passed.step, passed.evidence, passed.verdict)),
            "refused": (*cycle.refused, *passed.refused),
            "refused_writes": (*cycle.refused_writes, *passed.refused_writes),
            "design": passed.design or cycle.design,
            "test_files": update_test_files(cycle, passed),
            "tests": list_tests_after(cycle, passed),
            "changed_tests": list_changed_tests_after(cycle, passed),
            "coverage": cycle.coverage or {each.criterion: each.tests for each in passed.evidence.coverage or ()},
            "held_out": get_hidden_examples_after(cycle, passed),
            "line_coverage": passed.evidence.line_coverage or cycle.line_coverage,
            "blocked": "",
            "pre_implemented": cycle.pre_implemented or passed.evidence.pre_implemented,
        }
    )


MAX_WARNINGS = 20  # kept in a step's record


def record_gate_result(step: Step, evidence: Evidence, verdict: Verdict) -> Step:
    """Return the step with the counts and results of its evidence that are shown to people."""
    mutation, shown = evidence.bite, set(StepWarning.model_fields)
    warnings = [each for each in verdict.findings if each.severity == "warning"][:MAX_WARNINGS]
    return step.model_copy(
        update={
            "mutants": (mutation.killed, len(mutation.judged)) if mutation and mutation.judged else None,
            "warnings": tuple(StepWarning(**each.model_dump(include=shown)) for each in warnings),
        }
    )


def replaces_story_tests(passed: PassedPhase) -> bool:
    """Return whether the phase sets the story's tests.

    RED adds them, INTEGRATED renames them, and GREEN adds them if the code already existed.
    """
    return passed.step.phase in (Phase.RED, Phase.INTEGRATED) or passed.evidence.pre_implemented


def list_tests_after(cycle: Cycle, passed: PassedPhase) -> tuple[str, ...]:
    """Return the story's tests after the phase. From GREEN on, hidden examples are ordinary tests."""
    if replaces_story_tests(passed):
        return passed.evidence.story_tests
    opened = cycle.held_out.tests if cycle.held_out and passed.step.phase is Phase.GREEN else ()
    return (*cycle.tests, *opened)


def list_changed_tests_after(cycle: Cycle, passed: PassedPhase) -> tuple[DeclaredTestChange, ...]:
    return list_declared_changes(passed.evidence) if passed.step.phase is Phase.RED else cycle.changed_tests


def list_declared_changes(red: Evidence) -> tuple[DeclaredTestChange, ...]:
    """Return the existing tests that RED changed as declared."""
    return tuple(
        DeclaredTestChange(test=each.test, requirement=each.requirement, removed=each.removed)
        for each in red.changed_tests
        if each.requirement
    )


def get_hidden_examples_after(cycle: Cycle, passed: PassedPhase) -> HiddenExamples | None:
    seen = passed.evidence.held_out
    if passed.step.phase is not Phase.RED:
        return cycle.held_out
    return HiddenExamples(files=seen.files, tests=seen.tests, dropped=seen.dropped) if seen else None


def compute_next_state(cycle: Cycle, passed: PassedPhase) -> CycleState:
    phase = passed.step.phase
    after: CycleState | CommandRefusal = pass_phase(cycle.state, phase, passed.verdict)
    if phase is Phase.DESIGN and passed.story.kind in UNTESTED_KINDS:
        after = pass_untested(cycle.state, passed.story.kind, format_untested_note(passed.story.kind))
    elif phase is Phase.GREEN and passed.evidence.pre_implemented:
        after = pass_pre_implemented(cycle.state, passed.verdict)
    if isinstance(after, CommandRefusal):
        raise after.to_error()
    return after


def update_test_files(cycle: Cycle, passed: PassedPhase) -> tuple[TestFile, ...]:
    """Return the test files after the phase: draft → committed (RED) → passing (GREEN) → integrated."""
    built_before = passed.evidence.pre_implemented
    match passed.step.phase:
        case Phase.RED | Phase.GREEN if built_before or passed.step.phase is Phase.RED:
            status: TestFileStatus = "passing" if built_before else "committed"
            return tuple(TestFile(path=path, blob=blob, status=status) for path, blob in passed.test_blobs)
        case Phase.GREEN | Phase.REFACTOR:
            opened = cycle.held_out.files if cycle.held_out and passed.step.phase is Phase.GREEN else ()
            return (
                *(file.model_copy(update={"status": "passing"}) for file in cycle.test_files),
                *(TestFile(path=file.path, blob=file.blob, status="passing") for file in opened),
            )
        case Phase.INTEGRATED:
            return tuple(
                file.model_copy(update={"status": "integrated", "promoted_to": promote(file.path, cycle.story)})
                for file in cycle.test_files
            )
        case _:
            return cycle.test_files


def set_story_status(backlog: Backlog, story: str, status: StoryStatus) -> Backlog:
    """Return the backlog with one story's status set, or the same object if nothing changes."""
    if all(each.id != story or each.status == status for each in backlog.stories):
        return backlog
    changed = {"status": status}
    stories = tuple(each.model_copy(update=changed) if each.id == story else each for each in backlog.stories)
    return backlog.model_copy(update={"stories": stories})


def update_epics(backlog: Backlog) -> Backlog:
    """Complete the epics whose stories are all settled, and reactivate those that have open stories again."""
    open_epics = {story.epic for story in backlog.stories if story.status not in SETTLED}
    known = {story.epic for story in backlog.stories}
    changed = tuple(
        epic.model_copy(update={"status": "active" if epic.id in open_epics else "completed"})
        if epic.id in known and epic.status != "archived"
        else epic
        for epic in backlog.epics
    )
    return backlog if changed == backlog.epics else backlog.model_copy(update={"epics": changed})


def strip_epic_progress(backlog: Backlog) -> Backlog:
    """Return the plan with all epics active, as earlier versions recorded it."""
    epics = tuple(epic.model_copy(update={"status": "active"}) for epic in backlog.epics)
    return backlog.model_copy(update={"epics": epics})


def start_planned_sprint(
    status: Status, stories: Iterable[Story], *, by: str, at: str, goal: str
) -> tuple[Status, Sprint]:
    """Move from IDLE to an active sprint, for a plan that needs no separate approval, and record each transition."""
    for command in ("epic", "approve", "sprint plan", "sprint start"):
        after = apply_project_command(status.state, command)
        if isinstance(after, CommandRefusal):
            raise after.to_error()
        status = record_transition(status, after, command=f"/{command}", by=by, at=at)
    sprint = Sprint(id="s1", goal=goal, stories=tuple(story.id for story in stories), status="active", started_at=at)
    return status.model_copy(update={"sprint": sprint.id}), sprint


def record_plan_ready(status: Status, *, by: str, at: str) -> Status:
    """Record a plan that must be approved or whose sprint starts in a separate step."""
    after = apply_project_command(status.state, "epic")
    if isinstance(after, CommandRefusal):
        raise after.to_error()
    return record_transition(status, after, command="/epic", by=by, at=at)


def get_advice(status: Status, story: str) -> str:
    return status.advice if status.advice_story in ("", story) else ""


def clear_advice(status: Status, story: str) -> Status:
    """Remove a person's advice that the passed phase has used. Return the same object if there was none."""
    if not get_advice(status, story):
        return status
    return status.model_copy(update={"advice": "", "advice_story": ""})


def record_integration(status: Status, backlog: Backlog, story: str, *, at: str) -> Status:
    """Record that a story is integrated, and clear a pending `/tdd run` for it."""
    status = clear_advice(status, story)
    if status.order_story == story:
        status = status.model_copy(update={"order": "", "order_story": ""})
    return finish_if_settled(status, backlog, at=at)


def finish_if_settled(status: Status, backlog: Backlog, *, at: str) -> Status:
    """Move to the review once all stories are done or skipped, and clear the pending `/tdd run`."""
    if any(story.status not in SETTLED for story in backlog.stories):
        return status
    after = record_event(status, "all stories done", at=at)
    return after if after is status else after.model_copy(update={"order": "", "order_story": ""})


def block_project(status: Status, reason: str, *, at: str) -> Status:
    return record_event(status, "story out of attempts", at=at, why=reason).model_copy(
        update={"blocked_reason": reason}
    )


def unblock_project(status: Status, *, by: str, at: str, why: str) -> Status:
    """Record that a person tries again, with or without advice."""
    after = apply_project_command(status.state, "suggest_fix")
    if isinstance(after, CommandRefusal):
        raise after.to_error()
    made = record_transition(status, after, command="/suggest_fix", by=by, at=at, why=why)
    return made.model_copy(update={"blocked_reason": ""})


def record_event(status: Status, event: str, *, at: str, why: str = "") -> Status:
    after = apply_project_event(status.state, event)
    if isinstance(after, CommandRefusal):
        return status  # a late event of a sprint that has been paused meanwhile
    return record_transition(status, after, command=event, by="prd2pr", at=at, why=why)
